"""Takes secrets out of headers, URLs and bodies before anything is written.

Works on bytes: literals find the candidates, a compiled pattern decides. A secret becomes
`<redacted:kind:hash>` with a keyed hash, so equal secrets stay equal and nothing of one remains.
Bodies are not parsed here.
"""

import base64
import hmac
import json
import re
from collections.abc import Callable, Iterable
from hashlib import sha256

SECRET_HEADERS = frozenset(
    ("authorization", "x-api-key", "cookie", "set-cookie", "proxy-authorization")
)

# The literals that any token must contain, then the pattern that decides.
_TOKEN_LITERALS = (b"sk-ant-", b"eyJ", b"earer")
_TOKENS = re.compile(
    rb"(?P<anthropic>sk-ant-[A-Za-z0-9_\-]+)"
    rb"|(?P<jwt>eyJ[A-Za-z0-9_\-]{6,}\.[A-Za-z0-9_\-]{6,}\.[A-Za-z0-9_\-]*)"
    rb"|(?P<scheme>[Bb]earer(?:\s|%20|\+|\\[tnr])+)"
    rb"(?P<bearer>[A-Za-z0-9._~+/\-]{16,}=*"
    rb"|(?=[A-Za-z._~+/\-]*[0-9])[A-Za-z0-9._~+/\-]{6,}=*)"
)

# Who the user is: metadata.user_id in both its forms, and the same ids as fields of telemetry.
_USER_ID = re.compile(rb'"user_id"\s*:\s*"(?:[^"\\]|\\.)*"')
_USER = re.compile(rb"\buser_([0-9a-f]{16,})_account_([0-9A-Za-z\-]*)(?=_session_)")
_ID_FIELDS = re.compile(
    rb'(\\*")(device_?[iI][dD]|account_?[uU][uU][iI][dD]|account_?[iI][dD]'
    rb"|organization_?[uU][uU][iI][dD]|email_?(?:[aA]ddress)?|user_?[iI][dD])"
    rb'(\1\s*:\s*\1)([^"\\]+)(?=\1)'
)

# Base64 text, long enough to hold a secret.
_ENCODED = re.compile(rb"[A-Za-z0-9+/_\-]{20,}={0,2}")

# A secret that the text so far may not have finished; used to hold a stream back.
_OPEN = re.compile(
    rb"(?:sk-ant-[A-Za-z0-9_\-]*"
    rb"|eyJ[A-Za-z0-9_\-.]*"
    rb"|[Bb]earer(?:\s|\\[tnr])+[A-Za-z0-9._~+/\-=]*)$"
)
_OPEN_PREFIX = re.compile(
    rb"(?:s|sk|sk-|sk-a|sk-an|sk-ant|e|ey|[Bb]|[Bb]e|[Bb]ea|[Bb]ear|[Bb]eare|[Bb]earer)$"
)
_TOKEN_ONLY = re.compile(rb"[A-Za-z0-9._~+/\-=]+")

_SHORTEST_LEARNED = 12  # a shorter one may be an ordinary word, and words stay
_MOST_LEARNED = 64


