"""Parses a response while it streams: bytes in, lines for the part file out, then the outcome.

Uses no files and no clock. A line is an element of `body.events`, or a piece of a text. A small
answer is also kept in memory; of a large one, the response file is made from the part file.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import orjson

from addon.recording.body import body_fields, classify_body
from addon.recording.decode import decoder_for
from addon.recording.exchange_files import FinishedAnswer, SpilledBody
from addon.recording.large_body import LARGEST_IN_MEMORY, TEXT, LargeBody, LongText, text_body
from addon.redaction.redactor import Redactor
from addon.redaction.stream import DeltaRedactor
from ccwire.wire import eventstream
from ccwire.wire.eventstream import EventStreamParser
from ccwire.wire.json_text import dump, embeddable
from ccwire.wire.message import BEDROCK_COUNTS, MessageAssembler
from ccwire.wire.sse import Event, SSEParser, parse_event
from ccwire.wire.vocabulary import EndedBy, EndpointKind

StreamType = Literal["sse", "eventstream"]

_NOT_JSON = object()
_STREAMS: Mapping[str, StreamType] = {
    "text/event-stream": "sse",
    eventstream.CONTENT_TYPE: "eventstream",
}
_COUNT = re.compile(r"[0-9]{1,15}")
_IN_MEMORY = 2 << 20  # bytes of event lines
_LARGEST_EVENT = 8 << 20
_ENCODED_AT_ONCE, _PLAIN_AT_ONCE = 1 << 10, 1 << 20
_EVENTS = b',"events":[\n'


class _Item(NamedTuple):
    event: Event
    at_ms: float
    data: Any  # its JSON value, or _NOT_JSON
    cleared: object = None  # what the redactor knew when it found nothing in the bytes


class StreamedAnswer:
    """A stream of events: SSE, or Amazon's encoding of the same events.

    `feed` returns the event lines that are safe to write.
    """

    def __init__(self, headers: dict[str, str], redactor: Redactor) -> None:
        self._type = _stream_type(headers)
        self._redactor = redactor
        self._encoding = redactor.text(headers.get("content-encoding", ""))
        self._decoder = decoder_for(headers.get("content-encoding", ""))
        # Compressed data is decoded in small pieces: each can become a thousand times as much.
        self._at_once = _ENCODED_AT_ONCE if self._encoding else _PLAIN_AT_ONCE
        self._parser = EventStreamParser() if self._type == "eventstream" else SSEParser()
        self._assembler = MessageAssembler()
        self._across = DeltaRedactor[_Item](redactor, _with_text)
        self._lines: list[bytes] = []  # all, or once it is spilled, the last ones
        self._lines_size = 0
        self._is_spilled = False
        self._overlong: LongText | None = None  # an event that does not end
        self._size = 0
        self._wire_size = 0
        self._at_ms = 0.0

    def feed(self, at_ms: float, chunk: bytes) -> list[bytes]:
        self._wire_size += len(chunk)
        self._at_ms = at_ms
        lines = []
        for start in range(0, len(chunk), self._at_once):
            lines += self._feed(self._decoder.decode(chunk[start : start + self._at_once]))
        if self._lines_size > _IN_MEMORY:
            self._is_spilled = True
        if self._is_spilled:
            self._lines.clear()  # they are in the part file
        return lines

    def _feed(self, data: bytes) -> list[bytes]:
        self._size += len(data)
        if self._overlong is not None:
            return self._raw(self._overlong.feed(data))
        lines = self._take(self._parser.feed(data))
        if isinstance(self._parser, SSEParser) and self._parser.waiting > _LARGEST_EVENT:
            self._overlong = LongText(self._redactor.body, self._redactor)
            lines += self._kept_lines(self._keep(self._across.flush()))
            lines += self._raw(self._overlong.feed(self._parser.take_rest()))
        return lines

    def finish(self, ended_by: EndedBy, error: str | None) -> FinishedAnswer:
        """Return the outcome; events take precedence over the connection's `ended_by`."""
        if self._overlong is not None:
            self._raw(self._overlong.flush())
        self._take(self._parser.flush())
        if rest := self._parser.rest():
            # A secret that was still open may continue here, and its end cannot be found.
            is_open = self._across.is_open
            clean = self._redactor.mark("cut", rest) if is_open else self._redactor.body(rest)
        self._kept_lines(self._keep(self._across.flush()))
        if rest:
            self._kept_lines([_line("", None, None, clean)])
        result = self._assembler.result()
        if result.complete:
            ended_by = "message_stop"
        elif result.error is not None:
            ended_by = "error_event"
            error = self._redactor.url(_error_text(result.error))
        failed = self._decoder.failed or self._parser.failed
        failed = self._redactor.text(failed) if failed else None
        start = stream_start(self._type, self._size, self._encoding, failed)
        return FinishedAnswer(
            body=events_body(start, self._lines, is_spilled=self._is_spilled),
            message=self._redactor.value(result.to_json()),
            metrics=result.metrics,
            usage_at_start=result.usage_at_start,
            usage=result.usage,
            error=error,
            complete=result.complete,
            ended_by=ended_by,
            wire_size=self._wire_size,
        )

    def _take(self, events: list[Event]) -> list[bytes]:
        ready: list[_Item] = []
        for event in events:
            if event.data is not None and b"\n" in event.data:
                event = self._whole(event)
            is_clean = not self._redactor.is_suspect(event.raw)
            cleared = self._redactor.known if is_clean else None
            item = _Item(event, self._at_ms, _value(event.data), cleared)
            if piece := _piece(item.data):
                # Without a backslash, the raw event contains the piece unescaped.
                ready += self._across.push(item, *piece, is_clean and b"\\" not in event.raw)
            else:
                match _type(item.data):
                    case "content_block_stop":
                        self._across.end(_block(item.data))
                    case "message_delta" | "message_stop":
                        ready += self._across.end_all()
                ready += self._across.other(self._in_one_field(item))
        return self._kept_lines(self._keep(ready))

    def _raw(self, pieces: list[bytes]) -> list[bytes]:
        """Keep pieces of an event without an end, as the rest of a cut stream is kept."""
        return self._kept_lines([_line("", None, None, piece) for piece in pieces])

    def _kept_lines(self, lines: list[bytes]) -> list[bytes]:
        self._lines += lines
        self._lines_size += sum(map(len, lines))
        return lines

    def _whole(self, event: Event) -> Event:
        """Return the event, rewritten in one line if a secret is split over its data lines."""
        joined = (event.data or b"").replace(b"\n", b"")
        clean = self._redactor.body(joined)
        return event if clean == joined else _new_event(event.event, clean)

    def _in_one_field(self, item: _Item) -> _Item:
        """Return the item, with the text in one field if a secret is split over several."""
        delta = item.data.get("delta") if _type(item.data) == "content_block_delta" else None
        if not isinstance(delta, dict):
            return item
        names = _text_fields(delta)
        joined = "".join(delta[name] for name in names)
        clean = self._redactor.text(joined) if len(names) > 1 else joined
        if clean == joined:
            return item
        texts = {**dict.fromkeys(names, ""), names[0]: clean}
        data = {**item.data, "delta": {**delta, **texts}}
        return _Item(_new_event(item.event.event, dump(data)), item.at_ms, data)

    def _keep(self, items: list[_Item]) -> list[bytes]:
        kept = []
        for item in items:
            event, value = item.event, item.data
            # The redactor may have learned a secret while the item was held back.
            is_clean = item.cleared is self._redactor.known
            clean = event.raw if is_clean else self._redactor.body(event.raw)
            if clean != event.raw:
                event = parse_event(clean)
                value = _value(event.data)
            self._assembler.feed(value)
            kept.append(_event_line(event, item.at_ms, value is not _NOT_JSON))
        return kept


