"""Makes captured text fit to be shown: control characters visible, long texts cut. Pure.

Sizes are in bytes of the page, since that is what a report must not have too many of.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# Controls (tab and line feed aside), and what would turn the reading direction of all that follows.
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LONE_RETURN = re.compile("\r(?!\n)")
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
class Shown:
    """A text as the page has it; `left_out` is how many characters did not fit."""

    text: str
    left_out: int = 0


def visible(text: str) -> str:
    """The text with nothing in it that a reader could not see; lone surrogates too are shown."""
    text = _LONE_RETURN.sub("␍", text.replace("\r\n", "\n"))
    text = _UNSEEN.sub(_picture, text)
    return text.encode("utf-8", "backslashreplace").decode()


def fitted(texts: Sequence[str], budget: int) -> list[Shown]:
    """All texts within `budget` bytes: short ones whole, the long ones to the same length."""
    seen = [visible(text) for text in texts]
    limit = _level([size_on_page(text) for text in seen], budget)
    return [cut(text, limit) for text in seen]


def cut(text: str, limit: int) -> Shown:
    """As much of a visible text's beginning as takes no more than `limit` bytes."""
    kept = text[: max(limit, 0)]
    while kept and (size := size_on_page(kept)) > limit:
        kept = kept[: min(len(kept) - 1, len(kept) * limit // size)]
    return Shown(kept, len(text) - len(kept))


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


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
