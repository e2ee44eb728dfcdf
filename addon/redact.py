"""Takes secrets out of headers, URLs and bodies before anything is written.

Works on bytes: literals find the candidates, a compiled pattern decides. A secret becomes
`<redacted:kind:hash>` with a keyed hash, so equal secrets stay equal and nothing of one remains.
Bodies are not parsed here. Every pattern takes time in proportion to the text, whatever it holds.
"""

import base64
import hmac
import json
import re
import urllib.parse
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256

SECRET_HEADERS = frozenset(
    ("authorization", "x-api-key", "cookie", "set-cookie", "proxy-authorization")
)

_ANTHROPIC = b"sk-ant-"
_JWT = b"eyJ"
_BEARERS = (b"Bearer", b"bearer", b"BEARER")

_TOKEN_LITERALS = (_ANTHROPIC, _JWT, *_BEARERS)
_SCHEME = rb"(?:[Bb]earer|BEARER)(?:\s|%20|\+|\\+[tnr])"
# A token ends where another begins, even where nothing stands between them.
_WORD = rb"(?:(?!%b|sk-ant-)[A-Za-z0-9_\-])" % _SCHEME
_TOKEN = rb"(?:(?!%b)(?:[A-Za-z0-9._~+/\-]|\\/|%%[0-9A-Fa-f]{2}))" % _SCHEME
# The last: a run that begins like a JWT and is none is passed over whole, as nothing in it is one.
_TOKENS = re.compile(
    rb"(?P<anthropic>sk-ant-%(word)b++)"
    rb"|(?P<jwt>eyJ%(word)b{6,}+\.%(word)b{6,}+\.%(word)b*+)"
    rb"|(?P<scheme>%(scheme)b{1,8})"
    rb"(?P<bearer>%(token)b{16,}+=*+|(?=[A-Za-z._~+/\-]*+[0-9])%(token)b{6,}+=*+)"
    rb"|eyJ%(word)b*+" % {b"word": _WORD, b"token": _TOKEN, b"scheme": _SCHEME}
)

# Who the user is: metadata.user_id in both its forms, and the same ids as fields of telemetry,
# there also in JSON that is itself a string.
_USER_ID = re.compile(rb'"user_id"\s*:\s*"(?:[^"\\]|\\.)*+"')
_USER = re.compile(rb"\buser_([0-9A-Za-z\-]++)_account_([0-9A-Za-z\-]*+)(?=_session_)")
_OF_SESSION = re.compile(rb"_session_[A-Za-z0-9\-]+\Z")
_ID_NAME = (
    rb"device_?[iI][dD]|account_?(?:[uU][uU])?[iI][dD]|organization_?(?:[uU][uU])?[iI][dD]"
    rb"|email_?(?:[aA]ddress)?|user_?[iI][dD]"
)
_ID_FIELD = re.compile(rb'(")(%b)("\s*:\s*")(?!\{\\)((?:[^"\\]|\\.)++)(?=")' % _ID_NAME)
_NESTED_ID_FIELD = re.compile(
    rb'(?<!\\)(\\+")(%b)(\1\s*:\s*\1)((?:[^"\\]|\\+[^"\\])++)(?=\1)' % _ID_NAME
)

# Base64 text, long enough to hold a secret.
_ENCODED = re.compile(rb"(?:[A-Za-z0-9+/_\-]|\\/){16,}+={0,2}")
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_TO_URL_SAFE = bytes.maketrans(b"+/", b"-_")

_URL_PART = re.compile(r"[^/?&=#;]+")

_SHORTEST_LEARNED = 12  # a shorter one may be an ordinary word, and words stay
_MOST_LEARNED = 64

# What a text may break off in: see `unfinished`.
_TOKEN_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~+/-=%\\"
_OPEN_BEARER = re.compile(rb"%b{0,8}[%b]*+\Z" % (_SCHEME, re.escape(_TOKEN_BYTES)))
_LONGEST_SCHEME = 64


