"""Tables for notebooks. Every text is escaped: names come from strangers' files."""
from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any, Iterable, Sequence

from ._estimate import number

_WIDTH, _HEIGHT, _MARGIN = 160, 14, 5  # of an interval's picture, px


@dataclass(frozen=True)
class Scale:
    """From the smallest to the largest of what is drawn; logarithmic, as devices lie orders of magnitude apart."""

    least: float
    most: float

    @classmethod
    def of(cls, estimates: Iterable[Any]) -> "Scale":
        ends = [end for estimate in estimates if estimate is not None for end in (estimate.low, estimate.high) if end > 0]
        return cls(min(ends, default=1.0), max(ends, default=1.0))

    def at(self, value: float) -> float:
        span = math.log(self.most / self.least)
        share = math.log(max(value, self.least) / self.least) / span if span > 0 else 0.5
        return _MARGIN + min(share, 1.0) * (_WIDTH - 2 * _MARGIN)


@dataclass(frozen=True)
class Interval:
    """A cell: the interval as a line and the value as a dot."""

    estimate: Any
    scale: Scale

    def svg(self) -> str:
        low, value, high = (f"{self.scale.at(end):.1f}" for end in (self.estimate.low, self.estimate.value, self.estimate.high))
        middle = _HEIGHT // 2
        words = f"{number(self.estimate.low)} to {number(self.estimate.high)}"
        return (f'<svg role="img" aria-label="{escape(words)}" width="{_WIDTH}" height="{_HEIGHT}">'
                f'<line x1="{low}" x2="{high}" y1="{middle}" y2="{middle}" stroke="currentColor" stroke-width="2" opacity="0.5"/>'
                f'<line x1="{low}" x2="{low}" y1="3" y2="{_HEIGHT - 3}" stroke="currentColor" opacity="0.5"/>'
                f'<line x1="{high}" x2="{high}" y1="3" y2="{_HEIGHT - 3}" stroke="currentColor" opacity="0.5"/>'
                f'<circle cx="{value}" cy="{middle}" r="3.5" fill="currentColor"/></svg>')


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
    if isinstance(cell, Interval):
        return f"<td>{cell.svg()}</td>" if cell.estimate is not None else "<td></td>"
    if hasattr(cell, "low"):  # an estimate: the interval on hover
        interval = f"{number(cell.low)} – {number(cell.high)} (90 %), {cell.basis}"
        return f'<td style="text-align:right" title="{escape(interval)}">{number(cell.value)}</td>'
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return f"<td>{escape(str(cell))}</td>"
    return f'<td style="text-align:right">{number(cell)}</td>'
