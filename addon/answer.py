"""Follows one answer while it streams: bytes in, event lines out, and at the end what came of it.

No file and no clock here. A line is what stands in `body.events` and, meanwhile, in the part file.
"""

from dataclasses import dataclass
from typing import Any

import orjson

from addon.decode import decoder_for
from addon.format import parse_json
from addon.record import Answer, classify_body
from addon.redact import DeltaRedactor, Redactor
from correlate.message import MessageAssembler
from correlate.sse import Event, SSEParser, parse_event

_PIECES = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
    "signature_delta": "signature",
}


@dataclass(frozen=True, slots=True)
class _Item:
    event: Event
    at_ms: float
    data: Any


class StreamedAnswer:
    """An SSE answer. `feed` gives the event lines that are safe to write."""

    def __init__(self, headers: dict[str, str], redactor: Redactor) -> None:
        self._headers = headers
        self._redactor = redactor
        self._decoder = decoder_for(headers.get("content-encoding", ""))
        self._parser = SSEParser()
        self._assembler = MessageAssembler()
        self._across = DeltaRedactor[_Item](redactor, _with_text)
        self._lines: list[bytes] = []
        self._size = 0
        self._wire_size = 0
        self._last: str | None = None

    def feed(self, at_ms: float, chunk: bytes) -> list[bytes]:
        self._wire_size += len(chunk)
        data = self._decoder.decode(chunk)
        self._size += len(data)
        return self._take(self._parser.feed(data), at_ms)

    def finish(self, ended_by: str, error: str | None) -> Answer:
        """`ended_by` as the connection tells it; what the events tell goes first."""
        self._take(self._parser.flush(), None)
        self._keep(self._across.flush())
        rest = self._parser.rest()
        if rest:
            self._lines.append(_line("", None, None, self._redactor.body(rest)))
        result = self._assembler.result()
        if result.complete:
            ended_by = "message_stop"
        elif result.error is not None:
            ended_by = "error_event"
            error = _error_text(result.error)
        return Answer(
            body=sse_body(self._lines, self._size, self._headers, self._decoder.failed),
            message=result.to_json(),
            usage_at_start=result.usage_at_start,
            usage=result.usage,
            error=error,
            complete=result.complete,
            ended_by=ended_by,
            wire_size=self._wire_size,
        )

    def _take(self, events: list[Event], at_ms: float | None) -> list[bytes]:
        ready: list[_Item] = []
        for event in events:
            clean = self._redactor.body(event.raw)
            if clean is not event.raw:
                event = parse_event(clean)
            item = _Item(event, at_ms or 0.0, _parsed(event.data))
            ready += self._across.push(item, _piece(item.data))
        return self._keep(ready)

    def _keep(self, items: list[_Item]) -> list[bytes]:
        kept = []
        for item in items:
            self._assembler.feed(item.data)
            event = item.event
            raw = None if event.is_canonical else event.raw
            is_json = item.data is not None
            data = event.data if is_json else _as_text(event.data)
            kept.append(_line(event.event, item.at_ms, data, raw))
        self._lines += kept
        return kept


class PlainAnswer:
    """Any other answer, kept whole until it ends."""

    def __init__(self, headers: dict[str, str], redactor: Redactor, kind: str) -> None:
        self._headers = headers
        self._redactor = redactor
        self._kind = kind
        self._decoder = decoder_for(headers.get("content-encoding", ""))
        self._chunks: list[bytes] = []
        self._wire_size = 0

    def feed(self, at_ms: float, chunk: bytes) -> list[bytes]:
        self._wire_size += len(chunk)
        self._chunks.append(self._decoder.decode(chunk))
        return []

    def finish(self, ended_by: str, error: str | None) -> Answer:
        body = b"".join(self._chunks)
        parsed, field = classify_body(self._headers, body, self._redactor, self._kind)
        if failed := self._decoder.failed:
            field["decode_error"] = failed
        complete = ended_by == "http_end"
        message = usage = None
        if isinstance(parsed, dict):
            if parsed.get("type") == "message":
                message = parse_json(self._redactor.body(body))
                usage = message["usage"] if isinstance(message.get("usage"), dict) else None
                message = {**message, "usage_at_start": None}
            elif parsed.get("type") == "error" and error is None:
                clean = parse_json(self._redactor.body(body))
                error = _error_text(clean.get("error"))
        return Answer(
            body=field,
            message=message,
            usage_at_start=None,
            usage=usage,
            error=error,
            complete=complete,
            ended_by=ended_by,
            wire_size=self._wire_size,
        )


