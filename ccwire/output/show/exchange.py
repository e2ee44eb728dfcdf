"""Prints one exchange: what was sent, the answer, and the events of a stream."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len
from rich.text import Text

from ccwire.output.show.exchange_list import status_text
from ccwire.output.tables import count, numbered
from ccwire.output.terminal import SafeConsole, safe
from ccwire.wire.format import Exchange, short_id
from ccwire.wire.safe_text import shortened
from correlate.show.answer import ShownAnswer, ShownEvent
from correlate.show.blocks import ShownBlock, excerpt
from correlate.show.request import ShownMessage, ShownRequest, ToolGroup

_TITLE, _MARK, _QUIET, _BAD = "bold", "magenta", "dim", "red"
_BRIEF = (3, 240)  # the lines and characters that are shown of a part of a request
_LONGER = (12, 1000)  # of a part of an answer, or of a body
_PARAMETER_LENGTH = 160
_RECENT = 20  # messages at the end that are shown with their first lines, others on one line
_WORDS_LENGTH = 300
_TIME_COLUMN, _NAME_COLUMN = 12, 19  # of an event


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of an exchange is printed."""

    full: bool = False
    headers: bool = False


def print_heading(to: SafeConsole, session_id: str, call: Exchange, *, in_flight: bool) -> None:
    """Print the line about the exchange as a whole, and its error if it has one."""
    started = datetime.fromtimestamp(call.started)
    facts = [
        f"{started:%Y-%m-%d %H:%M:%S}",
        f"{call.method} {call.host}{call.path}",
        _models(call),
        status_text(call, in_flight=in_flight),
        _duration(call.ended - call.started) if call.ended is not None else None,
        f"first byte {_duration(call.first_byte_ms / 1000)}" if call.first_byte_ms else None,
    ]
    text = Text().append(f"session {short_id(session_id)} · exchange {call.sequence}", _TITLE)
    to.print(text.append("".join(f" · {fact}" for fact in facts if fact)))
    if call.error:
        to.print(Text(shortened(call.error, _PARAMETER_LENGTH), _BAD))


def print_request(to: SafeConsole, request: ShownRequest, detail: Detail) -> None:
    _print_section(to, "request", request, detail)
    if request.body is not None:
        return
    _print_parameters(to, request, detail)
    if request.system:
        size = sum(block.size for block in request.system)
        _print_part(to, "system", numbered(len(request.system), "block"), size)
        for number, block in enumerate(request.system, 1):
            _print_block(to, f"{number} {block.title}", block, detail, _BRIEF)
    if request.tools:
        tools = sum(len(group.tools) for group in request.tools)
        size = sum(group.size for group in request.tools)
        _print_part(to, "tools", numbered(tools, "tool"), size)
        for group in request.tools:
            if detail.full:
                _print_whole_tools(to, group, detail)
            else:
                _print_tools(to, group)
    if request.messages:
        size = sum(message.size for message in request.messages)
        _print_part(to, "messages", numbered(len(request.messages), "message"), size)
        older = 0 if detail.full else max(len(request.messages) - _RECENT, 0)
        for message in request.messages[:older]:
            to.print_cut(_message_line(message))
        for message in request.messages[older:]:
            print_message(to, message, detail)


def print_message(to: SafeConsole, message: ShownMessage, detail: Detail) -> None:
    """Print a message: each block with its type, size and cache marker, and its first lines."""
    head = f"{message.number} {message.role}"
    if not message.blocks:
        to.print(Text().append(f"    {head}", _TITLE).append("  no content", _QUIET))
    for block in message.blocks:
        _print_block(to, f"{head} · {block.title}", block, detail, _BRIEF)


def print_answer(to: SafeConsole, answer: ShownAnswer, call: Exchange, detail: Detail) -> None:
    _print_section(to, "answer", answer, detail, answer.stop_reason)
    for block in answer.blocks:
        _print_block(to, block.title, block, detail, _LONGER)
    if answer.is_truncated:
        to.print(Text("  the rest of the content is in the events only (--events)", _QUIET))
    if not call.complete:
        to.print(Text(f"  the answer is not whole; it ended by {call.ended_by or 'a kill'}", _BAD))
    if answer.usage:
        usage = " · ".join(f"{name} {count(number)}" for name, number in answer.usage)
        to.print_indented(Text().append("usage ", _TITLE).append(usage), 2)


def print_events(to: SafeConsole, events: Iterable[ShownEvent], detail: Detail) -> None:
    """Print one line per event: milliseconds after the first byte, name and data.

    With `full`, data that does not fit the line of a terminal is below it.
    """
    for event in events:
        at = "" if event.at_ms is None else f"{event.at_ms:,.2f} ms"
        head = f"{at:>{_TIME_COLUMN}}  {event.name}"
        line = f"{head:<{_TIME_COLUMN + 2 + _NAME_COLUMN}}  {event.data}".rstrip()
        if not detail.full:
            to.print_cut(line)
        elif to.is_terminal and cell_len(line) > to.width:
            to.print_indented(Text(event.data), _TIME_COLUMN + 2, Text(head))
        else:
            to.print_unwrapped(line)


