"""The hosts that Claude Code calls, host patterns, and base URLs. Pure."""

import urllib.parse
from collections.abc import Iterable
from fnmatch import fnmatchcase

API_HOST = "api.anthropic.com"
STATSIG_HOST = "statsig.anthropic.com"
DEFAULT_HOSTS = (API_HOST, STATSIG_HOST)  # captured unless other hosts are named

ANTHROPIC_DOMAINS = ("anthropic.com", "claude.ai", "claude.com")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_anthropic(host: str) -> bool:
    """Whether a host is one of Anthropic's domains, or in one."""
    return any(host == domain or host.endswith(f".{domain}") for domain in ANTHROPIC_DOMAINS)


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
