"""Tables for print(): columns as wide as their content, empty ones left out."""
from __future__ import annotations

from typing import Any, Sequence

from ._estimate import number

MOST_ROWS = 100


class TextTable:
    def __init__(self, head: Sequence[str], title: str = "") -> None:
        self._title = title
        self._head = list(head)
        self._rows: list[list[Any]] = []

    def add(self, cells: Sequence[Any]) -> None:
        self._rows.append(list(cells))

    def text(self, notes: Sequence[str] = ()) -> str:
        lines = [_one_line(self._title), ""] if self._title else []
        shown = [index for index in range(len(self._head)) if any(row[index] not in (None, "") for row in self._rows)]
        rows = [[_cell(row[index]) for index in shown] for row in self._rows[:MOST_ROWS]]
        right = [any(_is_number(row[index]) for row in self._rows) for index in shown]
        table = [[self._head[index] for index in shown], *rows]
        widths = [max(len(row[column]) for row in table) for column in range(len(shown))]
        for row in table:
            cells = (cell.rjust(width) if is_right else cell.ljust(width) for cell, width, is_right in zip(row, widths, right))
            lines.append("  ".join(cells).rstrip())
        if len(self._rows) > MOST_ROWS:
            lines.append(f"… and {len(self._rows) - MOST_ROWS} more rows")
        if notes:
            lines += ["", *(f"note: {_one_line(note)}" for note in notes)]
        return "\n".join(lines)


def _is_number(cell: Any) -> bool:
    return hasattr(cell, "low") or (isinstance(cell, (int, float)) and not isinstance(cell, bool))


def _cell(cell: Any) -> str:
    if cell is None:
        return "-"
    if hasattr(cell, "low"):
        return number(cell.value)
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return number(cell) if _is_number(cell) else _one_line(str(cell))


def _one_line(text: str) -> str:
    """Names come from strangers' files: nothing of them reaches the terminal but printable characters."""
    return "".join(character if character.isprintable() else "?" for character in text)