class NoAnswer:
    """Nothing came back."""

    def feed(self, at_ms: float, chunk: bytes) -> list[bytes]:
        return []

    def finish(self, ended_by: str, error: str | None) -> Answer:
        return Answer(
            body={"type": "empty", "size": 0},
            message=None,
            usage_at_start=None,
            usage=None,
            error=error or "no answer",
            complete=False,
            ended_by=ended_by,
            wire_size=0,
        )


def answer_for(
    headers: dict[str, str], redactor: Redactor, kind: str
) -> StreamedAnswer | PlainAnswer:
    if headers.get("content-type", "").lower().startswith("text/event-stream"):
        return StreamedAnswer(headers, redactor)
    return PlainAnswer(headers, redactor, kind)


def recovered_answer(event_lines: list[bytes]) -> Answer:
    """What a part file's event lines amount to; the proxy that wrote them is gone."""
    assembler = MessageAssembler()
    for line in event_lines:
        assembler.feed(orjson.loads(line).get("data"))
    result = assembler.result()
    ended_by = "proxy_stopped"
    if result.complete:
        ended_by = "message_stop"
    elif result.error is not None:
        ended_by = "error_event"
    size = sum(len(line) for line in event_lines)
    return Answer(
        body=sse_body(event_lines, size, {}, None) if event_lines else {"type": "empty", "size": 0},
        message=result.to_json(),
        usage_at_start=result.usage_at_start,
        usage=result.usage,
        error=_error_text(result.error) if result.error else "the proxy was killed",
        complete=result.complete,
        ended_by=ended_by,
        wire_size=size,
    )


def sse_body(
    lines: list[bytes], size: int, headers: dict[str, str], failed: str | None
) -> orjson.Fragment:
    fields: dict[str, Any] = {"type": "sse", "size": size}
    if encoding := headers.get("content-encoding"):
        fields["content_encoding"] = encoding
    if failed:
        fields["decode_error"] = failed
    start = orjson.dumps(fields).removesuffix(b"}")
    return orjson.Fragment(start + b',"events":[\n' + b",\n".join(lines) + b"\n]}")


def _line(event: str, at_ms: float | None, data: bytes | None, raw: bytes | None) -> bytes:
    line = b'{"event":%s' % orjson.dumps(event)
    if at_ms is not None:
        line += b',"at_ms":%.2f' % at_ms
    line += b',"data":%s' % (data if data is not None else b"null")
    if raw is not None:
        line += b',"raw":%s' % orjson.dumps(raw.decode("utf-8", "replace"))
    return line + b"}"


def _parsed(data: bytes | None) -> Any:
    """The event's JSON value; None where it is not JSON, or would not fit on one line."""
    if data is None or b"\n" in data:
        return None
    try:
        return parse_json(data)
    except ValueError:
        return None


def _piece(data: Any) -> str | None:
    if not isinstance(data, dict) or data.get("type") != "content_block_delta":
        return None
    delta = data.get("delta")
    if not isinstance(delta, dict) or delta.get("type") not in _PIECES:
        return None
    piece = delta.get(_PIECES[delta["type"]])
    return piece if isinstance(piece, str) else None


def _with_text(item: _Item, text: str) -> _Item:
    delta = item.data["delta"]
    data = {**item.data, "delta": {**delta, _PIECES[delta["type"]]: text}}
    encoded = orjson.dumps(data)
    raw = b"event: %s\ndata: %s\n\n" % (item.event.event.encode(), encoded)
    return _Item(Event(item.event.event, encoded, raw), item.at_ms, data)


def _as_text(data: bytes | None) -> bytes | None:
    return None if data is None else orjson.dumps(data.decode("utf-8", "replace"))


def _error_text(error: Any) -> str:
    if not isinstance(error, dict):
        return "error"
    kind, message = error.get("type"), error.get("message")
    return f"{kind}: {message}"[:500] if message else str(kind)
