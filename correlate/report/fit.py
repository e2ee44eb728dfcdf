"""Prepare captured text for display: control characters visible, long texts shortened. Pure.

Sizes are in bytes on the page, because the size of a report is limited.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ccwire.wire.safe_text import visible

type Clean = Callable[[str], str]

_ESCAPED = re.compile('[<>&"\\\\\n\t\u2028\u2029]')
_ESCAPE_SIZES = {
    "<": 5,
    ">": 5,
    "&": 5,
    '"': 1,
    "\\": 1,
    "\n": 1,
    "\t": 1,
    "\u2028": 3,
    "\u2029": 3,
}


@dataclass(frozen=True, slots=True)
class FittedText:
    """A text as shown on the page; `left_out` is the number of omitted characters."""

    text: str
    left_out: int = 0


def fitted(texts: Sequence[str], budget: int, clean: Clean = str) -> list[FittedText]:
    """Fit all texts into `budget` bytes: long ones are cut to the same length.

    `clean` redacts a text that will be cut, so that no part of a secret remains.
    """
    seen = [visible(text) for text in texts]
    sizes = [size_on_page(text) for text in seen]
    limit = _level(sizes, budget)
    for place, size in enumerate(sizes):
        if size > limit:
            seen[place] = visible(clean(texts[place]))
            sizes[place] = size_on_page(seen[place])
    limit = _level(sizes, budget)
    return [cut(text, limit) for text in seen]


def cut(text: str, limit: int) -> FittedText:
    """Return the longest prefix of a visible text that takes at most `limit` bytes."""
    kept = text[: max(limit, 0)]
    while kept and (size := size_on_page(kept)) > limit:
        kept = kept[: min(len(kept) - 1, len(kept) * limit // size)]
    return FittedText(kept, len(text) - len(kept))


def size_on_page(text: str) -> int:
    """Return the number of bytes in the page's JSON, where markup is escaped."""
    return len(text.encode()) + sum(_ESCAPE_SIZES[found] for found in _ESCAPED.findall(text))


def _level(sizes: Sequence[int], budget: int) -> int:
    """Return the greatest length such that all texts, cut to it, fit the budget."""
    left = budget
    for place, size in enumerate(ordered := sorted(sizes)):
        share = left // (len(ordered) - place)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)
