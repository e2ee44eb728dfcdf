"""Replaces secrets in headers, URLs and bodies before anything is written.

Works on bytes: literals find candidates, regular expressions decide. A secret becomes
`<redacted:kind:hash>` with a keyed hash: equal secrets get equal hashes, and no part of a secret
remains. Bodies are not parsed.
"""

import base64
import hmac
import re
import urllib.parse
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from addon.redaction.headers import is_distinctive, is_secret, parts_of, secret_of
from addon.redaction.patterns import (
    ENCODED,
    ENCODED_LITERALS,
    LITERALS,
    LONGEST_SCHEME,
    OPEN_BEARER,
    SHORTEST_LEARNED,
    STREAMED,
    TO_STANDARD,
    TOKEN_BYTES,
    TOKEN_LITERALS,
    TOKENS,
    forms_of,
    heads_of,
    kind_of,
    starts_of,
)

_MOST_LEARNED = 64  # of one kind
_MOST_SIGNATURES = 4  # each request has another one, and only its response repeats it
_SHORTEST_PASSWORD = 8
_SUSPECT = (*TOKEN_LITERALS, *ENCODED_LITERALS, b'"user_id"')
# The user's identity: metadata.user_id in both its forms, and the same ids as telemetry fields,
# also in JSON inside a string. Also the credentials of logins, in any form.
_USER_ID = re.compile(rb'"user_id"\s*:\s*"(?:[^"\\]|\\.)*+"')
_USER = re.compile(rb"\buser_([0-9A-Za-z\-]++)_account_([0-9A-Za-z\-]*+)(?=_session_)")
_OF_SESSION = re.compile(rb"_session_[A-Za-z0-9\-]+\Z")
_ID_NAME = (
    rb"device_?[iI][dD]|account_?(?:[uU][uU])?[iI][dD]|organization_?(?:[uU][uU])?[iI][dD]"
    rb"|email_?(?:[aA]ddress)?|user_?[iI][dD]"
    rb"|(?:access|refresh|id)_?[tT]oken|client_?[sS]ecret|code_?[vV]erifier|password"
)
_ID_KINDS = (
    *("device", "account", "organization", "email", "user", "token", "secret", "password"),
    *("signature", "credential", "key"),
)
_ID_FIELD = re.compile(rb'(")(%b)("\s*:\s*")(?!\{\\)((?:[^"\\]|\\.)++)(?=")' % _ID_NAME)
_NESTED_ID_FIELD = re.compile(
    rb'(?<!\\)(\\+")(%b)(\1\s*:\s*\1)((?:[^"\\]|\\+[^"\\])++)(?=\1)' % _ID_NAME
)
_URL_PART = re.compile(r"[^/?&=#;]+")
# In a URL also the parts of a signed one, and keys.
_SIGNED = (
    r"(?i:x-(?:amz|goog)-(?:signature|credential|security-token)|(?:api|subscription)?[-_]?key)"
)
# A gateway's key as a part of the path.
_URL_KEY = re.compile(r"(?<=/)(?i:sk|pk|key|token|api[-_]?key)[-_](?=[^/?#]*[0-9])[\w\-.~]{16,}+")
_URL_FIELD = re.compile(rf"((?<![^?&])({_ID_NAME.decode()}|code|sig|{_SIGNED})=)([^&#]++)")


class _Learned(NamedTuple):
    kind: str
    forms: list[bytes]
    mark: bytes


