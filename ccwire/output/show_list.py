"""Prints the list of a session's exchanges, to choose a number from."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from rich.text import Text

from ccwire.output.tables import Column, count, numbered, print_table
from ccwire.output.terminal import SafeConsole
from ccwire.wire.format import Exchange
from ccwire.wire.models import short_model
from ccwire.wire.safe_text import shortened
from ccwire.wire.usage import Tokens
from correlate.show.listing import ListedExchange

_MODEL_WIDTH, _KIND_WIDTH = 24, 13


class _ListColumn(NamedTuple):
    """A column, the least width of a terminal that has room for it, and its cells."""

    column: Column
    width: int
    cell: Callable[[ListedExchange], str | Text]


def print_list(to: SafeConsole, session_id: str, listed: Sequence[ListedExchange]) -> None:
    """Print one line per exchange; a narrow terminal has fewer columns."""
    days = sorted({datetime.fromtimestamp(one.call.started).date() for one in listed})
    about = [numbered(len(listed), "exchange"), *(str(day) for day in days[:1])]
    to.print(Text.assemble(("session ", "bold"), session_id, *(f" · {fact}" for fact in about)))
    if not listed:
        return
    time_format = "%m-%d %H:%M:%S" if len(days) > 1 else "%H:%M:%S"
    columns = [one for one in _columns(time_format) if to.width >= one.width]
    rows = [[column.cell(one) for column in columns] for one in listed]
    print_table(to, [column.column for column in columns], rows)


def status_text(call: Exchange, *, in_flight: bool) -> str:
    """Return the status as people read it: `200`, `200, cut off`, `in flight`, `no answer`."""
    if in_flight:
        return "in flight"
    if call.status is None:
        return "no answer"
    return str(call.status) if call.complete else f"{call.status}, cut off"


def _columns(time_format: str) -> tuple[_ListColumn, ...]:
    def started(one: ListedExchange) -> str:
        return format(datetime.fromtimestamp(one.call.started), time_format)

    return (
        _ListColumn(Column("#", right=True), 0, lambda one: str(one.call.sequence)),
        _ListColumn(Column("time"), 75, started),
        _ListColumn(Column("kind"), 0, lambda one: shortened(one.call.kind, _KIND_WIDTH)),
        _ListColumn(Column("model"), 80, _model),
        _ListColumn(Column("status"), 0, _status),
        _ListColumn(Column("input", right=True), 100, _input),
        _ListColumn(Column("output", right=True), 0, _output),
        _ListColumn(Column("last prompt"), 0, lambda one: one.words or "-"),
    )


def _model(one: ListedExchange) -> str:
    return shortened(short_model(one.call.model or "-"), _MODEL_WIDTH)


def _status(one: ListedExchange) -> Text:
    is_bad = one.call.broken and not one.in_flight
    return Text(status_text(one.call, in_flight=one.in_flight), "red" if is_bad else "")


def _input(one: ListedExchange) -> str:
    return count(Tokens.of(one.call.usage).context) if one.call.usage else "-"


def _output(one: ListedExchange) -> str:
    return count(Tokens.of(one.call.usage).output) if one.call.usage else "-"
