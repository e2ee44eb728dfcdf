"""Replaces secrets in headers, URLs and bodies before anything is written.

Finds secrets in a text as it is, and as it reads once its escapes are decoded; what is found is
replaced in the text itself, and all other bytes stay. A secret becomes `<redacted:kind:hash>` with
a keyed hash: equal secrets get equal hashes, and no part of a secret remains.
"""

import hmac
import re
import urllib.parse
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any, NamedTuple

from addon.redaction.encodings import ENCODED, base64_shapes, decoded_in
from addon.redaction.fields import (
    is_plain_key,
    is_private_parameter,
    kind_of_field,
    private_in,
    user_ids,
)
from addon.redaction.headers import identity_in, is_distinctive, is_secret, parts_of, secret_of
from addon.redaction.learned import LearnedSecrets
from addon.redaction.shapes import CANDIDATE, Scan, scan
from addon.redaction.unfinished import unfinished
from addon.redaction.views import DecodedText, regions, views
from ccwire.wire.json_text import dump, parse_json

_ENCODED_KEY = tuple(base64_shapes(b"sk-ant-"))
_SHORTEST_PASSWORD = 8
_AROUND = 512  # bytes on each side of an escape that are decoded
_LEARNED = 100  # the rank of a learned secret: above that of any shape
# The name of a parameter may be percent-encoded, too.
_URL_FIELD = re.compile(r"((?<![^?&;])([^?&;#=\s]++)=)([^&#\s]++)")
# A gateway's key as a part of the path.
_URL_KEY = re.compile(r"(?<=/)(?i:sk|pk|key|token|api[-_]?key)[-_](?=[^/?#]*[0-9])[\w\-.~]{16,}+")


class _Span(NamedTuple):
    """A part of the original to replace.

    Of two of the same length, the one of higher rank names the secret: it was decoded more often,
    or it is a learned one.
    """

    start: int
    end: int
    rank: int
    mark: bytes