class Redactor:
    """Redacts with one key, and learns the secrets that headers carry to find them elsewhere."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._learned: OrderedDict[bytes, tuple[list[bytes], bytes]] = OrderedDict()
        self._starts = _starts(_STREAMED)
        self._literals = _SUSPECT

    def body(self, data: bytes) -> bytes:
        """A body, whole or one event of it."""
        if not self.is_suspect(data):
            return data
        for forms, mark in self._learned.values():
            for form in forms:
                if form in data:
                    data = data.replace(form, mark)
        data = self._tokens(data)
        if any(literal in data for literal in _ENCODED_LITERALS):
            data = _ENCODED.sub(self._encoded_key, data)
        if b'"user_id"' in data:
            data = _USER_ID.sub(lambda found: self._ids(found[0]), data)
        return data

    def is_suspect(self, data: bytes) -> bool:
        """Whether any literal of a secret stands in it: most events have none, and are done."""
        for literal in self._literals:  # noqa: SIM110 - a generator takes twice as long
            if literal in data:
                return True
        return False

    def telemetry(self, data: bytes) -> bytes:
        """A body that is about the user: device, account and e-mail fields, base64 looked into."""
        return self._ids(self.body(_ENCODED.sub(self._encoded, data)))

    def text(self, value: str) -> str:
        """A message, a name; the result is always proper text."""
        try:
            data = value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            data = value.encode("utf-8", "surrogatepass")
        return self.body(data).decode("utf-8", "replace")

    def url(self, value: str) -> str:
        """A URL, a path or a form, whose parts may hide a secret behind percent signs."""
        clean = self.text(value)
        return _URL_PART.sub(self._url_part, clean) if "%" in clean or "+" in clean else clean

    def headers(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Header values; those that are secret by name go whole."""
        pairs = list(pairs)
        for name, value in pairs:
            if name.lower() in SECRET_HEADERS:
                self._learn(name.lower(), value)
        return [(self.text(name), self._header(name.lower(), value)) for name, value in pairs]

    def mark(self, kind: str, secret: bytes) -> bytes:
        digest = hmac.new(self._key, secret, sha256).hexdigest()[:16]
        return f"<redacted:{kind}:{digest}>".encode()

    def unfinished(self, text: bytes) -> tuple[int, bool] | None:
        """Where a secret that the text may break off in begins, and whether any token character
        would go on with it; None where the text can be looked at as it is."""
        tail = len(text.rstrip(_TOKEN_BYTES))
        begins = [at for literal in _LITERALS if (at := text.find(literal, tail)) >= 0]
        if found := _OPEN_BEARER.search(text, max(0, tail - _LONGEST_SCHEME)):
            begins.append(found.start())
        is_running = bool(begins)
        if text.endswith(self._starts):
            longest = max(len(start) for start in self._starts if text.endswith(start))
            begins.append(len(text) - longest)
        return (self._outside(text, min(begins)), is_running) if begins else None

    def _outside(self, text: bytes, place: int) -> int:
        """The place, or the start of a learned secret that it lies within."""
        for forms, _ in self._learned.values():
            for form in forms:
                at = text.find(form, max(0, place - len(form) + 1), place + len(form))
                if 0 <= at < place:
                    return self._outside(text, at)
        return place

    def _header(self, name: str, value: str) -> str:
        if name not in SECRET_HEADERS:
            return self.url(value)
        kind, secret = _secret_of(name, value)
        return self.mark(kind, secret.encode("utf-8", "surrogateescape")).decode()

    def _learn(self, name: str, value: str) -> None:
        kind, text = _secret_of(name, value)
        secret = text.encode("utf-8", "surrogateescape")
        if secret in self._learned:
            self._learned.move_to_end(secret)
            return
        if len(secret) < _SHORTEST_LEARNED or "cookie" in name:
            return
        forms = _forms(text, secret)
        if not forms:
            return
        self._learned[secret] = forms, self.mark(kind, secret)
        if len(self._learned) > _MOST_LEARNED:
            self._learned.popitem(last=False)
        learned = [form for forms, _ in self._learned.values() for form in forms]
        self._literals = (*_SUSPECT, *learned)
        self._starts = _starts([*_STREAMED, *learned])

    def _url_part(self, found: re.Match[str]) -> str:
        for decode in (urllib.parse.unquote, urllib.parse.unquote_plus):
            decoded = decode(found[0])
            if (clean := self.text(decoded)) != decoded:
                return clean
        return found[0]

    def _encoded_key(self, found: re.Match[bytes]) -> bytes:
        holds = any(literal in found[0] for literal in _ENCODED_LITERALS)
        return self.mark("encoded", found[0]) if holds else found[0]

    def _encoded(self, found: re.Match[bytes]) -> bytes:
        text = found[0].rstrip(b"=").replace(b"\\/", b"/").translate(_TO_STANDARD)
        for start in range(4):  # the run may have begun before the base64 did
            part = text[start : len(text) - ((len(text) - start) % 4 == 1)]
            inside = base64.b64decode(part + b"=" * (-len(part) % 4))
            if self.body(inside) != inside:
                return self.mark("encoded", found[0])
        return found[0]

    def _ids(self, data: bytes) -> bytes:
        data = _USER.sub(self._user, data)
        return _NESTED_ID_FIELD.sub(self._id_field, _ID_FIELD.sub(self._id_field, data))

    def _tokens(self, data: bytes) -> bytes:
        """Goes from literal to literal: the pattern alone takes fifty times as long."""
        places = {literal: at for literal in _TOKEN_LITERALS if (at := data.find(literal)) >= 0}
        if not places:
            return data
        parts, done = [], 0
        while places:
            literal = min(places, key=places.__getitem__)
            at = places.pop(literal)
            if at >= done and (found := _TOKENS.match(data, at)):
                parts += [data[done:at], self._token(found)]
                done = found.end()
            if (after := data.find(literal, max(at + 1, done))) >= 0:
                places[literal] = after
        return b"".join([*parts, data[done:]])

    def _token(self, found: re.Match[bytes]) -> bytes:
        if secret := found["anthropic"]:
            return self.mark(_kind_of(secret), secret)
        if secret := found["jwt"]:
            return self.mark("jwt", secret)
        if secret := found["bearer"]:
            return found["scheme"] + self.mark(_kind_of(secret), secret)
        return found[0]

    def _user(self, found: re.Match[bytes]) -> bytes:
        account = self.mark("account", found[2]) if found[2] else b""
        return b"user_" + self.mark("device", found[1]) + b"_account_" + account

    def _id_field(self, found: re.Match[bytes]) -> bytes:
        name, value = found[2].lower(), found[4]
        if value.startswith((b"<redacted:", b"user_<redacted:")):
            return found[0]
        kind = next(
            (k for k in ("device", "account", "organization", "email") if k.encode() in name),
            "user",
        )
        session = _OF_SESSION.search(value)  # what is evidence stays
        end = session.start() if session else len(value)
        return found[1] + found[2] + found[3] + self.mark(kind, value[:end]) + value[end:]


