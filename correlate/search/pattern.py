"""What is searched for: matches text, and rules out files by their bytes before JSON is parsed.

JSON may write a character in several ways. So files are searched for the longest part of a literal
that every writer of JSON leaves as it is; where there is none, every file is parsed. Pure.
"""

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

# Characters that every writer of JSON writes as they are; some escape quotes, slashes or `<`.
_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;!?()\[\]{}#@%*|~^$-]+")

_GLOBAL_FLAGS = re.compile(r"((?:\(\?[a-zA-Z]+\))*)(.*)", re.DOTALL)
_FOLDED = re.compile("[iksIKS]")  # letters that other letters than ASCII ones are equal to


class PatternError(ValueError):
    """A pattern that cannot be searched for; the message names the reason."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern; `needle` is what the bytes of a file contain if its text may match."""

    given: str
    regex: bool = False
    ignore_case: bool = False
    word: bool = False
    compiled: re.Pattern[str] = field(init=False, repr=False, compare=False)
    needle: bytes | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "compiled", _compiled(self))
        object.__setattr__(self, "needle", _needle(self))

    def may_be_in(self, data: bytes) -> bool:
        """Whether a file or a line with these bytes may contain a match."""
        if self.needle is None:
            return True
        return self.needle in (data.lower() if self.ignore_case else data)


def _compiled(pattern: Pattern) -> re.Pattern[str]:
    if not pattern.given:
        raise PatternError("the pattern is empty")
    # An ASCII literal is compared as ASCII, as its bytes are: `k` is not the Kelvin sign.
    scope = "a" if not pattern.regex and pattern.given.isascii() and pattern.ignore_case else ""
    text = pattern.given if pattern.regex else f"(?{scope}:{re.escape(pattern.given)})"
    if pattern.word:
        flags, text = _GLOBAL_FLAGS.fullmatch(text).groups()  # type: ignore[union-attr]
        end = "\n" if "x" in flags else ""  # of a comment
        text = rf"{flags}(?<!\w)(?:{text}{end})(?!\w)"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a later Python may take otherwise
            return re.compile(text, re.MULTILINE | (re.IGNORECASE if pattern.ignore_case else 0))
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"not a regular expression: {error}") from None


def _needle(pattern: Pattern) -> bytes | None:
    required = _required(pattern) if pattern.regex else [pattern.given]
    runs = [run for part in required for run in _PLAIN.findall(part)]
    if pattern.ignore_case and (pattern.regex or not pattern.given.isascii()):
        runs = [run for part in runs for run in _FOLDED.split(part)]
    found = max(runs, key=len, default="").encode()
    return (found.lower() if pattern.ignore_case else found) or None


def _required(pattern: Pattern) -> list[str]:
    """Return the literals that every match of a regular expression contains, if any is known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parsed = _parser.parse(pattern.given)
    if parsed.state.flags & (re.IGNORECASE | re.LOCALE):
        return []
    return "".join(_characters(parsed)).split("\0")


def _characters(parsed: Any) -> Iterator[str]:
    """Yield the characters in a row; a NUL for what may match several things."""
    for operation, argument in parsed:
        if operation == _constants.LITERAL:
            yield chr(argument)
        elif operation == _constants.SUBPATTERN and not argument[1]:
            yield from _characters(argument[3])
        elif operation != _constants.AT:
            yield "\0"