def _models(call: Exchange) -> str | None:
    if call.served_model and call.model and call.served_model != call.model:
        return f"{call.model}, served by {call.served_model}"
    return call.model or call.served_model


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms" if seconds < 1 else f"{seconds:,.1f} s"


def _print_section(
    to: SafeConsole,
    name: str,
    shown: ShownRequest | ShownAnswer,
    detail: Detail,
    more: str | None = None,
) -> None:
    """Print what a request and an answer have in common: size, headers, a body that is a text."""
    to.print()
    text = Text().append(name, f"{_TITLE} cyan").append(f"  {count(shown.size)} bytes", _QUIET)
    to.print(text.append(f" · {more}" if more else ""))
    if detail.headers:
        to.print(Text("  headers", _TITLE))
        for header, value in shown.headers.items():
            _print_line(to, Text(f"{header}: {value}"), 4, detail)
    if shown.decode_error:
        to.print(Text(f"  not decoded to its end: {shown.decode_error}", _BAD))
    if shown.body is not None:
        _print_text(to, shown.body.text, 2, _LONGER, detail)


def _print_part(to: SafeConsole, name: str, amount: str, size: int) -> None:
    to.print(Text().append(f"  {name}", _TITLE).append(f"  {amount}, {count(size)} bytes", _QUIET))


def _print_parameters(to: SafeConsole, request: ShownRequest, detail: Detail) -> None:
    for name, value in request.parameters:
        shown = value if detail.full else shortened(value, _PARAMETER_LENGTH)
        _print_line(to, Text().append(f"{name} ", _TITLE).append(shown), 2, detail)
    if request.betas:
        text = Text().append("betas ", _TITLE).append(", ".join(request.betas))
        _print_line(to, text, 2, detail)


def _print_tools(to: SafeConsole, group: ToolGroup) -> None:
    text = Text()
    if group.server is not None:
        tools = numbered(len(group.tools), "tool")
        text.append(f"MCP {group.server}", _TITLE)
        text.append(f"  {tools}, {count(group.size)} bytes: ", _QUIET)
    for number, tool in enumerate(group.tools):
        text.append(" · " if number else "").append(tool.name)
        text.append(f" {count(tool.size)}", _QUIET)
        if tool.cache:
            text.append(f" [cache {tool.cache}]", _MARK)
    to.print_indented(text, 4)


def _print_whole_tools(to: SafeConsole, group: ToolGroup, detail: Detail) -> None:
    for tool in group.tools:
        name = group.sent_name(tool)
        _print_block(to, name, ShownBlock(name, tool.text, tool.size, tool.cache), detail, _BRIEF)


def _message_line(message: ShownMessage) -> str:
    """Return a message on one line: number, role, block types, size, and its first words."""
    titles = "".join(f" · {block.title}" for block in message.blocks)
    marks = "".join(f"  [cache {block.cache}]" for block in message.blocks if block.cache)
    words = next((block.text for block in message.blocks if block.text.strip()), "")
    words = " ".join(words[:_WORDS_LENGTH].split())
    return (
        f"    {message.number} {message.role}{titles}  {count(message.size)} bytes{marks}  {words}"
    )


def _print_block(
    to: SafeConsole, title: str, block: ShownBlock, detail: Detail, limits: tuple[int, int]
) -> None:
    head = Text().append(f"    {title}", _TITLE).append(f"  {count(block.size)} bytes", _QUIET)
    if block.cache:
        head.append(f"  [cache {block.cache}]", _MARK)
    _print_text(to, block.text, 6, limits, detail, head)


def _print_text(
    to: SafeConsole,
    text: str,
    indent: int,
    limits: tuple[int, int],
    detail: Detail,
    head: Text | None = None,
) -> None:
    """Print a text below its head: all of it, or its beginning and how much is left out."""
    if detail.full or not text.strip():
        if head is not None:
            to.print(head)
        if text.strip():
            _print_whole(to, text.rstrip("\n"), indent)
        return
    shown = excerpt(text, *limits)
    beginning = Text(shown.text)
    if shown.left_out:
        beginning.append(f"\n… {count(shown.left_out)} more characters (--full)", _QUIET)
    to.print_indented(beginning, indent, head)


def _print_line(to: SafeConsole, text: Text, indent: int, detail: Detail) -> None:
    """Print a text wrapped between words; in a pipe, one in full is not wrapped."""
    if detail.full and not to.is_terminal:
        to.print_unwrapped(text.plain, indent)
    else:
        to.print_indented(text, indent)


def _print_whole(to: SafeConsole, text: str, indent: int) -> None:
    """Print all of a text: on a terminal wrapped between words, each line within its own indent."""
    if to.is_terminal:
        text = "\n".join(_wrapped(to, safe(text), max(to.width - indent, 1)))
    to.print_unwrapped(text, indent)


def _wrapped(to: SafeConsole, text: str, width: int) -> Iterator[str]:
    for line in text.expandtabs().split("\n"):
        if cell_len(line) <= width:
            yield line
            continue
        own = min(len(line) - len(line.lstrip(" ")), width // 2)
        for part in Text(line[own:]).wrap(to, width - own):
            yield " " * own + part.plain.rstrip()
