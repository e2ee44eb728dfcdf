"""Generate replacement text: equal texts get equal replacements of the same length. Pure.

Names, ids and paths are replaced piece by piece, so that equal pieces stay equal and folder
structure is kept; pieces and short texts keep their shape. Longer texts become letters and spaces.
Replacements come from a keyed hash, so without the key a guess cannot be verified.
"""

import hashlib
import re
from collections.abc import Iterable

from ccwire.wire.format import is_run_id
from correlate.schema.observe.vocabulary import words

_SHORT = 64  # in a longer text, word lengths are not kept either
_SHORTEST_WORD = 4
_TRIES = 64

# Letters that form no words on their own; hex digits have a separate set.
_LOWER, _UPPER = "jkpqvxyz", "JKPQVXYZ"
_HEX = "bcf"
_DIGITS = "0123456789"
# Short pieces may use any letter, except those that would turn a number into a duration.
_ALL_LOWER, _ALL_UPPER = "abcefgijklnopqrtuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Replacements for non-ASCII characters, by their length in UTF-8.
_BEYOND = {
    2: "".join(map(chr, range(0x250, 0x260))),
    3: "".join(map(chr, range(0x2580, 0x2590))),
    4: "".join(map(chr, range(0x1F0A1, 0x1F0AF))),
}
_FILLER = bytes((_LOWER + "  ")[byte % 10].encode()[0] for byte in range(256))
_STAYS_IN_FILLER = re.compile(r'[^ -~]|["\\]')

_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_PIECES = re.compile(rf"(<redacted:[a-z_]+:|{_UUID}|__|[/\\.:=;,])")
_IS_UUID = re.compile(_UUID)
_SPACE = re.compile(r"\s")
_PATH = re.compile(r"(?:~|\.{1,2})?/[^\n]*|[A-Za-z]:[\\/][^\n]*")
_LONGEST_PATH = 4096
_KEPT_PIECES = words("projects sessions subagents workflows claude jsonl json meta tmp mcp")
_HEX_LIKE = re.compile(r"(?=[a-f-]*\d)[0-9a-f-]{8,}|[0-9a-f]{16,}|" + _UUID)
_CHANGEABLE = re.compile(r"[0-9A-Za-z]|[^\x00-\x7f]")
_PREFIX = re.compile(r"agent-|claude-|run-(?=\d{8}-)|(?:msg|req|toolu|srvtoolu|wf|user)_(?=\w*\d)")


class Names:
    """The replacement names of one copy; pinned names take precedence."""

    def __init__(self, key: bytes, never: Iterable[str] = ()) -> None:
        """`never`: words with a meaning in the format, which no replacement may equal."""
        self._key = key
        self._never = frozenset(never)
        self._pieces: dict[str, str] = {}
        self._taken: set[str] = set()
        self._known: dict[str, str] = {}

    def text(self, value: str) -> str:
        """Return a replacement of the same length in characters and bytes for any text."""
        is_path = len(value) <= _LONGEST_PATH and _PATH.fullmatch(value)
        if len(value) > _SHORT and not is_path:
            return self._filler(value)
        return self.name(value) if is_path or not _SPACE.search(value) else self._whole(value)

    def name(self, value: str) -> str:
        """Return a name, an id or a path with each of its pieces replaced."""
        known = self._known.get(value)
        if known is None:
            parts = _PIECES.split(value)
            alone = len(parts) == 1
            known = "".join(
                self._piece(part, alone) if place % 2 == 0 or _IS_UUID.fullmatch(part) else part
                for place, part in enumerate(parts)
            )
            self._known[value] = known
        return known

    def pin(self, old: str, new: str) -> None:
        """Fix the replacement of a piece."""
        self._pieces[old] = new
        self._taken.add(new)
        self._known.clear()

    def pin_in_order(self, values: Iterable[str]) -> None:
        """Replace these ids so that those of equal length keep their sort order."""
        by_length: dict[int, list[str]] = {}
        for value in sorted(set(values)):
            if _IS_UUID.fullmatch(value) or not (_PIECES.search(value) or is_run_id(value)):
                by_length.setdefault(len(value), []).append(value)
        for olds in by_length.values():
            for old, new in zip(olds, sorted(map(self._whole, olds)), strict=True):
                self.pin(old, new)

    def number(self, digits: str) -> str:
        """Return a number with other digits, keeping zeros, sign, point and exponent."""
        if len(digits) < _SHORTEST_WORD:
            return digits
        noise = self._noise(f"number {digits}", len(digits))
        return "".join(
            str(noise[place] % 9 + 1) if char.isdigit() and char != "0" else char
            for place, char in enumerate(digits)
        )

    def _piece(self, piece: str, alone: bool) -> str:
        known = self._pieces.get(piece)
        if known is not None:
            return known
        if not piece or (alone and len(piece) < _SHORTEST_WORD and piece.isdigit()):
            return piece
        if not alone and piece in _KEPT_PIECES:
            return piece
        if prefix := _PREFIX.match(piece):
            return prefix[0] + self._piece(piece[prefix.end() :], False)
        return self._whole(piece)

    def _whole(self, piece: str) -> str:
        """Return a replacement of the same shape, unique as long as one is available."""
        new = self._pieces.get(piece)
        if not _CHANGEABLE.search(piece):
            return piece
        if new is None:
            for attempt in range(_TRIES):
                new = self._shaped(piece, attempt)
                if new not in self._taken and new not in self._never and new != piece:
                    break
            assert new is not None
            self._taken.add(new)
            self._pieces[piece] = new
        return new

    def _shaped(self, piece: str, attempt: int) -> str:
        noise = self._noise(f"{attempt} {piece}", len(piece))
        if _HEX_LIKE.fullmatch(piece):
            lower = upper = _HEX
        elif len(piece) < _SHORTEST_WORD:
            lower, upper = _ALL_LOWER, _ALL_UPPER
        else:
            lower, upper = _LOWER, _UPPER
        return "".join(_other(char, noise[place], lower, upper) for place, char in enumerate(piece))

    def _filler(self, text: str) -> str:
        noise = self._noise(text, len(text))
        filler = noise.translate(_FILLER).decode("ascii")
        parts: list[str] = []
        end = 0
        for found in _STAYS_IN_FILLER.finditer(text):
            start = found.start()
            parts.append(filler[end:start])
            parts.append(_other(found[0], noise[start], "", ""))
            end = start + 1
        return "".join((*parts, filler[end:]))

    def _noise(self, seed: str, length: int) -> bytes:
        digest = hashlib.blake2b(seed.encode("utf-8", "surrogatepass"), key=self._key)
        return hashlib.shake_128(digest.digest()).digest(length)


def _other(char: str, noise: int, lower: str, upper: str) -> str:
    """Return another character of the same kind; punctuation, line ends and surrogates are kept."""
    if char.isascii():
        if char.isdigit():
            return _DIGITS[noise % 10]
        if char.islower():
            return lower[noise % len(lower)]
        return upper[noise % len(upper)] if char.isupper() else char
    if "\ud800" <= char <= "\udfff":
        # An invalid UTF-8 byte becomes another one; its value could reveal something.
        return "\udcff" if char >= "\udc80" else char
    beyond = _BEYOND[len(char.encode())]
    return beyond[noise % len(beyond)]
