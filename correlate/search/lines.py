"""The lines of a text that match, cut to what is worth printing. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MOST_LINES = 5  # of a text that are kept
_LONGEST_LINE = 240
_BEFORE = 80  # characters kept before the match in a longer line


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a text; `spans` are the matches in it, none in a line of context."""

    number: int
    text: str
    spans: tuple[tuple[int, int], ...] = ()


def matching_lines(
    words: str, matches: Iterator[re.Match[str]], context: int, most: int = _MOST_LINES
) -> tuple[tuple[Line, ...], int]:
    """Return the first lines that match, each with the lines around it, and how often all match.

    A text may be one line of megabytes with a match at every character: each is looked at once.
    """
    spans: dict[int, list[tuple[int, int]]] = {}
    number = start_of = times = 0
    feed = words.find("\n")  # the end of the line
    for match in matches:
        times += 1
        start, end = match.span()
        while 0 <= feed < start:
            number, start_of = number + 1, feed + 1
            feed = words.find("\n", start_of)
        found = spans.setdefault(number, [])
        if not found or start - start_of - found[0][0] < _LONGEST_LINE:  # else it is cut off
            found.append((start - start_of, end - start_of))
        if len(spans) > most:
            spans.popitem()
            times += sum(1 for _ in matches)
    lines = words.split("\n")
    shown = {n for hit in spans for n in range(hit - context, hit + context + 1)}
    kept = sorted(n for n in shown if 0 <= n < len(lines))
    return tuple(_cut(n + 1, lines[n], spans.get(n, [])) for n in kept), times


def _cut(number: int, line: str, spans: list[tuple[int, int]]) -> Line:
    inside = [(start, min(end, len(line))) for start, end in spans if start <= len(line)]
    if len(line) <= _LONGEST_LINE:
        return Line(number, line, tuple(inside))
    first = max(0, inside[0][0] - _BEFORE) if inside else 0
    last = min(len(line), first + _LONGEST_LINE)
    head = "…" if first else ""
    shift = len(head) - first
    kept = [(s + shift, min(e, last) + shift) for s, e in inside if s < last]
    return Line(number, head + line[first:last] + ("…" if last < len(line) else ""), tuple(kept))
