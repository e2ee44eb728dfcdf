"""Where the client sends: the default hosts, the kinds of endpoints, and base URLs. Pure."""

import urllib.parse
from collections.abc import Iterable
from fnmatch import fnmatchcase

from ccwire.wire.vocabulary import EndpointKind

API_HOST = "api.anthropic.com"
STATSIG_HOST = "statsig.anthropic.com"
DEFAULT_HOSTS = (API_HOST, STATSIG_HOST)  # captured unless other hosts are named

LOOPBACK = ("localhost", "127.0.0.1", "::1")

# The exchanges that are calls to the model; their bodies are the user's own words.
CALL_KINDS: tuple[EndpointKind, ...] = ("messages", "count_tokens")

_KINDS: tuple[tuple[str, EndpointKind], ...] = (  # the first prefix that fits decides
    ("/v1/messages/count_tokens", "count_tokens"),
    ("/v1/messages", "messages"),
    ("/api/event_logging", "event_logging"),
    ("/api/claude_code/settings", "settings"),
    ("/api/claude_code/policy_limits", "policy_limits"),
    ("/api/claude_code", "claude_code"),
    ("/api/claude_cli", "claude_cli"),
    ("/api/eval", "eval"),
    ("/api/hello", "hello"),
    ("/api/oauth", "oauth"),
    ("/v1/oauth", "oauth"),
    ("/v1/models", "models"),
    ("/v1/files", "files"),
)


def kind_of(host: str, path: str) -> EndpointKind:
    """Which endpoint an exchange is with, by host and path alone."""
    if host.startswith("statsig."):
        return "statsig"
    path = path.partition("?")[0]
    for prefix, kind in _KINDS:
        if path == prefix or path.startswith(prefix + "/"):
            return kind
    return "other"


def matches_host(host: str, patterns: Iterable[str]) -> bool:
    """Whether a host is one of these; `*` in a pattern matches any part of a name."""
    host = host.lower()
    return any(fnmatchcase(host, pattern) for pattern in patterns)


def parse_base_url(url: str) -> urllib.parse.SplitResult:
    """A base URL such as http://127.0.0.1:8000; raises ValueError with a sentence otherwise."""
    try:
        parts = urllib.parse.urlsplit(url)
        is_base = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port past all ports, half a bracket
        is_base = False
    if not is_base:
        raise ValueError(f"{url!r} is not a base URL such as http://127.0.0.1:8000")
    return parts


def port_of(url: urllib.parse.SplitResult) -> int:
    return url.port or (443 if url.scheme == "https" else 80)
