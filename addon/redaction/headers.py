"""The headers that are secret by name, and the secret part of their values."""

from collections.abc import Iterable

from addon.redaction.patterns import kind_of

SECRET_HEADERS = frozenset(
    ("authorization", "x-api-key", "cookie", "set-cookie", "proxy-authorization")
)


def auth_kind(headers: Iterable[tuple[str, str]]) -> str:
    """Return how a request authenticates: api_key, oauth or none."""
    names = {name.lower() for name, _ in headers}
    if "x-api-key" in names:
        return "api_key"
    return "oauth" if "authorization" in names else "none"


def secret_of(name: str, value: str) -> tuple[str, str]:
    """Return kind and secret of a header, without its scheme: equal secrets get equal hashes."""
    scheme, _, rest = value.partition(" ")
    secret = rest.strip() if rest and scheme.lower() in ("bearer", "basic") else value
    if "cookie" not in name:
        usual = "api_key" if name == "x-api-key" else "bearer"
        return kind_of(secret.encode("utf-8", "surrogateescape"), usual), secret
    return "cookie", value