class Redactor:
    """Redacts with one key, and learns the secrets that headers carry to find them elsewhere."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._met: set[bytes] = set()
        self._learned: dict[bytes, bytes] = {}  # what to look for -> its replacement

    def body(self, data: bytes) -> bytes:
        """A body, whole or one event of it."""
        for secret, mark in self._learned.items():
            if secret in data:
                data = data.replace(secret, mark)
        if any(literal in data for literal in _TOKEN_LITERALS):
            data = _TOKENS.sub(self._token, data)
        if b'"user_id"' in data:
            data = _USER_ID.sub(lambda found: self._ids(found[0]), data)
        return data

    def telemetry(self, data: bytes) -> bytes:
        """A body that is about the user: device, account and e-mail fields, base64 looked into."""
        return self._ids(self.body(_ENCODED.sub(self._encoded, data)))

    def text(self, value: str) -> str:
        """A URL, a path, a message."""
        return self.body(value.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")

    def headers(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Header values; those that are secret by name go whole."""
        pairs = list(pairs)
        for name, value in pairs:
            if name.lower() in SECRET_HEADERS:
                self._learn(name.lower(), value)
        return [(name, self._header(name.lower(), value)) for name, value in pairs]

    def mark(self, kind: str, secret: bytes) -> bytes:
        digest = hmac.new(self._key, secret, sha256).hexdigest()[:16]
        return f"<redacted:{kind}:{digest}>".encode()

    def _header(self, name: str, value: str) -> str:
        if name not in SECRET_HEADERS:
            return self.text(value)
        kind, secret = _secret_of(name, value)
        return self.mark(kind, secret.encode("utf-8", "surrogateescape")).decode()

    def _learn(self, name: str, value: str) -> None:
        kind, text = _secret_of(name, value)
        secret = text.encode("utf-8", "surrogateescape")
        if secret in self._met or len(self._met) >= _MOST_LEARNED:
            return
        if len(secret) < _SHORTEST_LEARNED or "cookie" in name:
            return
        self._met.add(secret)
        mark = self.mark(kind, secret)
        if not _TOKENS.fullmatch(secret):  # else the pattern finds it
            self._learned[secret] = mark
            self._learned[json.dumps(text)[1:-1].encode()] = mark
        for shape in _base64_shapes(secret):
            self._learned[shape] = mark

    def _encoded(self, found: re.Match[bytes]) -> bytes:
        text = found[0].rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
        inside = base64.b64decode(text + b"=" * (-len(text) % 4)) if len(text) % 4 != 1 else b""
        return self.mark("encoded", found[0]) if self.body(inside) != inside else found[0]

    def _ids(self, data: bytes) -> bytes:
        return _ID_FIELDS.sub(self._id_field, _USER.sub(self._user, data))

    def _token(self, found: re.Match[bytes]) -> bytes:
        if secret := found["anthropic"]:
            return self.mark(_kind_of(secret), secret)
        if secret := found["jwt"]:
            return self.mark("jwt", secret)
        return found["scheme"] + self.mark(_kind_of(found["bearer"]), found["bearer"])

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
        return found[1] + found[2] + found[3] + self.mark(kind, value)


class DeltaRedactor[T]:
    """Finds secrets that a stream splits over several text pieces.

    Give it each item with its piece of text; it gives back what may be written, in order, and
    holds items back only while a secret may still be going on. `rewrite(item, text)` makes the
    item anew where its piece changed.
    """

    def __init__(self, redactor: Redactor, rewrite: Callable[[T, str], T]) -> None:
        self._redactor = redactor
        self._rewrite = rewrite
        self._held: list[tuple[T, bytes | None]] = []
        self._open = False

    def push(self, item: T, piece: str | None) -> list[T]:
        if piece is None:
            if not self._held:
                return [item]
            return [*self.flush(), item]
        data = piece.encode("utf-8", "surrogatepass")
        self._held.append((item, data))
        if self._open and _TOKEN_ONLY.fullmatch(data):
            return []
        text = b"".join(p for _, p in self._held if p) if self._open else data
        self._open = bool(_OPEN.search(text) or _OPEN_PREFIX.search(text))
        return [] if self._open else self.flush()

    def flush(self) -> list[T]:
        held, self._held, self._open = self._held, [], False
        if len(held) < 2:
            return [item for item, _ in held]  # a secret in one piece is the body pattern's
        pieces = [piece or b"" for _, piece in held]
        clean = self._redactor.body(b"".join(pieces))
        if clean == b"".join(pieces):
            return [item for item, _ in held]
        # Where the secret was cut cannot be kept: the first piece has it all, the rest nothing.
        texts = [clean.decode("utf-8", "surrogatepass"), *([""] * (len(held) - 1))]
        return [self._rewrite(item, text) for (item, _), text in zip(held, texts, strict=True)]


def auth_kind(headers: Iterable[tuple[str, str]]) -> str:
    """How a request says who pays: api_key, oauth or none."""
    names = {name.lower() for name, _ in headers}
    if "x-api-key" in names:
        return "api_key"
    return "oauth" if "authorization" in names else "none"


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
    if secret.startswith(b"sk-ant-"):
        return "api_key"
    return "jwt" if secret.startswith(b"eyJ") and secret.count(b".") == 2 else usual


def _base64_shapes(secret: bytes) -> list[bytes]:
    """The parts of base64 text that any text holding the secret must contain, by alignment."""
    shapes: list[bytes] = []
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + secret)
        start = -(-shift * 8 // 6)
        whole = (shift + len(secret)) * 8 // 6
        core = encoded[start:whole]
        shapes += {core, core.translate(bytes.maketrans(b"+/", b"-_"))}
    return [shape for shape in shapes if len(shape) >= _SHORTEST_LEARNED]
