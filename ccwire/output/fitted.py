"""Tables with one line per row, and as many columns as the width has room for.

A column has a rank: the lowest ranks are shown first. Columns that grow, such as a title, get the
room that is left, and their text is cut to it.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ccwire.output.terminal import SafeConsole, safe

_GAP = 2
_EMOJI_STYLE = "\ufe0f"  # terminals disagree on the width of what precedes it
_FLAG_LETTERS = ("\U0001f1e6", "\U0001f1ff")

Cells = Mapping[str, str | Text]


@dataclass(frozen=True, slots=True)
class FittedColumn:
    """A column: its name, its rank, and the width of its text.

    One that grows may be cut to `least`, and is always complete at `width`.
    """

    name: str
    rank: int
    width: int
    right: bool = False
    least: int | None = None


def print_fitted(to: Console, columns: Sequence[FittedColumn], rows: Sequence[Cells]) -> None:
    """Print rows, each with a cell per column name; `width` of a column is its lower limit."""
    table = FittedTable(to, [_widened(column, rows) for column in columns])
    table.print_header()
    for row in rows:
        table.print_row(row)


class FittedTable:
    """A table whose rows are printed one at a time, in columns of a known width."""

    def __init__(self, to: Console, columns: Sequence[FittedColumn]) -> None:
        self._to = to
        self._is_cut = not (isinstance(to, SafeConsole) and to.is_pipe)
        widths = fitted_widths(columns, to.width if self._is_cut else sys.maxsize)
        shown = (column for column in columns if column.name in widths)
        self._columns = [(column, widths[column.name]) for column in shown]

    @property
    def names(self) -> list[str]:
        return [column.name for column, _ in self._columns]

    def print_header(self) -> None:
        self.print_row({name: name for name in self.names}, style="bold")

    def print_row(self, cells: Cells, style: str = "") -> None:
        line = Text(style=style)
        for place, (column, width) in enumerate(self._columns):
            cell = cells.get(column.name, "")
            text = one_line_of(cell)
            if column.least is not None:  # a number is not cut
                text = cut(text, width)
            padding = " " * (width - cells_of(text))
            line.append(" " * _GAP if place else "")
            line.append(padding if column.right else "")
            line.append(text, cell.style if isinstance(cell, Text) else None)
            line.append("" if column.right else padding)
        line.rstrip()
        if self._is_cut:
            self._to.print(line, no_wrap=True, overflow="crop", crop=True)
        else:
            self._to.print(line, soft_wrap=True)


def fitted_widths(columns: Sequence[FittedColumn], room: int) -> dict[str, int]:
    """Return the shown columns and their widths. Pure.

    The column of the lowest rank is always shown. One without room is left out, and a later one
    that needs less may be shown instead.
    """
    widths: dict[str, int] = {}
    used = -_GAP
    for column in sorted(columns, key=lambda column: column.rank):
        width = _least(column)
        if widths and used + _GAP + width > room:
            continue
        widths[column.name] = width
        used += _GAP + width
    for column in sorted(columns, key=lambda column: column.rank):
        if column.name in widths and column.least is not None:
            more = min(column.width - widths[column.name], room - used)
            widths[column.name] += max(0, more)
            used += max(0, more)
    return widths


def _least(column: FittedColumn) -> int:
    shortest = column.width if column.least is None else min(column.width, column.least)
    return max(shortest, cell_len(column.name))


def _widened(column: FittedColumn, rows: Sequence[Cells]) -> FittedColumn:
    widest = max((cells_of(one_line_of(row.get(column.name, ""))) for row in rows), default=0)
    return replace(column, width=max(column.width, widest))


def one_line_of(cell: str | Text) -> str:
    """Return the text as it is printed: safe, and on one line."""
    text = safe(cell.plain if isinstance(cell, Text) else cell)
    return " ".join(text.replace(_EMOJI_STYLE, "").split())


def cells_of(text: str) -> int:
    """Return the most cells that a terminal uses: not every one joins an emoji's characters."""
    return len(text) if text.isascii() else sum(map(_cells_of_character, text))


def cut(text: str, width: int) -> str:
    """Return the text, cut to the width with an ellipsis if it is longer."""
    if cells_of(text) <= width:
        return text
    kept, used = "", 1
    for character in text:
        used += _cells_of_character(character)
        if used > width:
            break
        kept += character
    return kept + "…"


def _cells_of_character(character: str) -> int:
    return 2 if _FLAG_LETTERS[0] <= character <= _FLAG_LETTERS[1] else cell_len(character)
