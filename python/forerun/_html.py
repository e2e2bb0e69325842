"""Tables for notebooks. Every text is escaped: names come from strangers' files."""
from __future__ import annotations

from html import escape
from typing import Any, Sequence


def number(value: float) -> str:
    """Four significant digits, thousands apart."""
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


class HtmlTable:
    def __init__(self, head: Sequence[str], caption: str = "") -> None:
        self._caption = caption
        self._head = "".join(f"<th>{escape(title)}</th>" for title in head)
        self._rows: list[str] = []

    def add(self, cells: Sequence[Any]) -> None:
        self._rows.append("<tr>" + "".join(_cell(cell) for cell in cells) + "</tr>")

    def html(self, warnings: Sequence[str] = ()) -> str:
        caption = f"<caption>{escape(self._caption)}</caption>" if self._caption else ""
        notes = "".join(f"<li>{escape(warning)}</li>" for warning in warnings)
        return (f"<table>{caption}<thead><tr>{self._head}</tr></thead><tbody>{''.join(self._rows)}</tbody></table>"
                + (f"<ul>{notes}</ul>" if notes else ""))


def _cell(cell: Any) -> str:
    if cell is None:
        return "<td></td>"
    if hasattr(cell, "low"):  # an estimate: the interval on hover
        interval = f"{number(cell.low)} – {number(cell.high)} (90 %), {cell.basis}"
        return f'<td style="text-align:right" title="{escape(interval)}">{number(cell.value)}</td>'
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return f"<td>{escape(str(cell))}</td>"
    return f'<td style="text-align:right">{number(cell)}</td>'
