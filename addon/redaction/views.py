"""A text as it reads once its escapes are decoded, and where each part of it is in the original.

JSON escapes and percent-encoding are decoded together, several times: a value may be JSON in a
string of JSON, or encoded twice.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_ESCAPE = re.compile(rb'\\(?:u([0-9A-Fa-f]{4})|(["\\/bfnrt]))|%([0-9A-Fa-f]{2})')
_LETTERS = dict(zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True))
_PAIR = re.compile(rb"\\.", re.DOTALL)
_DEEPEST = 6


class _Unit(NamedTuple):
    """An escape: its place and length in the decoded text, and its place before."""

    at: int
    size: int
    start: int
    end: int


class DecodedText:
    """A decoded text; `texts` are all those before it, the original first."""

    def __init__(self, text: bytes, texts: Sequence[bytes], levels: Sequence[list[_Unit]]) -> None:
        self.text = text
        self._texts = texts
        self._levels = levels

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """Return where a part of the text is in the original; it contains escapes as a whole.

        None if a string of JSON ends within it before all is decoded: it is no part of a value.
        """
        for text, units in zip(reversed(self._texts), reversed(self._levels), strict=True):
            start, end = _before(units, start)[0], _before(units, end - 1)[1]
            if b'"' in _PAIR.sub(b"", text[start:end]):
                return None
        return start, end


def views(data: bytes) -> Iterator[DecodedText]:
    """Decode the whole text, again and again until nothing changes."""
    texts: list[bytes] = []
    levels: list[list[_Unit]] = []
    text = data
    for _ in range(_DEEPEST):
        decoded, units = _decoded(text)
        if not units:
            return
        texts.append(text)
        levels.append(units)
        text = decoded
        yield DecodedText(text, list(texts), list(levels))


def regions(data: bytes, places: Sequence[int], around: int) -> Iterator[tuple[int, int]]:
    """Return the parts of the data around the places, merged where they meet."""
    start = end = -1
    for place in places:
        if end < 0 or place - around > end:
            if end >= 0:
                yield start, end
            start = _unit_start(data, max(0, place - around))
        end = min(len(data), place + around)
    if end >= 0:
        yield start, end


def _unit_start(data: bytes, place: int) -> int:
    """Return the place, or the first one before it that is not within an escape."""
    for shift in range(7):
        if place - shift <= 0 or data[place - shift - 1] not in b"\\u0123456789abcdefABCDEF%":
            return max(0, place - shift)
    return place


def _decoded(data: bytes) -> tuple[bytes, list[_Unit]]:
    parts: list[bytes] = []
    units: list[_Unit] = []
    done = size = 0
    for found in _ESCAPE.finditer(data):
        start, end = found.span()
        if found[1]:
            letter = chr(int(found[1], 16)).encode("utf-8", "surrogatepass")
        elif found[2]:
            letter = bytes((_LETTERS[found[2][0]],))
        else:
            letter = bytes((int(found[3], 16),))
        plain = data[done:start]
        size += len(plain)
        units.append(_Unit(size, len(letter), start, end))
        size += len(letter)
        parts += (plain, letter)
        done = end
    return b"".join((*parts, data[done:])), units


def _before(units: Sequence[_Unit], place: int) -> tuple[int, int]:
    """Return start and end, before decoding, of the character at a place of the decoded text."""
    index = bisect_right(units, place, key=lambda unit: unit.at) - 1
    if index < 0:
        return place, place + 1
    unit = units[index]
    if place < unit.at + unit.size:
        return unit.start, unit.end
    place += unit.end - unit.at - unit.size
    return place, place + 1
