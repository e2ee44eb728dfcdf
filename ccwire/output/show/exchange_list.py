"""Prints the list of a session's exchanges, to choose a number from."""

from collections.abc import Sequence
from datetime import datetime

from rich.text import Text

from ccwire.output.fitted import Cells, FittedColumn, print_fitted
from ccwire.output.tables import count, numbered
from ccwire.output.terminal import SafeConsole
from ccwire.wire.format import Exchange
from ccwire.wire.models import short_model
from ccwire.wire.usage import Tokens
from correlate.show.listing import ListedExchange

_PROMPT = "last prompt or path"
_SHORTEST_PROMPT = 20
_AGENT_LENGTH = 8
_ANY_WIDTH = 10**9  # more than any line has
# In the order of the table, with the rank by which they are shown.
_COLUMNS = (
    FittedColumn("#", 0, 1, right=True),
    FittedColumn("time", 8, 8),
    FittedColumn("kind", 4, 8, least=13),
    FittedColumn("agent", 1, 5, least=8),
    FittedColumn("model", 6, 5, least=10),
    FittedColumn("status", 3, 6),
    FittedColumn("input", 7, 5, right=True),
    FittedColumn("output", 5, 6, right=True),
)


def print_list(
    to: SafeConsole, session_id: str, listed: Sequence[ListedExchange], *, full: bool = False
) -> None:
    """Print one line per exchange; a narrow terminal has fewer columns.

    With `full`, lines have every column and are as long as they need to be.
    """
    days = sorted({datetime.fromtimestamp(one.call.started).date() for one in listed})
    about = [numbered(len(listed), "exchange"), *(str(day) for day in days[:1])]
    to.print(Text.assemble(("session ", "bold"), session_id, *(f" · {fact}" for fact in about)))
    if not listed:
        return
    time_format = "%m-%d %H:%M:%S" if len(days) > 1 else "%H:%M:%S"
    prompt = FittedColumn(_PROMPT, 2, len(_PROMPT), least=max(_SHORTEST_PROMPT, to.width * 3 // 10))
    columns = [*_COLUMNS, prompt]
    if not any(one.call.agent_id for one in listed):
        columns = [column for column in columns if column.name != "agent"]
    width = to.width
    if full:
        to.width = _ANY_WIDTH
    print_fitted(to, columns, [_cells(one, time_format) for one in listed])
    to.width = width


def status_text(call: Exchange, *, in_flight: bool) -> str:
    """Return the status as people read it: `200`, `200, cut off`, `in flight`, `no answer`."""
    if in_flight:
        return "in flight"
    if call.status is None:
        return "no answer"
    return str(call.status) if call.complete else f"{call.status}, cut off"


def _cells(one: ListedExchange, time_format: str) -> Cells:
    call = one.call
    return {
        "#": str(call.sequence),
        "time": format(datetime.fromtimestamp(call.started), time_format),
        "kind": call.kind,
        "agent": _agent(call),
        "model": short_model(call.model or "-"),
        "status": _status(one),
        "input": count(Tokens.of(call.usage).context) if call.usage else "-",
        "output": count(Tokens.of(call.usage).output) if call.usage else "-",
        _PROMPT: one.words or Text(call.path, "dim"),
    }


def _agent(call: Exchange) -> str:
    """Return the type of a subagent, or the start of its id; nothing for the main thread."""
    if not call.agent_id:
        return ""
    return call.agent_type or call.agent_id[:_AGENT_LENGTH]


def _status(one: ListedExchange) -> Text:
    is_bad = one.call.broken and not one.in_flight
    return Text(status_text(one.call, in_flight=one.in_flight), "red" if is_bad else "")
