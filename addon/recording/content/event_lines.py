"""The lines of a stream in the part file and in `body.events` of the response file. Pure."""

from collections.abc import Mapping
from typing import Any, Literal

import orjson

from addon.recording.content.exchange_files import SpilledBody
from ccwire.wire.json_text import dump
from ccwire.wire.stream import eventstream
from ccwire.wire.stream.sse import Event

StreamType = Literal["sse", "eventstream"]

IN_MEMORY = 2 << 20  # bytes of lines; more are in the part file only

_STREAMS: Mapping[str, StreamType] = {
    "text/event-stream": "sse",
    eventstream.CONTENT_TYPE: "eventstream",
}
_EVENTS = b',"events":[\n'


def stream_type_of(headers: Mapping[str, str]) -> StreamType | None:
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return _STREAMS.get(content_type)


def event_line(event: Event, at_ms: float, is_json: bool) -> bytes:
    data = event.data
    if data is not None:
        # A newline in JSON is whitespace between tokens, so a space can replace it.
        data = data.replace(b"\n", b" ") if is_json else dump(data.decode("utf-8", "replace"))
    return line_of(event.event, at_ms, data, None if is_json and event.is_canonical else event.raw)


def line_of(event: str, at_ms: float | None, data: bytes | None, raw: bytes | None) -> bytes:
    if at_ms is not None and data is not None and raw is None:  # the usual case
        return b'{"event":%s,"at_ms":%.2f,"data":%s}' % (dump(event), at_ms, data)
    line = b'{"event":%s' % dump(event)
    if at_ms is not None:
        line += b',"at_ms":%.2f' % at_ms
    line += b',"data":%s' % (data if data is not None else b"null")
    if raw is not None:
        line += b',"raw":%s' % dump(raw.decode("utf-8", "replace"))
    return line + b"}"


def stream_start(
    stream_type: StreamType | None, size: int, encoding: str, failed: str | None
) -> bytes:
    """Return the beginning of a stream's `body` field."""
    fields: dict[str, Any] = {"type": stream_type or "sse", "size": size}
    if encoding:
        fields["content_encoding"] = encoding
    if failed:
        fields["decode_error"] = failed
    return orjson.dumps(fields).removesuffix(b"}") + _EVENTS


def events_body(
    start: bytes, lines: list[bytes], *, is_spilled: bool
) -> orjson.Fragment | SpilledBody:
    if is_spilled:
        return SpilledBody(start, lines, b",\n", b"\n]}")
    return orjson.Fragment(start + b",\n".join(lines) + b"\n]}")


def error_text(error: Any) -> str:
    if not isinstance(error, dict):
        return "error"
    kind = error.get("type") or error.get("status") or error.get("code") or "error"
    message = error.get("message")
    return (f"{kind}: {message}" if message else str(kind))[:500]