class PlainAnswer:
    """Any other response: kept in memory until it ends, or as a text in the part file if large."""

    def __init__(self, headers: dict[str, str], redactor: Redactor, kind: EndpointKind) -> None:
        self._headers = headers
        self._redactor = redactor
        self._kind = kind
        self._decoder = decoder_for(headers.get("content-encoding", ""))
        self._chunks: list[bytes] = []
        self._size = 0
        self._wire_size = 0
        self._large: LargeBody | None = None

    def feed(self, at_ms: float, chunk: bytes) -> list[bytes]:
        self._wire_size += len(chunk)
        data = self._decoder.decode(chunk)
        self._size += len(data)
        if self._large is not None:
            return self._large.feed(data)
        self._chunks.append(data)
        if self._size <= LARGEST_IN_MEMORY:
            return []
        self._large = LargeBody(self._redactor, self._kind)
        chunks, self._chunks = self._chunks, []
        return [line for chunk in chunks for line in self._large.feed(chunk)]

    def finish(self, ended_by: EndedBy, error: str | None) -> FinishedAnswer:
        if self._large is not None:
            about = body_fields(self._headers, self._size, self._decoder.failed, self._redactor)
            return FinishedAnswer(
                body=self._large.finish(about),
                message=None,
                metrics=_counted_in(self._headers),
                usage_at_start=None,
                usage=None,
                error=error,
                complete=ended_by == "http_end",
                ended_by=ended_by,
                wire_size=self._wire_size,
            )
        body = classify_body(
            self._headers,
            b"".join(self._chunks),
            self._decoder.failed,
            self._redactor,
            self._kind,
        )
        message = usage = None
        if isinstance(body.value, dict):
            if body.value.get("type") == "message":
                message = {**body.value, "usage_at_start": None}
                usage = message["usage"] if isinstance(message.get("usage"), dict) else None
            elif error is None:
                found = self._error_in(body.value)
                # Escapes in the JSON may have hidden a secret.
                error = self._redactor.url(found) if found else None
        return FinishedAnswer(
            body=body.field,
            message=message,
            metrics=_counted_in(self._headers),
            usage_at_start=None,
            usage=usage,
            error=error,
            complete=ended_by == "http_end",
            ended_by=ended_by,
            wire_size=self._wire_size,
        )

    def _error_in(self, value: dict[str, Any]) -> str | None:
        """Return the error in a body as Anthropic, Google and Azure, or as AWS write it."""
        if isinstance(value.get("error"), dict) or value.get("type") == "error":
            return _error_text(value.get("error"))
        if named := self._headers.get("x-amzn-errortype"):
            kind = self._redactor.text(named.partition(":")[0])
            return _error_text({"type": kind, "message": value.get("message")})
        return None