class Redactor:
    """Redacts with one key, and learns the secrets in headers to find them elsewhere."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._learned: OrderedDict[bytes, _Learned] = OrderedDict()
        self._starts = starts_of(STREAMED)
        self._heads = LITERALS  # that begin a secret which any token character may continue
        self.literals = _SUSPECT

    def body(self, data: bytes) -> bytes:
        """Redact a body, or one event of it."""
        if not self.is_suspect(data):
            return data
        for known in self._learned.values():
            for form in known.forms:
                if form in data:
                    data = data.replace(form, known.mark)
        data = self._tokens(data)
        if any(literal in data for literal in ENCODED_LITERALS):
            data = ENCODED.sub(self._encoded_key, data)
        if b'"user_id"' in data:
            data = _USER_ID.sub(lambda found: self._ids(found[0]), data)
        return data

    def is_suspect(self, data: bytes) -> bool:
        """Return whether the data contains a literal of any secret; most events contain none."""
        for literal in self.literals:  # noqa: SIM110 - a generator takes twice as long
            if literal in data:
                return True
        return False

    def telemetry(self, data: bytes) -> bytes:
        """Redact a telemetry body: also device, account and e-mail fields, and inside base64."""
        return self._ids(self.body(ENCODED.sub(self._encoded, data)))

    def text(self, value: str) -> str:
        """Redact a text; the result is always valid Unicode."""
        try:
            data = value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            data = value.encode("utf-8", "surrogatepass")
        return self.body(data).decode("utf-8", "replace")

    def url(self, value: str) -> str:
        """Redact a URL, a path or a form, including percent-encoded secrets."""
        clean = _URL_FIELD.sub(self._url_field, self.text(value))
        clean = _URL_KEY.sub(lambda found: self.mark("key", found[0].encode()).decode(), clean)
        return _URL_PART.sub(self._url_part, clean) if "%" in clean or "+" in clean else clean

    def headers(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Redact header values; those that are secret by name are replaced entirely."""
        pairs = list(pairs)
        for name, value in pairs:
            if is_secret(name.lower(), value):
                self.learn(name.lower(), value)
        return [(self.text(name), self._header(name.lower(), value)) for name, value in pairs]

    def mark(self, kind: str, secret: bytes) -> bytes:
        digest = hmac.new(self._key, secret, sha256).hexdigest()[:16]
        return f"<redacted:{kind}:{digest}>".encode()

    def keyed_hash(self) -> hmac.HMAC:
        """Return a hash to feed with data that is not redacted: guesses need the key."""
        return hmac.new(self._key, digestmod=sha256)

    def unfinished(self, text: bytes) -> tuple[int, bool] | None:
        """Return where a secret starts that may be cut off at the end of the text.

        The second value is whether any token character would continue that secret. Return None if
        the text ends in no secret.
        """
        tail = len(text.rstrip(TOKEN_BYTES))
        begins = [at for head in self._heads if (at := text.find(head, tail)) >= 0]
        if found := OPEN_BEARER.search(text, max(0, tail - LONGEST_SCHEME)):
            begins.append(found.start())
        is_running = bool(begins)
        if text.endswith(self._starts):
            longest = max(len(start) for start in self._starts if text.endswith(start))
            begins.append(len(text) - longest)
        return (self._outside(text, min(begins)), is_running) if begins else None

    def _outside(self, text: bytes, place: int) -> int:
        """Return the position, or the start of the learned secret that contains it."""
        for known in self._learned.values():
            for form in known.forms:
                at = text.find(form, max(0, place - len(form) + 1), place + len(form))
                if 0 <= at < place:
                    return self._outside(text, at)
        return place

    def _header(self, name: str, value: str) -> str:
        if not is_secret(name, value):
            return self.url(value)
        kind, text = secret_of(name, value)
        secret = text.encode("utf-8", "surrogateescape")
        known = self._learned.get(secret)
        return (known.mark if known else self.mark(kind, secret)).decode()

    def learn(self, name: str, value: str) -> None:
        """Learn the secrets in a header, `name` in lower case, to find them elsewhere."""
        kind, text = secret_of(name, value)
        if len(text) >= SHORTEST_LEARNED and is_distinctive(name, text):
            self._learn(kind, text)
        for kind, text in parts_of(name, value):
            if len(text) >= _SHORTEST_PASSWORD:
                self._learn(kind, text)

    def _learn(self, kind: str, text: str) -> None:
        secret = text.encode("utf-8", "surrogateescape")
        if secret in self._learned:
            self._learned.move_to_end(secret)
            return
        forms = [secret] if kind == "signature" else forms_of(text, secret)
        if not forms:
            return
        self._learned[secret] = _Learned(kind, forms, self.mark(kind, secret))
        same = [known for known, found in self._learned.items() if found.kind == kind]
        if len(same) > (_MOST_SIGNATURES if kind == "signature" else _MOST_LEARNED):
            del self._learned[same[0]]
        learned = [form for known in self._learned.values() for form in known.forms]
        self.literals = (*_SUSPECT, *learned)
        heads = heads_of(learned)
        self._heads = (*LITERALS, *set(heads).difference(learned))
        self._starts = starts_of([*STREAMED, *heads])

    def _url_field(self, found: re.Match[str]) -> str:
        if found[3].startswith("<redacted:"):
            return found[0]
        value = urllib.parse.unquote(found[3]).encode("utf-8", "surrogatepass")
        return found[1] + self.mark(_id_kind(found[2]), value).decode()

    def _url_part(self, found: re.Match[str]) -> str:
        for decode in (urllib.parse.unquote, urllib.parse.unquote_plus):
            decoded = decode(found[0])
            if (clean := self.text(decoded)) != decoded:
                return clean
        return found[0]

    def _encoded_key(self, found: re.Match[bytes]) -> bytes:
        holds = any(literal in found[0] for literal in ENCODED_LITERALS)
        return self.mark("encoded", found[0]) if holds else found[0]

    def _encoded(self, found: re.Match[bytes]) -> bytes:
        text = found[0].rstrip(b"=").replace(b"\\/", b"/").translate(TO_STANDARD)
        for start in range(4):  # the match may start before the base64 text does
            part = text[start : len(text) - ((len(text) - start) % 4 == 1)]
            inside = base64.b64decode(part + b"=" * (-len(part) % 4))
            if self.body(inside) != inside:
                return self.mark("encoded", found[0])
        return found[0]

    def _ids(self, data: bytes) -> bytes:
        data = _USER.sub(self._user, data)
        return _NESTED_ID_FIELD.sub(self._id_field, _ID_FIELD.sub(self._id_field, data))

    def _tokens(self, data: bytes) -> bytes:
        """Match only at literals: searching with the pattern alone takes fifty times as long."""
        places = {literal: at for literal in TOKEN_LITERALS if (at := data.find(literal)) >= 0}
        if not places:
            return data
        parts, done = [], 0
        while places:
            literal = min(places, key=places.__getitem__)
            at = places.pop(literal)
            if at >= done and (found := TOKENS.match(data, at)):
                parts += [data[done:at], self._token(found)]
                done = found.end()
            if (after := data.find(literal, max(at + 1, done))) >= 0:
                places[literal] = after
        return b"".join([*parts, data[done:]])

    def _token(self, found: re.Match[bytes]) -> bytes:
        if secret := found["anthropic"]:
            return self.mark(kind_of(secret), secret)
        if secret := found["jwt"]:
            return self.mark("jwt", secret)
        if secret := found["cloud"]:
            name, is_named, value = secret.partition(b"=")
            if name == b"Signature":
                return name + is_named + self.mark("signature", value)
            return self.mark(kind_of(secret), secret)
        if secret := found["bearer"]:
            return found["scheme"] + self.mark(kind_of(secret), secret)
        return found[0]

    def _user(self, found: re.Match[bytes]) -> bytes:
        account = self.mark("account", found[2]) if found[2] else b""
        return b"user_" + self.mark("device", found[1]) + b"_account_" + account

    def _id_field(self, found: re.Match[bytes]) -> bytes:
        value = found[4]
        if value.startswith((b"<redacted:", b"user_<redacted:")):
            return found[0]
        kind = _id_kind(found[2].decode())
        session = _OF_SESSION.search(value)  # keep the session id, which is evidence
        end = session.start() if session else len(value)
        return found[1] + found[2] + found[3] + self.mark(kind, value[:end]) + value[end:]


def _id_kind(name: str) -> str:
    return next((kind for kind in _ID_KINDS if kind in name.lower()), "code")
