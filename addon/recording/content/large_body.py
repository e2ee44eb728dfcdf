"""Bodies too large for memory: redacted piece by piece, as lines for the part file. Pure.

A piece ends where no secret can be cut off. Text is kept; of anything else, only the keyed hash is,
as of a small body.
"""

import codecs
from collections.abc import Callable
from typing import Any

import orjson

from addon.recording.content.exchange_files import SpilledBody
from addon.redaction.fields import open_field
from addon.redaction.redactor import Redactor
from ccwire.wire.endpoints import CALL_KINDS
from ccwire.wire.json_text import dump
from ccwire.wire.vocabulary import EndpointKind

LARGEST_IN_MEMORY = 8 << 20
TEXT = "text"  # the field of a line

_PIECE = 1 << 20
_LONGEST_SECRET = 1 << 16  # a longer run of token characters is data
_SEPARATORS = b"\n,}"
_PREFIX, _SUFFIX = b'{"text":"', b'"}'


class LongText:
    """Redacts a text of any length: feed it bytes, it returns pieces that are safe to write."""

    def __init__(self, redact: Callable[[bytes], bytes], redactor: Redactor) -> None:
        self._redact = redact
        self._redactor = redactor
        self._waiting = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        self._waiting += data
        if len(self._waiting) < _PIECE:
            return []
        text = bytes(self._waiting)
        end = self._safe_end(text)
        del self._waiting[:end]
        return [self._redact(text[:end])]

    def flush(self) -> list[bytes]:
        text = bytes(self._waiting)
        self._waiting.clear()
        return [self._redact(text)] if text else []

    def _safe_end(self, text: bytes) -> int:
        """Return where the text can be cut: behind a separator, and before a secret's beginning."""
        behind = max(text.rfind(bytes([separator])) for separator in _SEPARATORS) + 1
        end = behind if behind > len(text) - _LONGEST_SECRET else len(text)
        before = max(0, end - _LONGEST_SECRET)
        last = text[before:end]
        secret, private = self._redactor.unfinished(last), open_field(last)
        begins = [at for at in (secret[0] if secret else None, private) if at is not None]
        return before + min(begins) if begins and before + min(begins) else end


class LargeBody:
    """A large body that is not a stream of events."""

    def __init__(self, redactor: Redactor, kind: EndpointKind) -> None:
        redact = redactor.body if kind in CALL_KINDS else redactor.telemetry
        self._text = LongText(redact, redactor)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_text = True
        self._hash = redactor.keyed_hash()

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines for the part file."""
        self._hash.update(data)
        return self._lines(self._text.feed(data), final=False) if self._is_text else []

    def finish(self, about: dict[str, Any]) -> dict[str, Any] | SpilledBody:
        """Return the `body` field; `about` contains what every body has."""
        last = self._lines(self._text.flush(), final=True) if self._is_text else []
        if not self._is_text:
            return about | {"type": "binary", "sha256": self._hash.hexdigest()}
        return text_body(about | {"type": "text"}, last)

    def _lines(self, pieces: list[bytes], *, final: bool) -> list[bytes]:
        lines = []
        for piece in pieces:
            try:
                text = self._decoder.decode(piece, final)
            except UnicodeDecodeError:
                text = "\0"
            if "\0" in text:
                self._is_text = False
                return []
            lines.append(_PREFIX + dump(text)[1:-1] + _SUFFIX)
        return lines


def text_body(fields: dict[str, Any], last: list[bytes]) -> SpilledBody:
    """Return a body whose text is in lines of the part file, and in these last ones."""
    start = orjson.dumps(fields).removesuffix(b"}") + b',"data":"'
    return SpilledBody(start, last, b"", b'"}', _PREFIX, _SUFFIX)
