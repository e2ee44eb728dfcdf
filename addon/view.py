"""A content view for mitmproxy and mitmweb: shows an API stream as the assembled message and usage.

Pure: bytes in, text out. `AnswerView` implements mitmproxy's `Contentview` protocol without
importing it; `addon.capture` registers it.
"""

import json
import re
import secrets
import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal, Protocol

from addon.redaction.redactor import Redactor
from ccwire.wire.json_text import parse_json
from ccwire.wire.stream import eventstream
from ccwire.wire.stream.message import AssembledMessage, MessageAssembler
from ccwire.wire.stream.sse import Event, parse_stream
from ccwire.wire.usage import Tokens

# The first event of a Messages API stream; other servers do not use these event names.
_OPENING = re.compile(rb"\s*event:\s*(?:message_start|ping|error)\b")
_WIDTH = 72
# The usage fields that the token counts cover.
_COUNTED = frozenset(Tokens().to_usage())
# Fields shown as plain text; every other field of a block is shown as JSON.
_TEXT_FIELDS = ("text", "thinking", "partial_input")


class ViewMetadata(Protocol):
    """The part of mitmproxy's `Metadata` that is used here."""

    @property
    def content_type(self) -> str | None: ...


class AnswerView:
    """Shows a Messages API stream as the message it contains."""

    name = "Claude answer"
    syntax_highlight: Literal["none"] = "none"

    def __init__(self) -> None:
        self._redactor = Redactor(secrets.token_bytes(32))

    def prettify(self, data: bytes, metadata: ViewMetadata) -> str:
        """Return the message without secrets; mitmproxy's other views show the stream as it is."""
        is_frames = (metadata.content_type or "").lower().startswith(eventstream.CONTENT_TYPE)
        return self._redactor.text(answer_text(data, is_frames=is_frames))

    def render_priority(self, data: bytes, metadata: ViewMetadata) -> float:
        """Return 2 for a Messages API stream, above mitmproxy's views; -1 for anything else."""
        content_type = (metadata.content_type or "").lower()
        if content_type.startswith(eventstream.CONTENT_TYPE):
            return 2
        streamed = content_type.startswith("text/event-stream")
        return 2 if streamed and _OPENING.match(data) else -1

    def __lt__(self, other: Any) -> bool:
        return bool(self.name < other.name)


def answer_text(data: bytes, *, is_frames: bool = False) -> str:
    """Return the stream as text; raise ValueError if it is not a Messages API stream.

    `is_frames` for Bedrock's encoding of the same events.
    """
    events, rest = eventstream.parse_frames(data) if is_frames else parse_stream(data)
    assembler = MessageAssembler()
    for event in events:
        assembler.feed(_json(event))
    answer = assembler.result()
    if answer.message is None and answer.error is None:
        raise ValueError("not a Messages API stream")
    return "\n".join([*_head(answer, events, rest), *_blocks(answer)]) + "\n"


def _head(answer: AssembledMessage, events: list[Event], rest: bytes) -> Iterator[str]:
    message = answer.message or {}
    who = [message.get(name) for name in ("model", "id", "stop_reason")]
    yield " · ".join(str(value) for value in who if value)
    if answer.error is not None:
        yield f"ERROR     {answer.error.get('type')}: {answer.error.get('message')}"
    elif not answer.complete:
        yield "CUT OFF   no message_stop event"
    if answer.usage is not None:
        yield f"usage     {_counts(answer.usage)}"
    if answer.usage_at_start is not None and answer.usage_at_start != answer.usage:
        yield f"at start  {_counts(answer.usage_at_start)}"
    for name, value in (answer.usage or {}).items():
        if name not in _COUNTED and value:
            yield f"          {name}: {json.dumps(value, ensure_ascii=False)}"
    counted = Counter(event.event for event in events)
    named = ", ".join(name if n == 1 else f"{n} {name}" for name, n in counted.items())
    yield textwrap.fill(f"events    {named}", _WIDTH, subsequent_indent=" " * 10)
    if rest.strip():
        yield f"left over {len(rest)} bytes of an incomplete event"


def _counts(usage: dict[str, Any]) -> str:
    """Return the token counts as text: input and output always, the others unless zero."""
    always = ("input", "output")
    counts = Tokens.of(usage).by_class()
    return " · ".join(f"{c.label} {n:,}" for c, n in counts if n or c.name in always)


def _blocks(answer: AssembledMessage) -> Iterator[str]:
    content = (answer.message or {}).get("content")
    for block in content if isinstance(content, list) else ():
        named = [block.get(name) for name in ("type", "name", "id")]
        title = " ".join(str(value) for value in named if value) or "unknown"
        yield ""
        yield f"── {title} ".ljust(_WIDTH, "─")
        yield from _body(block)


def _body(block: dict[str, Any]) -> Iterator[str]:
    for name in _TEXT_FIELDS:
        if isinstance(block.get(name), str):
            yield block[name]
    shown = {"type", "name", "id", "signature", *_TEXT_FIELDS}
    rest = {name: value for name, value in block.items() if name not in shown and value}
    if set(rest) == {"input"}:
        rest = rest["input"]
    if rest:
        yield json.dumps(rest, ensure_ascii=False, indent=2)


def _json(event: Event) -> Any:
    try:
        return parse_json(event.data or b"")
    except ValueError:
        return None  # counted as an event, but not part of the message
