"""Server-sent events, sans-IO: bytes in, events out, nothing lost and nothing guessed.

The raw bytes of all events plus `rest()` are always exactly the bytes that were fed, however they
were cut. An event that no blank line ended is not an event: it stays in `rest()`.
"""

import re
from typing import NamedTuple

# An end of line is \r\n, \n or \r; two in a row end an event. Atomic, so that \r\n is never two.
_BOUNDARY = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"
_LONGEST_BOUNDARY = 4


class Event(NamedTuple):
    """One event: its type ("message" where none was named), its data lines joined, its bytes."""

    event: str
    data: bytes | None
    raw: bytes

    @property
    def is_canonical(self) -> bool:
        """Whether `event` and `data` alone restore the bytes."""
        if self.data is None:
            return False
        return self.raw == b"event: %s\ndata: %s\n\n" % (self.event.encode(), self.data)


class SSEParser:
    """Feed it chunks; it gives the events they complete."""

    failed: str | None = None  # any bytes are a stream

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._is_plain = True  # no \\r so far

    def feed(self, chunk: bytes) -> list[Event]:
        self._buffer += chunk
        self._is_plain = self._is_plain and b"\r" not in chunk
        return self._take(final=False)

    def flush(self) -> list[Event]:
        """No more bytes will come: settles an event whose end was a lone `\\r`."""
        return self._take(final=True)

    def rest(self) -> bytes:
        """What no event has claimed yet."""
        return bytes(self._buffer)

    @property
    def waiting(self) -> int:
        """How many bytes no event has claimed yet."""
        return len(self._buffer)

    def take_rest(self) -> bytes:
        """What no event has claimed yet; the parser starts afresh after it."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        self._searched = 0
        return rest

    def _take(self, *, final: bool) -> list[Event]:
        buffer = self._buffer
        if self._is_plain:
            return self._take_plain()
        events: list[Event] = []
        start = 0
        search = self._searched
        while found := _BOUNDARY.search(buffer, search):
            end = found.end()
            if end == len(buffer) and buffer[-1] == 0x0D and not final:
                break  # the \n of a \r\n may still come
            events.append(parse_event(bytes(buffer[start:end])))
            start = search = end
        del buffer[:start]
        self._searched = max(0, len(buffer) - _LONGEST_BOUNDARY)
        return events

    def _take_plain(self) -> list[Event]:
        """The fast path: where every line ends in \\n, no pattern is needed."""
        buffer = self._buffer
        events: list[Event] = []
        start, search = 0, self._searched
        while (found := buffer.find(b"\n\n", search)) >= 0:
            events.append(parse_event(bytes(buffer[start : found + 2])))
            start = search = found + 2
        del buffer[:start]
        self._searched = max(0, len(buffer) - _LONGEST_BOUNDARY)
        return events


def parse_event(raw: bytes) -> Event:
    """One event from its bytes, blank line included."""
    if raw.startswith(b"event: ") and raw.count(b"\n") == 3 and b"\r" not in raw:
        name, found, value = raw[7:-2].partition(b"\ndata: ")
        if found and name and raw.endswith(b"\n\n"):
            return Event(name.decode("utf-8", "replace"), value, raw)
    name = b""
    data: list[bytes] = []
    for line in _LINE_END.split(raw.removeprefix(_BOM)):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
    return Event(
        event=name.decode("utf-8", "replace") or "message",
        data=b"\n".join(data) if data else None,
        raw=raw,
    )


def parse_stream(data: bytes) -> tuple[list[Event], bytes]:
    """All events of a whole body, and what was left over."""
    parser = SSEParser()
    events = parser.feed(data) + parser.flush()
    return events, parser.rest()
