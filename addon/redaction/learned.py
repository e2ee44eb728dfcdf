"""The secrets that headers contained: searched for elsewhere, in plain text and encoded."""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from addon.redaction.encodings import forms_of
from addon.redaction.shapes import ALONE, shape_of

# Of each group, the newest are kept: each request has another signature, and each answer may have
# another cookie, which only that exchange repeats. These are not searched for in base64.
_MOST = {"signature": 4, "set-cookie": 4, "cookie": 8}
_MOST_OF_OTHERS = 64
_PLAIN = frozenset(("signature", "set-cookie"))
_LONGEST_HEAD = 64
_AT_WORD = re.compile(ALONE)
TOKEN_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~+/-=%\\"


class Learned(NamedTuple):
    """A secret: its group, the forms in which it is found, and its mark."""

    group: str
    forms: list[bytes]
    mark: bytes


class LearnedSecrets:
    """The newest secrets of each kind."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, Learned] = OrderedDict()
        self.literals: tuple[bytes, ...] = ()
        self.heads: tuple[bytes, ...] = ()  # that any token character may continue
        self.starts = Starts(())
        self.longest = 0

    def get(self, secret: bytes) -> Learned | None:
        return self._known.get(secret)

    def add(self, group: str, text: str, mark: bytes) -> None:
        secret = text.encode("utf-8", "surrogateescape")
        known = self._known.get(secret)
        if known and (group in _PLAIN or known.group not in _PLAIN):
            self._known.move_to_end(secret)
            return
        is_shaped = shape_of(secret) is not None
        if is_shaped and secret.startswith(b"sk-ant-"):
            return  # found in base64, too
        forms = [secret] if group in _PLAIN else forms_of(text, secret, is_shaped)
        self._known[secret] = Learned(group, forms, mark)
        same = [secret for secret, found in self._known.items() if found.group == group]
        if len(same) > _MOST.get(group, _MOST_OF_OTHERS):
            del self._known[same[0]]
        self.literals = tuple(form for known in self._known.values() for form in known.forms)
        self.longest = 3 * max(map(len, self.literals))  # each character may be percent-encoded
        heads = _heads_of(self.literals)
        self.heads = tuple(set(heads).difference(self.literals))
        self.starts = Starts(heads)

    def is_in(self, data: bytes) -> bool:
        for literal in self.literals:  # noqa: SIM110 - a generator takes twice as long
            if literal in data:
                return True
        return False

    def find(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Return start, end and mark of each occurrence."""
        for known in self._known.values():
            for form in known.forms:
                at = data.find(form)
                while at >= 0:
                    yield at, at + len(form), known.mark
                    at = data.find(form, at + len(form))

    def outside(self, text: bytes, place: int) -> int:
        """Return the position, or the start of the secret that contains it."""
        for form in self.literals:
            at = text.find(form, max(0, place - len(form) + 1), place + len(form))
            if 0 <= at < place:
                return self.outside(text, at)
        return place


class Starts:
    """The proper prefixes of some words: what a text ends with if one of them is cut off."""

    def __init__(self, words: Iterable[bytes], *, apart: bool = False) -> None:
        """Take the words; `apart` if each must be the start of a word in the text."""
        self._apart = apart
        self._all = {word[:size] for word in words for size in range(1, len(word))}
        self._ends = {start[-3:] for start in self._all}
        self._longest = max(map(len, self._all), default=0)

    def at_end(self, text: bytes) -> int | None:
        """Return where the longest prefix starts that the text ends with."""
        ends = self._ends
        if not (text[-3:] in ends or text[-2:] in ends or text[-1:] in ends):
            return None
        for size in range(min(self._longest, len(text)), 0, -1):
            at = len(text) - size
            if text[at:] in self._all and (not self._apart or _AT_WORD.match(text, at)):
                return at
        return None


def is_token(data: bytes) -> bool:
    """Return whether the data consists of token characters only."""
    return not data.strip(TOKEN_BYTES)


def _heads_of(secrets: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return what begins each secret: of a long one only so much as recognises it."""
    return tuple(
        secret[:_LONGEST_HEAD] if len(secret) > _LONGEST_HEAD and is_token(secret) else secret
        for secret in secrets
    )
