"""Which files may contain a match, by their bytes alone: most are never parsed.

A segment stores once what requests repeat, so its streams are searched instead of its files. A file
is ruled out if no range of it, and no place where two of its ranges meet, has the pattern's needle.
"""

from bisect import bisect_left
from pathlib import Path

from ccwire.wire.pack.files import FileKey, PackDamaged
from ccwire.wire.pack.reader import packs
from ccwire.wire.pack.records import REQUESTS, RESPONSES
from ccwire.wire.pack.segment import SEGMENT_SUFFIX, Segment, stream_of
from ccwire.wire.regular_file import open_regular
from correlate.search.pattern import Pattern

_BUFFER = 1 << 18  # stays in the processor's cache
_LARGEST_STREAM = 256 << 20  # that is searched at once
_MOST_PLACES = 10_000  # of the needle in a stream; a more frequent one rules out little


def file_may_match(path: Path, pattern: Pattern) -> bool:
    """Whether a file may contain a match; raise OSError if it cannot be read."""
    needle = pattern.needle
    if needle is None:
        return True
    kept = len(needle) - 1  # a match may begin in one piece and end in the next
    buffer = bytearray(max(_BUFFER, 2 * len(needle)))
    view, start = memoryview(buffer), 0
    with open_regular(path, buffering=0) as file:
        while read := file.readinto(view[start:]):  # type: ignore[attr-defined]
            end = start + read
            if pattern.ignore_case:
                if needle in buffer[:end].lower():
                    return True
            elif buffer.find(needle, 0, end) >= 0:
                return True
            start = min(kept, end)
            buffer[:start] = buffer[end - start : end]
    return False


def ruled_out(folder: Path, pattern: Pattern) -> set[FileKey]:
    """Return the packed files of a session's folder that cannot contain a match."""
    if pattern.needle is None:
        return set()
    listed: set[FileKey] = set()
    possible: set[FileKey] = set()
    for path in packs(folder):
        if not path.name.endswith(SEGMENT_SUFFIX):
            continue
        try:
            segment = Segment(path)
            found = _possible(segment, pattern)
        except (OSError, PackDamaged):
            continue
        listed |= segment.by_key.keys()
        possible |= found
    return listed - possible


def _possible(segment: Segment, pattern: Pattern) -> set[FileKey]:
    streams = {stream: _searched(segment, stream, pattern) for stream in (REQUESTS, RESPONSES)}
    found = set()
    for key, name in segment.by_key.items():
        searched = streams[stream_of(name)]
        if searched is None or searched.may_match(segment.ranges(name)):
            found.add(key)
    return found


type _Range = tuple[int, int]  # start and length
_NOTHING = (0, 0)


class _SearchedStream:
    """A stream's content, and where in it the needle is."""

    def __init__(self, data: bytes, needle: bytes, places: list[int]) -> None:
        self._data, self._needle, self._places = data, needle, places
        # Ranges in a row that are known not to have the needle across them: requests repeat most.
        self._plain: set[tuple[_Range, _Range, _Range]] = set()

    def may_match(self, ranges: list[_Range]) -> bool:
        """Whether a file of these ranges contains the needle."""
        size = len(self._needle)
        if self._places and any(self._is_in(*place) for place in ranges):
            return True
        is_short = bytes([length < size for _, length in ranges])
        if b"\1\1" in is_short:  # the needle may be in more than three ranges
            parts = [self._data[start : start + length] for start, length in ranges]
            return self._needle in b"".join(parts)
        rows = set(zip(ranges, ranges[1:], [*ranges[2:], _NOTHING], strict=False)) - self._plain
        if any(self._needle in self._window(*row) for row in rows):
            return True
        self._plain |= rows
        return False

    def _is_in(self, start: int, length: int) -> bool:
        at = bisect_left(self._places, start)
        fits = at < len(self._places)
        return fits and self._places[at] + len(self._needle) <= start + length

    def _window(self, first: _Range, second: _Range, third: _Range) -> bytes:
        """Return the text around the end of the first range; the next row has that of the second.

        The needle may go on in the third range only if the second is shorter.
        """
        data, kept = self._data, len(self._needle) - 1
        end = first[0] + first[1]
        window = data[max(first[0], end - kept) : end]
        window += data[second[0] : second[0] + min(kept, second[1])]
        if second[1] <= kept:
            window += data[third[0] : third[0] + min(kept, third[1])]
        return window


def _searched(segment: Segment, stream: int, pattern: Pattern) -> _SearchedStream | None:
    """Return a stream as it was searched; None if each of its files may match."""
    needle, size = pattern.needle, segment.sizes[stream]
    if needle is None or size > _LARGEST_STREAM:
        return None
    try:
        data = segment.content(stream, [(0, size)])
    except PackDamaged:
        return None
    data = data.lower() if pattern.ignore_case else data
    places: list[int] = []
    at = data.find(needle)
    while at >= 0:
        places.append(at)
        if len(places) > _MOST_PLACES:
            return None
        at = data.find(needle, at + 1)
    return _SearchedStream(data, needle, places)
