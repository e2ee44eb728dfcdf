"""The headers that are secret by name, and the secret parts of their values."""

import base64
import binascii
import re
from collections.abc import Iterable

from addon.redaction.shapes import shape_of

# Their values are also searched for elsewhere.
SECRET_HEADERS = frozenset(
    (
        "authorization",
        "proxy-authorization",
        "cookie",
        "set-cookie",
        "x-api-key",
        "api-key",
        "x-goog-api-key",
        "x-goog-iam-authorization-token",
        "x-amz-security-token",
        "ocp-apim-subscription-key",
        "cf-aig-authorization",
        "helicone-auth",
        "x-litellm-api-key",
        "x-portkey-api-key",
        "portkey-api-key",
        "openai-api-key",
        "anthropic-api-key",
        "x-openai-api-key",
        "x-anthropic-api-key",
        "x-auth-token",
        "x-access-token",
        "x-amz-bedrock-api-key",
        "x-functions-key",
        "x-ms-token-aad-access-token",
        "x-ms-token-aad-id-token",
        "x-goog-authenticated-user-jwt",
        "x-goog-iap-jwt-assertion",
        "x-forwarded-access-token",
        "cf-access-client-secret",
        "cf-access-jwt-assertion",
        "cf-access-token",
        "x-vercel-oidc-token",
        "x-vault-token",
        "private-token",
        "x-gitlab-token",
        "x-hub-signature-256",
        "x-csrf-token",
        "x-xsrf-token",
    )
)
_WORD = re.compile(r"[a-z0-9]+")
# A header with one of these words in its name is secret, unless its name or value shows otherwise.
_SECRET_WORDS = frozenset(
    (
        *("key", "apikey", "token", "secret", "auth", "authorization", "jwt", "signature"),
        *("password", "passwd", "pass", "pwd", "passphrase", "credential", "credentials"),
        *("assertion", "bearer", "sid", "sessionid", "cookie"),
    )
)
_COUNT_WORDS = frozenset(("count", "limit", "remaining", "reset"))
_HARMLESS = frozenset(("idempotency-key", "sec-websocket-key", "access-control-allow-credentials"))
# Who the user is: replaced, but not searched for elsewhere.
_IDENTITY = re.compile(
    r"(?:.*[-_])?(?:(organization|org|account|tenant|device|user)[-_]?(?:uu)?id|(e-?mail)(?:[-_].*)?"
    r"|(openai-organization|openai-project))"
)
_SHORTEST = 8  # of a secret that is searched for elsewhere, if it is no word
_SHORTEST_WORD = 12
_SHORTEST_UNKNOWN = 16
_PLAIN_VALUE = re.compile(r"true|false|[0-9]{0,9}", re.IGNORECASE)

_SIGV4 = re.compile(r"AWS4-\S+\s+Credential=([^/,\s]+)")
_SIGNATURE = re.compile(r"Signature=([0-9a-fA-F]{32,})")
_SCHEMES = ("bearer", "basic", "apikey", "token")


def is_secret(name: str, value: str) -> bool:
    """Return whether a header is secret; `name` in lower case."""
    if name in SECRET_HEADERS:
        return True
    words = _WORD.findall(name)
    return (
        not _SECRET_WORDS.isdisjoint(words)
        and _COUNT_WORDS.isdisjoint(words)
        and name not in _HARMLESS
        and not _PLAIN_VALUE.fullmatch(value)
    )


def is_distinctive(name: str, secret: str) -> bool:
    """Return whether a secret may be searched for elsewhere: it is no ordinary word of a text."""
    if "cookie" in name:
        return False  # its parts are
    is_mixed = _is_mixed(secret)
    if name in SECRET_HEADERS:
        return len(secret) >= (_SHORTEST if is_mixed else _SHORTEST_WORD)
    return is_mixed and len(secret) >= _SHORTEST_UNKNOWN


def identity_in(name: str) -> str | None:
    """Return what a header says about who the user is, by its name in lower case."""
    found = _IDENTITY.fullmatch(name)
    if not found:
        return None
    return "email" if found[2] else "organization" if found[3] or found[1] == "org" else found[1]


def auth_kind(headers: Iterable[tuple[str, str]]) -> str:
    """Return how a request authenticates: api_key, sigv4, oauth or none."""
    found = {name.lower(): value for name, value in headers if value.strip()}
    if _SIGV4.match(found.get("authorization", "")):
        return "sigv4"
    if any(name in SECRET_HEADERS and name.endswith("-key") for name in found):
        return "api_key"
    return "oauth" if "authorization" in found else "none"


def secret_of(name: str, value: str) -> tuple[str, str]:
    """Return kind and secret of a header, without its scheme: equal secrets get equal hashes.

    A signature of AWS is another one in each request, so its access key id is taken instead.
    """
    if "cookie" in name:
        return "cookie", value
    if found := _SIGV4.match(value):
        return "sigv4", found[1]
    scheme, _, rest = value.partition(" ")
    secret = rest.strip() if rest and scheme.lower() in _SCHEMES else value
    usual = "api_key" if name.endswith("key") else "bearer"
    return shape_of(secret.encode("utf-8", "surrogateescape")) or usual, secret


def parts_of(name: str, value: str) -> list[tuple[str, str]]:
    """Return kind and text of the secrets inside a header's value that may be repeated alone."""
    if "cookie" in name:
        pairs = value.split(";")[: 1 if name.startswith("set-") else None]
        values = [pair.partition("=")[2].strip().strip('"') for pair in pairs]
        return [("cookie", value) for value in values if _is_mixed(value)]
    if found := _SIGNATURE.search(value):
        return [("signature", found[1])]
    scheme, _, rest = value.partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        pair = base64.b64decode(rest.strip(), validate=True).decode("utf-8", "surrogateescape")
    except binascii.Error:
        return []
    password = pair.partition(":")[2]
    return [("password", pair), ("password", password)] if password else []


def _is_mixed(secret: str) -> bool:
    """Return whether it has letters and digits: words and numbers do not."""
    return any(c.isdigit() for c in secret) and any(c.isalpha() for c in secret)
