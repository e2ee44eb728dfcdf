"""Which files may contain a match, by their bytes alone: most are never parsed.

A segment stores once what requests repeat, so its streams are searched instead of its files. A file
is ruled out if no range of it, and no place where two of its ranges meet, has the pattern's needle.
"""

from bisect import bisect_left
from itertools import pairwise
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


class _SearchedStream:
    """A stream's content, and where in it the needle is."""

    def __init__(self, data: bytes, needle: bytes, places: list[int]) -> None:
        self._data, self._needle, self._places = data, needle, places
        self._plain: set[tuple[int, int]] = set()  # joints that are known not to have the needle

    def may_match(self, ranges: list[tuple[int, int]]) -> bool:
        """Whether a file of these ranges contains the needle."""
        size = len(self._needle)
        if min([length for _, length in ranges[1:-1]], default=size) < size:
            # The needle may be in more than two ranges.
            parts = (self._data[start : start + length] for start, length in ranges)
            return self._needle in b"".join(parts)
        if self._places and any(self._is_in(*place) for place in ranges):
            return True
        joints = ((a, b) for a, b in pairwise(ranges) if (a[0] + a[1], b[0]) not in self._plain)
        return any(self._is_across(*a, *b) for a, b in joints)

    def _is_in(self, start: int, length: int) -> bool:
        at = bisect_left(self._places, start)
        fits = at < len(self._places)
        return fits and self._places[at] + len(self._needle) <= start + length

    def _is_across(self, start: int, length: int, next_start: int, next_length: int) -> bool:
        kept = len(self._needle) - 1
        end = start + length
        before = self._data[max(start, end - kept) : end]
        found = (
            self._needle in before + self._data[next_start : next_start + min(kept, next_length)]
        )
        if not found and min(length, next_length) >= kept:
            self._plain.add((end, next_start))
        return found


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