class NoAnswer:
    """No response arrived."""

    def feed(self, at_ms: float, chunk: bytes) -> list[bytes]:
        return []

    def finish(self, ended_by: EndedBy, error: str | None) -> FinishedAnswer:
        return FinishedAnswer(
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
    headers: dict[str, str], redactor: Redactor, kind: EndpointKind
) -> StreamedAnswer | PlainAnswer:
    if _stream_type(headers) is not None:
        return StreamedAnswer(headers, redactor)
    return PlainAnswer(headers, redactor, kind)


def recovered_answer(
    lines: Iterable[tuple[bytes, dict[str, Any]]], headers: Mapping[str, str]
) -> FinishedAnswer:
    """Return the outcome of a response from the lines of its part file and its headers."""
    assembler = MessageAssembler()
    kept: list[bytes] = []
    size, is_text = 0, False
    for line, value in lines:
        is_text = is_text or TEXT in value
        assembler.feed(value.get("data"))
        size += len(line)
        if size <= _IN_MEMORY:
            kept.append(line)
    result = assembler.result()
    ended_by: EndedBy = "proxy_stopped"
    if result.complete:
        ended_by = "message_stop"
    elif result.error is not None:
        ended_by = "error_event"
    body: Any = {"type": "empty", "size": 0}
    if is_text:
        body = text_body({"type": "text", "size": size}, [])
    elif kept or size:
        start = stream_start(_stream_type(headers), size, "", None)
        is_spilled = size > _IN_MEMORY
        body = events_body(start, [] if is_spilled else kept, is_spilled=is_spilled)
    return FinishedAnswer(
        body=body,
        message=result.to_json(),
        metrics=result.metrics,
        usage_at_start=result.usage_at_start,
        usage=result.usage,
        error=_error_text(result.error) if result.error else "the proxy was killed",
        complete=result.complete,
        ended_by=ended_by,
        wire_size=size,
    )


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


