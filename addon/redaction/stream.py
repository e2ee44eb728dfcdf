"""Finds secrets that are split over several events of a stream, or over two content blocks."""

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from addon.redaction.learned import is_token
from addon.redaction.redactor import Redactor

# The rest of a secret: letters and digits, or capitals within a word.
_REST = re.compile(
    rb"(?=[A-Za-z_\-+/=.]*+[0-9]|[A-Z0-9_\-+/=.]*+[a-z]++[A-Z])[A-Za-z0-9_\-+/=.]{6,}"
)
_SHORTEST_CUT = 8  # a shorter beginning is also that of ordinary words


@dataclass(slots=True)
class _Held[T]:
    item: T
    piece: bytes = b""
    is_settled: bool = True
    is_first: bool = False  # of a block that follows an open text of another one


class _Text(NamedTuple):
    block: int | None
    field: str


class DeltaRedactor[T]:
    """Takes items with pieces of text, and returns in order those that are safe to write.

    An item is held back only while its text may end in an unfinished secret. Items that contain a
    secret are rebuilt by `rewrite(item, text)`: the first gets the redacted text, because the
    splits within a secret cannot be kept. The pieces of one field of one block form one text; if it
    ends within a secret, the next block may contain the rest.
    """

    def __init__(self, redactor: Redactor, rewrite: Callable[[T, str], T]) -> None:
        self._redactor = redactor
        self._rewrite = rewrite
        self._queue: deque[_Held[T]] = deque()
        self._open: dict[_Text, list[_Held[T]]] = {}
        self._running: set[_Text] = set()  # whose secret any token character continues
        self._carried: list[_Held[T]] = []  # of a block that ended within a secret

    @property
    def is_open(self) -> bool:
        return bool(self._open or self._carried)

    def push(
        self, item: T, block: int | None, name: str, piece: str, is_clean: bool = False
    ) -> list[T]:
        """Add an item with a piece of text; `is_clean` if it is known to contain no literal."""
        data = piece.encode("utf-8", "surrogatepass")
        is_plain = not self._queue and (is_clean or not self._redactor.is_suspect(data))
        if is_plain and self._redactor.unfinished(data) is None:
            return [item]  # the usual case
        text = _Text(block, name)
        held = _Held(item, data, is_settled=False)
        self._queue.append(held)
        if self._carried and text not in self._open:
            held.is_first = True
            self._open[text], self._carried = self._carried, []
        pieces = self._open.setdefault(text, [])
        pieces.append(held)
        if text not in self._running or not is_token(held.piece):
            self._look(text, pieces)
        return self._ready()

    def other(self, item: T) -> list[T]:
        """Add an item without text; a secret may continue after it."""
        self._queue.append(_Held(item))
        return self._ready()

    def end(self, block: int | None) -> None:
        """End a block; a secret that it ends within may continue in the next one."""
        for text in [text for text in self._open if text.block == block]:
            self._running.discard(text)
            self._carried += self._open.pop(text)

    def end_all(self) -> list[T]:
        """End the last block, and return the remaining items."""
        pieces, self._carried = self._carried, []
        self._settle(pieces, b"".join(held.piece for held in pieces))
        return self._ready()

    def flush(self) -> list[T]:
        """End the stream and return the remaining items; a secret that it cut off is replaced."""
        if self._carried:
            self._open[_Text(None, "")], self._carried = self._carried, []
        for text, pieces in list(self._open.items()):
            self._redact_cut(pieces)
            self._end(text)
        return self._ready()

    def _redact_cut(self, pieces: list[_Held[T]]) -> None:
        """Replace the beginning of a secret at the end of the pieces, which is no whole one."""
        so_far = b"".join(held.piece for held in pieces)
        found = self._redactor.unfinished(so_far)
        if found is None:
            return
        cut = so_far[found[0] :]
        clean = self._redactor.body(so_far)
        if len(cut) >= _SHORTEST_CUT and clean.endswith(cut):
            self._replace(pieces[0], clean.removesuffix(cut) + self._redactor.mark("cut", cut))
            for held in pieces[1:]:
                self._replace(held, b"")

    def _end(self, text: _Text) -> None:
        self._running.discard(text)
        pieces = self._open.pop(text)
        self._settle(pieces, b"".join(held.piece for held in pieces))

    def _look(self, text: _Text, pieces: list[_Held[T]]) -> None:
        so_far = b"".join(held.piece for held in pieces)
        found = self._redactor.unfinished(so_far)
        if found is None:
            self._end(text)
            return
        begins, is_running = found
        self._settle(pieces, so_far[:begins])
        self._open[text] = [held for held in pieces if not held.is_settled]
        if is_running:
            self._running.add(text)
        else:
            self._running.discard(text)

    def _settle(self, pieces: list[_Held[T]], text: bytes) -> None:
        """Redact the text at the start of the pieces, and mark those that end in it as settled."""
        if found := self._new_text(pieces, text):
            count, size = found
            self._settle(pieces[:count], text[:size])
            pieces[count].is_first = False
            self._settle(pieces[count:], text[size:])
            return
        clean = self._redactor.body(text)
        end = 0
        for held in pieces:
            start, end = end, end + len(held.piece)
            if clean != text:
                after = held.piece[max(0, len(text) - start) :]
                self._replace(held, (clean if held is pieces[0] else b"") + after)
            held.is_settled = end <= len(text)

    def _new_text(self, pieces: list[_Held[T]], text: bytes) -> tuple[int, int] | None:
        """Return the number and size of the pieces before a block that starts another text.

        It does if the text before ends in a whole secret, and the block starts with a word.
        """
        size = 0
        for count, held in enumerate(pieces):
            if held.is_first and 0 < size < len(text):
                before = self._redactor.body(text[:size])
                if before != text[:size] and not _REST.match(text, size):
                    return count, size
            size += len(held.piece)
        return None

    def _replace(self, held: _Held[T], piece: bytes) -> None:
        if piece != held.piece:
            held.piece = piece
            held.item = self._rewrite(held.item, piece.decode("utf-8", "surrogatepass"))

    def _ready(self) -> list[T]:
        ready = []
        while self._queue and self._queue[0].is_settled:
            ready.append(self._queue.popleft().item)
        return ready
