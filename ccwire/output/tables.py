"""Tables, progress bars and number formats, fitted to the width of the terminal."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ccwire.output.terminal import error_console as error_console  # for the commands
from ccwire.output.terminal import safe, safe_text
from ccwire.wire.times import moment

_GAP, _EDGES = 3, 2  # the characters between two columns, and at both ends
_SHORTEST_TEXT = 8


@dataclass(frozen=True, slots=True)
class Column:
    """A table column: its name, its alignment, and whether its text may wrap."""

    name: str
    right: bool = False
    grows: bool = False
    style: str | None = None


def print_table(
    to: Console,
    columns: Sequence[Column],
    rows: Sequence[Sequence[str | Text]],
    *,
    title: str | None = None,
    sections: Sequence[int] = (),
) -> None:
    """Print a table; `sections` are the rows, counted from 1, to draw a line after."""
    cells = [[_cell(cell) for cell in row] for row in rows]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    table.title_style = "bold"
    most = _most_width(to.width, columns, cells)
    for place, column in enumerate(columns):
        table.add_column(
            column.name,
            max_width=most.get(place),
            justify="right" if column.right else "left",
            no_wrap=not column.grows,
            overflow="fold" if column.grows else "ellipsis",
            style=column.style,
        )
    for number, row in enumerate(cells, 1):
        table.add_row(*row, end_section=number in sections)
    to.print(table)


def _cell(cell: str | Text) -> Text:
    """Return the cell on one line: a line feed in captured text must not look like a row."""
    return safe_text(cell) if isinstance(cell, Text) else Text(safe(cell).replace("\n", " "))


def _most_width(
    width: int, columns: Sequence[Column], rows: Sequence[Sequence[Text]]
) -> dict[int, int]:
    """Limit the widest column of text if the table does not fit, so that no number is cut."""
    widths = [
        max([len(column.name), *(len(row[place]) for row in rows)])
        for place, column in enumerate(columns)
    ]
    excess = sum(widths) + _GAP * (len(columns) - 1) + _EDGES - width
    texts = [place for place, column in enumerate(columns) if not column.right]
    if excess <= 0 or not texts or any(column.grows for column in columns):
        return {}
    widest = max(texts, key=lambda place: widths[place])
    return {widest: max(_SHORTEST_TEXT, widths[widest] - excess)}


def print_more(to: Console, more: int) -> None:
    """Print how many sessions the limit left out."""
    to.print(Text(f"{numbered(more, 'more session')}: --limit all", "dim"))


@contextmanager
def progress_bar(
    label: str, total: int, above: Console | None = None
) -> Iterator[Callable[[int], None]]:
    """Show a progress bar in bytes on a terminal, nothing in a pipe; yields a function to advance.

    Text printed to `above` in the meantime stays above the bar.
    """
    on_screen = above is not None and above.is_terminal
    if not (on_screen or sys.stderr.isatty()):
        yield lambda _: None
        return
    from rich.progress import (  # it takes as long to import as all of the rest
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    bar = Progress(
        TextColumn(label),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=above if on_screen else error_console(),
        transient=True,
    )
    with bar:
        task = bar.add_task(label, total=total)
        yield lambda amount: bar.advance(task, amount)


def count(value: int) -> str:
    return f"{value:,}"


def numbered(value: int, what: str) -> str:
    return f"{value:,} {what}{'' if value == 1 else 's'}"


def signed(value: int) -> str:
    return f"{value:+,}" if value else "0"


def dollars(value: float | None) -> str:
    """Format to a hundredth of a cent, smaller amounts with more digits; None is unpriced."""
    if value is None:
        return "unpriced"
    sign, amount = "-" if value < 0 else "", abs(value)
    if amount and amount < 0.0001:
        return f"{sign}${amount:.8f}"
    return f"{sign}${amount:,.4f}"


def size(value: int) -> str:
    """Format as `812 B`, `1.2 MB` or `193 MB`, in units of 1000."""
    amount, unit = float(value), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 999.5:
            break
        amount, unit = amount / 1000, larger
    digits = 1 if unit != "B" and amount < 9.95 else 0
    return f"{amount:,.{digits}f} {unit}"


def duration(seconds: float) -> str:
    """Format as `42s`, `5m 3s`, `3h 12m` or `2d 4h`."""
    whole = round(seconds)
    for unit, length, smaller, part in (("d", 86_400, "h", 3_600), ("h", 3_600, "m", 60)):
        if whole >= length:
            return f"{whole // length}{unit} {whole % length // part}{smaller}"
    return f"{whole // 60}m {whole % 60}s" if whole >= 60 else f"{whole}s"


def day(at: float | None, now: datetime) -> str:
    """Format as `11-16 14:03`, in another year as `2025-11-16`; `-` if no calendar has it."""
    if (at := moment(at)) is None:
        return "-"
    then = datetime.fromtimestamp(at)
    return then.strftime("%m-%d %H:%M" if then.year == now.year else "%Y-%m-%d")
