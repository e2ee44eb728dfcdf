"""Parses a stream of events while it arrives: bytes in, lines out, then the outcome.

Uses no files and no clock. The lines of a short stream are also kept in memory; those of a long one
are in the part file only, from which the response file is made.
"""

from typing import Any, NamedTuple

from addon.recording.content.decode import decoded_pieces, decoder_for
from addon.recording.content.event_lines import (
    IN_MEMORY,
    error_text,
    event_line,
    events_body,
    line_of,
    stream_start,
    stream_type_of,
)
from addon.recording.content.exchange_files import FinishedAnswer
from addon.recording.content.large_body import LongText
from addon.redaction.redactor import Redactor
from addon.redaction.stream import DeltaRedactor
from ccwire.wire.json_text import dump, embeddable
from ccwire.wire.stream.eventstream import EventStreamParser
from ccwire.wire.stream.message import MessageAssembler
from ccwire.wire.stream.sse import Event, SSEParser, parse_event
from ccwire.wire.vocabulary import EndedBy

_NOT_JSON = object()
_LARGEST_EVENT = 8 << 20


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
        self._type = stream_type_of(headers)
        self._redactor = redactor
        self._encoding = redactor.text(headers.get("content-encoding", ""))
        self._decoder = decoder_for(headers.get("content-encoding", ""))
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
        for piece in decoded_pieces(self._decoder, chunk, is_encoded=bool(self._encoding)):
            lines += self._feed(piece)
        if self._lines_size > IN_MEMORY:
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
            self._kept_lines([line_of("", None, None, clean)])
        result = self._assembler.result()
        if result.complete:
            ended_by = "message_stop"
        elif result.error is not None:
            ended_by = "error_event"
            error = self._redactor.url(error_text(result.error))
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
        return self._kept_lines([line_of("", None, None, piece) for piece in pieces])

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
            kept.append(event_line(event, item.at_ms, value is not _NOT_JSON))
        return kept


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
