"""Patterns of secrets: literals to search for, regular expressions to match, and encoded forms.

Every pattern runs in time linear in the text, for any input.
"""

import base64
import json
import re
import urllib.parse
from collections.abc import Iterable

SHORTEST_LEARNED = 12  # a shorter one may be an ordinary word

_ANTHROPIC = b"sk-ant-"
_JWT = b"eyJ"
_BEARERS = (b"Bearer", b"bearer", b"BEARER")

# Tokens of clouds: how each begins, what it continues with, and its kind. Short ones are words of
# their own, because an image in base64 may contain the same letters; an escape may come before.
_BASE64 = rb"(?:[A-Za-z0-9+/=_\-]|\\/|%[23][0-9A-Fa-f])"
_ALONE = rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
_CLOUD: tuple[tuple[bytes, bytes, str], ...] = (
    (b"AKIA", rb"[A-Z0-9]{16}(?![A-Za-z0-9])", "access_key"),
    (b"ASIA", rb"[A-Z0-9]{16}(?![A-Za-z0-9])", "access_key"),
    (b"AIza", rb"[A-Za-z0-9_\-]{35}(?![A-Za-z0-9_\-])", "api_key"),
    (b"ya29.", rb"[A-Za-z0-9_.\-]{10,}+", "google_token"),
    (b"IQoJb3JpZ2lu", rb"%b{16,}+" % _BASE64, "session_token"),
    (b"FwoGZXIvYXdz", rb"%b{16,}+" % _BASE64, "session_token"),
    (b"FQoGZXIvYXdz", rb"%b{16,}+" % _BASE64, "session_token"),
    (b"ABSKQmVkcm9ja0FQSUtleS", rb"%b{16,}+" % _BASE64, "api_key"),
    (b"bedrock-api-key-", rb"%b{16,}+" % _BASE64, "api_key"),
    (b"Signature=", rb"[0-9a-fA-F]{64}", "signature"),
)
_SHORT = 4
_CLOUD_LITERALS = tuple(literal for literal, _, _ in _CLOUD)
_CLOUD_TOKEN = b"|".join(
    (_ALONE if len(start) == _SHORT else b"") + re.escape(start) + rest for start, rest, _ in _CLOUD
)

TOKEN_LITERALS = (_ANTHROPIC, _JWT, *_BEARERS, *_CLOUD_LITERALS)
_SCHEME = rb"(?:[Bb]earer|BEARER)(?:\s|%20|\+|\\+[tnr])"
# A token ends where another begins, even without a separator.
_WORD = rb"(?:(?!%b|sk-ant-)[A-Za-z0-9_\-])" % _SCHEME
_TOKEN = rb"(?:(?!%b)(?:[A-Za-z0-9._~+/\-]|\\/|%%[0-9A-Fa-f]{2}))" % _SCHEME
# The last alternative skips a run that begins like a JWT but is none: it contains no token.
TOKENS = re.compile(
    rb"(?P<anthropic>sk-ant-%(word)b++)"
    rb"|(?P<cloud>%(cloud)b)"
    rb"|(?P<jwt>eyJ%(word)b{6,}+\.%(word)b{6,}+\.%(word)b*+)"
    rb"|(?P<scheme>%(scheme)b{1,8})"
    rb"(?P<bearer>%(token)b{16,}+=*+|(?=[A-Za-z._~+/\-]*+[0-9])%(token)b{6,}+=*+)"
    rb"|eyJ%(word)b*+"
    % {b"word": _WORD, b"token": _TOKEN, b"scheme": _SCHEME, b"cloud": _CLOUD_TOKEN}
)

# Base64 text, long enough to contain a secret.
ENCODED = re.compile(rb"(?:[A-Za-z0-9+/_\-]|\\/){16,}+={0,2}")
TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_TO_URL_SAFE = bytes.maketrans(b"+/", b"-_")

# For detecting a secret that is cut off at the end of a text: see `Redactor.unfinished`.
TOKEN_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~+/-=%\\"
OPEN_BEARER = re.compile(rb"%b{0,8}[%b]*+\Z" % (_SCHEME, re.escape(TOKEN_BYTES)))
LONGEST_SCHEME = 64
_LONGEST_HEAD = 64


def is_token(data: bytes) -> bool:
    """Return whether the data consists of token characters only."""
    return not data.strip(TOKEN_BYTES)


def kind_of(secret: bytes, usual: str = "bearer") -> str:
    if secret.startswith(b"sk-ant-o"):
        return "oauth"
    if secret.startswith(_ANTHROPIC):
        return "api_key"
    if secret.startswith(_JWT) and secret.count(b".") == 2:
        return "jwt"
    return next((kind for start, _, kind in _CLOUD if secret.startswith(start)), usual)


def forms_of(text: str, secret: bytes) -> list[bytes]:
    """Return the encoded forms of a secret that the patterns alone would miss."""
    token = TOKENS.fullmatch(secret)
    if token and token["anthropic"]:
        return []
    is_found = token and (token["jwt"] or token["cloud"])
    forms = [shape for shape in _base64_shapes(secret) if len(shape) >= SHORTEST_LEARNED]
    if not is_found:
        forms.append(secret)
        forms += {
            json.dumps(text)[1:-1].encode(),
            json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape"),
            urllib.parse.quote_from_bytes(secret, safe="").encode(),
        } - {secret}
    return sorted(forms, key=len, reverse=True)  # the longest first: it may contain a shorter one


def _base64_shapes(secret: bytes) -> list[bytes]:
    """Return the base64 text that any encoding of the secret contains, per byte alignment."""
    shapes: list[bytes] = []
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + secret)
        start = -(-shift * 8 // 6)
        whole = (shift + len(secret)) * 8 // 6
        core = encoded[start:whole]
        shapes += {core, core.translate(_TO_URL_SAFE)}
    return shapes


def heads_of(secrets: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return what begins each secret: of a long one only so much as recognises it."""
    return tuple(
        secret[:_LONGEST_HEAD] if len(secret) > _LONGEST_HEAD and is_token(secret) else secret
        for secret in secrets
    )


def starts_of(secrets: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return all proper prefixes: what a text can end with when a secret is cut off."""
    return tuple({secret[:size] for secret in secrets for size in range(1, len(secret))})


ENCODED_LITERALS = tuple(_base64_shapes(_ANTHROPIC))
LITERALS = (_ANTHROPIC, _JWT, *_CLOUD_LITERALS, *ENCODED_LITERALS)
STREAMED = (*LITERALS, *_BEARERS)