class Redactor:
    """Redacts with one key, and learns the secrets in headers to find them elsewhere."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._learned = LearnedSecrets()

    def body(self, data: bytes) -> bytes:
        """Redact a body, or one event of it."""
        if not self.is_suspect(data):
            return data
        return _replaced(data, self._spans(data))

    def is_suspect(self, data: bytes) -> bool:
        """Return whether the data may contain a secret; most events do not."""
        return CANDIDATE.search(data) is not None or self._learned.is_in(data)

    @property
    def known(self) -> object:
        """Return an object that is another one after a secret was learned."""
        return self._learned.literals

    def telemetry(self, data: bytes) -> bytes:
        """Redact a telemetry body: also device, account and e-mail fields, and inside base64."""
        spans = self._spans(data)
        spans += self._private(data)
        for found in ENCODED.finditer(data):
            if any(self.body(inside) != inside for inside in decoded_in(found[0])):
                spans.append(_Span(*found.span(), 0, self.mark("encoded", found[0])))
        return _replaced(data, spans)

    def text(self, value: str) -> str:
        """Redact a text; the result is always valid Unicode."""
        try:
            data = value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            data = value.encode("utf-8", "surrogatepass")
        return self.body(data).decode("utf-8", "replace")

    def value(self, value: Any) -> Any:
        """Redact a JSON value, its names included; the value itself if it contains no secret."""
        data = dump(value)
        clean = self.body(data)
        return value if clean == data else parse_json(clean)

    def url(self, value: str) -> str:
        """Redact a URL, a path or a form, including percent-encoded secrets."""
        clean = _URL_FIELD.sub(self._url_field, self.text(value))
        clean = _URL_KEY.sub(lambda found: self.mark("key", found[0].encode()).decode(), clean)
        if "+" in clean and (decoded := clean.replace("+", " ")) != self.text(decoded):
            return self.text(decoded)
        return clean

    def headers(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Redact header values; those that are secret by name are replaced entirely."""
        pairs = list(pairs)
        self.learn_headers(pairs)
        return [(self.text(name), self._header(name.lower(), value)) for name, value in pairs]

    def mark(self, kind: str, secret: bytes) -> bytes:
        return f"<redacted:{kind}:{self.digest(secret)[:16]}>".encode()

    def digest(self, data: bytes) -> str:
        """Return a hash that nobody can compute without the key, equal for equal data."""
        return hmac.digest(self._key, data, "sha256").hex()

    def keyed_hash(self) -> hmac.HMAC:
        """Return such a hash, to feed with data piece by piece."""
        return hmac.new(self._key, digestmod=sha256)

    def unfinished(self, text: bytes) -> tuple[int, bool] | None:
        """Return where a secret starts that may be cut off at the end of the text.

        The second value is whether any token character would continue that secret. Return None if
        the text ends in no secret.
        """
        return unfinished(text, self._learned)

    def learn_headers(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Learn the secrets in those headers that are secret by name."""
        for name, value in pairs:
            if is_secret(name.lower(), value):
                self.learn(name.lower(), value)

    def learn(self, name: str, value: str) -> None:
        """Learn the secrets in a header, `name` in lower case, to find them elsewhere."""
        kind, text = secret_of(name, value)
        if is_distinctive(name, text):
            self._learn(kind, text, kind)
        for kind, text in parts_of(name, value):
            if len(text) >= _SHORTEST_PASSWORD:
                self._learn(kind, text, name if name == "set-cookie" else kind)

    def _learn(self, kind: str, text: str, group: str) -> None:
        self._learned.add(group, text, self.mark(kind, text.encode("utf-8", "surrogateescape")))

    def _header(self, name: str, value: str) -> str:
        if kind := identity_in(name):
            return self.mark(kind, value.encode("utf-8", "surrogateescape")).decode()
        if not is_secret(name, value):
            return self.url(value)
        kind, text = secret_of(name, value)
        secret = text.encode("utf-8", "surrogateescape")
        known = self._learned.get(secret)
        return (known.mark if known else self.mark(kind, secret)).decode()

    def _url_field(self, found: re.Match[str]) -> str:
        if found[3].startswith("<redacted:"):
            return found[0]
        name = _unquoted(found[2])
        if not is_private_parameter(name):
            return found[0]
        value = _unquoted(found[3]).encode("utf-8", "surrogatepass")
        return found[1] + self.mark(kind_of_field(name), value).decode()

    def _spans(self, data: bytes) -> list[_Span]:
        """Find the secrets in a text, and in the decoded text around each escape."""
        found = scan(data)
        spans = list(self._plain(data, found, 0))
        if found.has_user_id:
            for start, end in user_ids(data):
                spans += _moved(self._private(data[start:end]), start)
        if found.hiding:
            spans += self._hidden(data, found.hiding, spans)
        return spans

    def _plain(self, data: bytes, found: Scan, depth: int) -> Iterator[_Span]:
        for token in found.tokens:
            yield _Span(token.start, token.end, depth, self.mark(token.kind, token.secret))
        for start, end, mark in self._learned.find(data):
            yield _Span(start, end, _LEARNED + depth, mark)
        if found.is_encoded:
            for run in ENCODED.finditer(data):
                if any(literal in run[0] for literal in _ENCODED_KEY):
                    yield _Span(*run.span(), depth, self.mark("encoded", run[0]))

    def _hidden(self, data: bytes, places: list[int], plain: list[_Span]) -> Iterator[_Span]:
        """Find secrets in the decoded text around the places; `plain` are those found without."""
        around = max(_AROUND, self._learned.longest)
        done = 0
        for start, end in regions(data, places, around):
            if end <= done:
                continue
            # A secret that is found in part begins earlier, or ends later.
            start = min([start, *(span.start for span in plain if start <= span.end <= end)])
            while True:
                spans = list(_moved(self._decoded(data[start:end]), start))
                if end == len(data) or not any(span.end == end for span in spans):
                    break
                end = min(len(data), end + 4 * (end - start))
            yield from spans
            done = end

    def _decoded(self, data: bytes) -> Iterator[_Span]:
        for depth, view in enumerate(views(data), 1):
            spans = list(self._plain(view.text, scan(view.text), depth))
            for start, end in user_ids(view.text):
                if not is_plain_key(data, view, start):
                    spans += _moved(self._private(view.text[start:end]), start)
            yield from _originals(view, spans)

    def _private(self, data: bytes) -> Iterator[_Span]:
        """Find private fields, also in JSON inside strings."""
        for private in private_in(data):
            yield _Span(private.start, private.end, 0, self.mark(private.kind, private.value))
        for depth, view in enumerate(views(data), 1):
            found = [
                _Span(private.start, private.end, depth, self.mark(private.kind, private.value))
                for private in private_in(view.text)
            ]
            yield from _originals(view, found)


def _originals(view: DecodedText, spans: Iterable[_Span]) -> Iterator[_Span]:
    for span in spans:
        if place := view.span(span.start, span.end):
            yield _Span(*place, span.rank, span.mark)


def _moved(spans: Iterable[_Span], by: int) -> Iterator[_Span]:
    for span in spans:
        yield span._replace(start=span.start + by, end=span.end + by)


def _replaced(data: bytes, spans: Iterable[_Span]) -> bytes:
    """Replace the spans; of those that overlap, the longest one names the secret."""
    parts: list[bytes] = []
    done = 0
    ordered = sorted(spans)
    index = 0
    while index < len(ordered):
        best = ordered[index]
        start, end = best.start, best.end
        index += 1
        while index < len(ordered) and ordered[index].start < end:
            other = ordered[index]
            if _weight(other) > _weight(best):
                best = other
            end = max(end, other.end)
            index += 1
        parts += (data[done:start], best.mark)
        done = end
    return b"".join((*parts, data[done:]))


def _weight(span: _Span) -> tuple[int, int]:
    return span.end - span.start, span.rank


def _unquoted(text: str) -> str:
    """Return the text with its percent-encoding decoded, however often it was encoded."""
    for _ in range(4):
        text, before = urllib.parse.unquote_plus(text), text
        if text == before:
            break
    return text