def _stream_type(headers: Mapping[str, str]) -> StreamType | None:
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return _STREAMS.get(content_type)


def _counted_in(headers: Mapping[str, str]) -> dict[str, Any] | None:
    """Return Bedrock's counts of an answer without a stream, named as in the last event of one."""
    found = {name: headers.get(header, "") for name, header, _ in BEDROCK_COUNTS}
    counts = {name: int(value) for name, value in found.items() if _COUNT.fullmatch(value)}
    return counts or None


def _event_line(event: Event, at_ms: float, is_json: bool) -> bytes:
    data = event.data
    if data is not None:
        # A newline in JSON is whitespace between tokens, so a space can replace it.
        data = data.replace(b"\n", b" ") if is_json else dump(data.decode("utf-8", "replace"))
    return _line(event.event, at_ms, data, None if is_json and event.is_canonical else event.raw)


def _line(event: str, at_ms: float | None, data: bytes | None, raw: bytes | None) -> bytes:
    if at_ms is not None and data is not None and raw is None:  # the usual case
        return b'{"event":%s,"at_ms":%.2f,"data":%s}' % (dump(event), at_ms, data)
    line = b'{"event":%s' % dump(event)
    if at_ms is not None:
        line += b',"at_ms":%.2f' % at_ms
    line += b',"data":%s' % (data if data is not None else b"null")
    if raw is not None:
        line += b',"raw":%s' % dump(raw.decode("utf-8", "replace"))
    return line + b"}"


def _value(data: bytes | None) -> Any:
    try:
        return _NOT_JSON if data is None else embeddable(data)
    except ValueError:
        return _NOT_JSON


def _piece(data: Any) -> tuple[int | None, str, str] | None:
    """Return block index, field name and text of a delta; None for any other event."""
    delta = data.get("delta") if _type(data) == "content_block_delta" else None
    if not isinstance(delta, dict) or (name := _text_field(delta)) is None:
        return None
    return _block(data), name, delta[name]


def _block(data: dict[str, Any]) -> int | None:
    index = data.get("index")
    return index if isinstance(index, int) else None


def _type(data: Any) -> object:
    return data.get("type") if isinstance(data, dict) else None


def _text_field(delta: dict[str, Any]) -> str | None:
    """Return the name of the delta's only text field, or None."""
    names = _text_fields(delta)
    return names[0] if len(names) == 1 else None


def _text_fields(delta: dict[str, Any]) -> list[str]:
    return [name for name, value in delta.items() if isinstance(value, str) and name != "type"]


def _with_text(item: _Item, text: str) -> _Item:
    delta = item.data["delta"]
    name = _text_field(delta)
    assert name is not None
    data = {**item.data, "delta": {**delta, name: text}}
    return _Item(_new_event(item.event.event, dump(data)), item.at_ms, data)


def _new_event(name: str, data: bytes) -> Event:
    return Event(name, data, b"event: %s\ndata: %s\n\n" % (name.encode(), data))


def _error_text(error: Any) -> str:
    if not isinstance(error, dict):
        return "error"
    kind = error.get("type") or error.get("status") or error.get("code") or "error"
    message = error.get("message")
    return (f"{kind}: {message}" if message else str(kind))[:500]