def auth_kind(headers: Iterable[tuple[str, str]]) -> str:
    """How a request says who pays: api_key, oauth or none."""
    names = {name.lower() for name, _ in headers}
    if "x-api-key" in names:
        return "api_key"
    return "oauth" if "authorization" in names else "none"


def is_token(data: bytes) -> bool:
    """Whether nothing in it ends a token."""
    return not data.strip(_TOKEN_BYTES)


def _secret_of(name: str, value: str) -> tuple[str, str]:
    """Kind and secret part of a secret header: equal secrets are equal wherever they stand."""
    scheme, _, rest = value.partition(" ")
    secret = rest.strip() if rest and scheme.lower() in ("bearer", "basic") else value
    if name in ("authorization", "x-api-key"):
        usual = "api_key" if name == "x-api-key" else "bearer"
        return _kind_of(secret.encode("utf-8", "surrogateescape"), usual), secret
    return name.removeprefix("set-").replace("-", "_"), secret


def _kind_of(secret: bytes, usual: str = "bearer") -> str:
    if secret.startswith(b"sk-ant-o"):
        return "oauth"
    if secret.startswith(_ANTHROPIC):
        return "api_key"
    return "jwt" if secret.startswith(_JWT) and secret.count(b".") == 2 else usual


def _forms(text: str, secret: bytes) -> list[bytes]:
    """What to look for to find a secret that the patterns alone would miss."""
    token = _TOKENS.fullmatch(secret)
    if token and token["anthropic"]:
        return []
    forms = [shape for shape in _base64_shapes(secret) if len(shape) >= _SHORTEST_LEARNED]
    if not (token and token["jwt"]):
        forms.append(secret)
        forms += {
            json.dumps(text)[1:-1].encode(),
            json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape"),
            urllib.parse.quote_from_bytes(secret, safe="").encode(),
        } - {secret}
    return sorted(forms, key=len, reverse=True)  # the longest first: it may hold a shorter one


def _base64_shapes(secret: bytes) -> list[bytes]:
    """The parts of base64 text that any text holding the secret must contain, by alignment."""
    shapes: list[bytes] = []
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + secret)
        start = -(-shift * 8 // 6)
        whole = (shift + len(secret)) * 8 // 6
        core = encoded[start:whole]
        shapes += {core, core.translate(_TO_URL_SAFE)}
    return shapes


def _starts(secrets: Iterable[bytes]) -> tuple[bytes, ...]:
    """All that a text can end with when it breaks off inside one of these."""
    return tuple({secret[:size] for secret in secrets for size in range(1, len(secret))})


_ENCODED_LITERALS = tuple(_base64_shapes(_ANTHROPIC))
_LITERALS = (_ANTHROPIC, _JWT, *_ENCODED_LITERALS)
_STREAMED = (*_LITERALS, *_BEARERS)
_SUSPECT = (*_TOKEN_LITERALS, *_ENCODED_LITERALS, b'"user_id"')
