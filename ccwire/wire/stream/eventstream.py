"""An incremental decoder of `application/vnd.amazon.eventstream`: bytes in, frames or events out.

A frame is: total length and length of the headers (4 bytes each), CRC-32 of both, headers, payload,
CRC-32 of all before it. Bedrock sends one frame per event of the API: its JSON is in base64 in the
field `bytes` of the payload, beside padding.

Frames are the same however the bytes were cut. Nothing raises, and nothing is dropped in silence: a
frame with a wrong checksum has its reason in `damage`; after a prelude that cannot be right no
frame can be found, so the bytes that follow are counted as `lost`.
"""

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ccwire.wire.json_text import dump, embeddable
from ccwire.wire.stream.sse import Event

CONTENT_TYPE = "application/vnd.amazon.eventstream"
LONGEST_HEADERS = 128 * 1024
LONGEST_PAYLOAD = 24 * 1024 * 1024

type HeaderValue = bool | int | str | bytes

_PRELUDE = 12
_OVERHEAD = 16  # the prelude and the last checksum
_INTEGERS = {2: 1, 3: 2, 4: 4, 5: 8, 8: 8}  # type -> bytes; 8 is a time in milliseconds
_CHUNK = ("bytes", "p")  # the fields of a payload: an event of the API, and padding
_ERRORS = {"exception": ":exception-type", "error": ":error-code"}


@dataclass(frozen=True, slots=True)
class StreamFrame:
    """One frame; a damaged one has neither headers nor payload, because they may be wrong."""

    headers: Mapping[str, HeaderValue]
    payload: bytes
    size: int
    damage: str | None = None


class FrameDecoder:
    """Feed it chunks; it returns the frames that they complete."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.failed: str | None = None  # why no further frame can be found
        self.lost = 0  # bytes after that

    @property
    def waiting(self) -> int:
        """The bytes of a frame that is not complete yet."""
        return len(self._buffer)

    def feed(self, chunk: bytes) -> list[StreamFrame]:
        if self.failed:
            self.lost += len(chunk)
            return []
        buffer = self._buffer
        buffer += chunk
        frames: list[StreamFrame] = []
        start = 0
        while len(buffer) - start >= _PRELUDE:
            prelude = bytes(buffer[start : start + _PRELUDE])
            if why := _wrong(prelude):
                self.failed = why
                self.lost = len(buffer) - start
                start = len(buffer)
                break
            total = int.from_bytes(prelude[:4])
            if len(buffer) - start < total:
                break
            frames.append(_frame(bytes(buffer[start : start + total])))
            start += total
        del buffer[:start]
        return frames


class EventStreamParser:
    """The events of a stream of frames, with the interface of `SSEParser`.

    Events of the API are as SSE would send them. An `exception` or `error` frame is an event of
    that name with the data of an API error. What could not be decoded is an event `damaged`, with
    the reason and the number of bytes; a part of a frame may contain a part of a secret that no
    redaction recognises, so its bytes are not kept.
    """

    def __init__(self) -> None:
        self._decoder = FrameDecoder()
        self.failed: str | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        return [self._event(frame) for frame in self._decoder.feed(chunk)]

    def flush(self) -> list[Event]:
        """Return what remains at the end of the stream as an event."""
        decoder = self._decoder
        if decoder.failed:
            return [self._damaged(decoder.failed, decoder.lost)]
        if decoder.waiting:
            return [self._damaged("the stream ends within a frame", decoder.waiting)]
        return []

    def rest(self) -> bytes:
        return b""

    def _event(self, frame: StreamFrame) -> Event:
        if frame.damage:
            return self._damaged(frame.damage, frame.size)
        event, why = _read(frame)
        self.failed = self.failed or why
        return event

    def _damaged(self, why: str, size: int) -> Event:
        self.failed = self.failed or why
        return _made("damaged", {"damage": why, "size": size})


def parse_frames(data: bytes) -> tuple[list[Event], bytes]:
    """Return all events of a whole body, and nothing left over: damage is an event, too."""
    parser = EventStreamParser()
    return parser.feed(data) + parser.flush(), parser.rest()


def _read(frame: StreamFrame) -> tuple[Event, str | None]:
    """Return the event of an undamaged frame, and why the API's event in it was not decoded."""
    kind = str(frame.headers.get(":message-type", "event"))
    value = _json(frame.payload)
    if kind in _ERRORS:
        named = str(frame.headers.get(_ERRORS[kind], kind))
        text = frame.headers.get(":error-message", frame.payload.decode("utf-8", "replace"))
        details = value if isinstance(value, dict) else {"message": str(text)}
        return _made(kind, {"type": "error", "error": {"type": named, **details}}), None
    why = None
    if isinstance(value, dict) and "bytes" in value:
        if (inner := _from_base64(value["bytes"])) is not None:
            return _api_event(inner, {n: v for n, v in value.items() if n not in _CHUNK}), None
        why = "the bytes of a frame are not base64"
    name = str(frame.headers.get(":event-type", kind))
    return _made(name, frame.payload.decode("utf-8", "replace") if value is None else value), why


