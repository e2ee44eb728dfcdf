"""Which headers are secret by name, and which part of their value is the secret."""

from collections.abc import Iterable

from addon.redaction.patterns import kind_of

SECRET_HEADERS = frozenset(
    ("authorization", "x-api-key", "cookie", "set-cookie", "proxy-authorization")
)


def auth_kind(headers: Iterable[tuple[str, str]]) -> str:
    """How a request says who pays: api_key, oauth or none."""
    names = {name.lower() for name, _ in headers}
    if "x-api-key" in names:
        return "api_key"
    return "oauth" if "authorization" in names else "none"


def secret_of(name: str, value: str) -> tuple[str, str]:
    """Kind and secret part of a secret header: equal secrets are equal wherever they stand."""
    scheme, _, rest = value.partition(" ")
    secret = rest.strip() if rest and scheme.lower() in ("bearer", "basic") else value
    if "cookie" not in name:
        usual = "api_key" if name == "x-api-key" else "bearer"
        return kind_of(secret.encode("utf-8", "surrogateescape"), usual), secret
    return "cookie", value
