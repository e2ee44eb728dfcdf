"""Makes captured text fit to be shown: control characters visible, long texts cut. Pure.

Sizes are in bytes of the page, since that is what a report must not have too many of.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ccwire.wire.safe_text import visible

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
    """A text as the page has it; `left_out` is how many characters did not fit."""

    text: str
    left_out: int = 0


def fitted(texts: Sequence[str], budget: int) -> list[FittedText]:
    """All texts within `budget` bytes: short ones whole, the long ones to the same length."""
    seen = [visible(text) for text in texts]
    limit = _level([size_on_page(text) for text in seen], budget)
    return [cut(text, limit) for text in seen]


def cut(text: str, limit: int) -> FittedText:
    """As much of a visible text's beginning as takes no more than `limit` bytes."""
    kept = text[: max(limit, 0)]
    while kept and (size := size_on_page(kept)) > limit:
        kept = kept[: min(len(kept) - 1, len(kept) * limit // size)]
    return FittedText(kept, len(text) - len(kept))


def size_on_page(text: str) -> int:
    """Bytes in the page's JSON, where markup is escaped."""
    return len(text.encode()) + sum(_ESCAPE_SIZES[found] for found in _ESCAPED.findall(text))


def _level(sizes: Sequence[int], budget: int) -> int:
    """The greatest length such that texts cut to it fit together."""
    left = budget
    for place, size in enumerate(ordered := sorted(sizes)):
        share = left // (len(ordered) - place)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)