def _api_event(data: bytes, beside: dict[str, Any]) -> Event:
    """Return the API's event as it came; with what is beside it in the payload, if anything is."""
    value = _json(data)
    if not isinstance(value, dict):
        return _made("message", data.decode("utf-8", "replace"))
    name = str(value.get("type", "message"))
    if beside:
        return _made(name, {**value, "frame": beside})
    # A newline in JSON is whitespace between tokens.
    return _as_sse(name, data.translate(_ONE_LINE))


_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")


def _made(name: str, value: Any) -> Event:
    return _as_sse(name, dump(value))


def _as_sse(name: str, data: bytes) -> Event:
    name = " ".join(name.split()) or "message"
    return Event(name, data, b"event: %s\ndata: %s\n\n" % (name.encode("utf-8", "replace"), data))


def _wrong(prelude: bytes) -> str | None:
    total, headers = int.from_bytes(prelude[:4]), int.from_bytes(prelude[4:8])
    if zlib.crc32(prelude[:8]) != int.from_bytes(prelude[8:]):
        return "the checksum of a frame's lengths is wrong"
    payload = total - headers - _OVERHEAD
    if headers > LONGEST_HEADERS or not 0 <= payload <= LONGEST_PAYLOAD:
        return f"a frame of {total} bytes with {headers} bytes of headers is not possible"
    return None


def _frame(data: bytes) -> StreamFrame:
    if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:]):
        return StreamFrame({}, b"", len(data), "the checksum of a frame is wrong")
    end = _PRELUDE + int.from_bytes(data[4:8])
    headers = _headers(data[_PRELUDE:end])
    if headers is None:
        return StreamFrame({}, b"", len(data), "the headers of a frame are malformed")
    return StreamFrame(headers, data[end:-4], len(data))


def _headers(data: bytes) -> dict[str, HeaderValue] | None:
    """Return the headers by name, or None if they are malformed."""
    headers: dict[str, HeaderValue] = {}
    reader = _Reader(data)
    while not reader.at_end:
        name = reader.take(reader.integer(1)).decode("utf-8", "replace")
        value = _value(reader)
        if reader.failed or name in headers:
            return None
        headers[name] = value
    return headers


def _value(reader: "_Reader") -> HeaderValue:
    match kind := reader.integer(1):
        case 0 | 1:
            return kind == 0  # true, then false
        case 6:
            return reader.take(reader.integer(2))
        case 7:
            return reader.take(reader.integer(2)).decode("utf-8", "replace")
        case 9:
            return reader.take(16)
        case _ if kind in _INTEGERS:
            return int.from_bytes(reader.take(_INTEGERS[kind]), signed=True)
    reader.failed = True
    return False


class _Reader:
    """Takes bytes from the front; `failed` once more were asked for than there are."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self.failed = False

    @property
    def at_end(self) -> bool:
        return self._at >= len(self._data)

    def take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        self._at += size
        self.failed = self.failed or len(taken) < size
        return taken

    def integer(self, size: int) -> int:
        return int.from_bytes(self.take(size))


def _json(data: bytes) -> Any:
    try:
        return embeddable(data)
    except ValueError:
        return None


def _from_base64(text: object) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except ValueError:
        return None
