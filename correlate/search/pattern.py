"""What is searched for: matches text, and rules out files by their bytes before JSON is parsed.

JSON may write a character in several ways. So files are searched for the longest part of a literal
that every writer of JSON leaves as it is; where there is none, every file is parsed. Pure.
"""

import re
from dataclasses import dataclass, field

# Characters that every writer of JSON writes as they are; some escape quotes, slashes or `<`.
_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;!?()\[\]{}#@%*|~^$-]+")


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
    text = pattern.given if pattern.regex else re.escape(pattern.given)
    # An ASCII literal is compared as ASCII, as its bytes are: `k` is not the Kelvin sign.
    is_plain = not pattern.regex and pattern.given.isascii()
    flags = ("a" if is_plain else "") + "i" if pattern.ignore_case else ""
    text = f"(?{flags}:{text})"
    if pattern.word:
        text = rf"(?<!\w){text}(?!\w)"
    try:
        return re.compile(text, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"not a regular expression: {error}") from None


def _needle(pattern: Pattern) -> bytes | None:
    if pattern.regex or (pattern.ignore_case and not pattern.given.isascii()):
        return None
    longest = max(_PLAIN.findall(pattern.given), key=len, default="")
    found = longest.encode()
    return (found.lower() if pattern.ignore_case else found) or None
