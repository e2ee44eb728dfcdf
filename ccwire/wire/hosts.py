"""The hosts that Claude Code calls, host patterns, and base URLs. Pure."""

import ipaddress
import urllib.parse
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from ccwire.wire.vocabulary import Provider

API_HOST = "api.anthropic.com"
STATSIG_HOST = "statsig.anthropic.com"

# The hosts that a client builds from a region or resource, and their FIPS and private forms.
PROVIDER_HOSTS: dict[Provider, tuple[str, ...]] = {
    "anthropic": (
        API_HOST,
        STATSIG_HOST,
        "aws-external-anthropic.*.api.aws",  # the Claude Platform on AWS and on Google Cloud
        "claude.googleapis.com",
        "claude.*.rep.googleapis.com",
    ),
    "bedrock": (
        *(
            f"{service}.*.{domain}"
            for service in ("bedrock-runtime", "bedrock-runtime-fips", "bedrock", "bedrock-fips")
            for domain in ("amazonaws.com", "amazonaws.com.cn", "amazonaws.eu", "api.aws")
        ),
        "vpce-*.bedrock-runtime.*.vpce.amazonaws.com",
        "bedrock-mantle.*.api.aws",
    ),
    "vertex": (
        "aiplatform.googleapis.com",
        "*-aiplatform.googleapis.com",
        "aiplatform.*.rep.googleapis.com",
        "*-aiplatform-*.p.googleapis.com",
    ),
    "foundry": tuple(f"*.services.ai.azure.{domain}" for domain in ("com", "us", "cn")),
}
# Captured unless other hosts are named.
DEFAULT_HOSTS = tuple(host for hosts in PROVIDER_HOSTS.values() for host in hosts)

ANTHROPIC_DOMAINS = ("anthropic.com", "claude.ai", "claude.com")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_anthropic(host: str) -> bool:
    """Whether a host is one of Anthropic's domains, or in one."""
    return any(host == domain or host.endswith(f".{domain}") for domain in ANTHROPIC_DOMAINS)


@lru_cache(maxsize=256)
def provider_of(host: str) -> Provider:
    """Return whose API a host serves; any other host is a gateway."""
    return next(
        (name for name, hosts in PROVIDER_HOSTS.items() if matches_host(host, hosts)), "gateway"
    )


def describe_hosts(patterns: Sequence[str]) -> str:
    """Return host patterns as one short text; the default ones as the names of the providers."""
    if not set(DEFAULT_HOSTS) <= set(patterns):
        return ", ".join(patterns)
    others = [pattern for pattern in patterns if pattern not in DEFAULT_HOSTS]
    *names, last = (provider.capitalize() for provider in PROVIDER_HOSTS)
    return ", ".join([f"the hosts of {', '.join(names)} and {last}", *others])


def matches_host(host: str, patterns: Iterable[str], port: int | None = None) -> bool:
    """Whether a host is one of these; `*` in a pattern matches any part of a name.

    A pattern such as `127.0.0.1:4000` or `[::1]:4000` matches that port only.
    """
    host = _bare(host.lower())
    for pattern in patterns:
        name, only = split_port(pattern)
        if (only is None or only == port) and fnmatchcase(host, name):
            return True
    return False


def split_port(pattern: str) -> tuple[str, int | None]:
    """Split `host:port`; a bare IPv6 address has no port."""
    name, colon, port = pattern.rpartition(":")
    if colon and port.isdecimal() and (":" not in name or name.endswith("]")):
        return _bare(name), int(port)
    return _bare(pattern), None


def join_port(host: str, port: int) -> str:
    """Return `host:port`, the pattern that matches this port only."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether a name or an address is this machine."""
    try:
        address = ipaddress.ip_address(_bare(host).partition("%")[0])
    except ValueError:
        return host.lower() in LOOPBACK or host.lower().endswith(".localhost")
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _bare(name: str) -> str:
    return name[1:-1] if name.startswith("[") and name.endswith("]") else name


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
