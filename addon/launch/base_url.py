"""`--via base-url`: gives the proxy to a program as the base URL of the API. Pure.

For programs that ignore HTTPS_PROXY, such as releases of the client before 0.2.70. The client
behaves differently with a base URL (docs/roads.md), so this is not the default.
"""

import re
import urllib.parse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from addon.launch.road import Road
from ccwire.wire.hosts import API_HOST, parse_base_url
from ccwire.wire.vocabulary import Provider

# The paths of the base URLs that the client uses by default.
_PATHS: Mapping[Provider, str] = {"vertex": "/v1", "foundry": "/anthropic"}
_SIGNED = (".amazonaws.com", ".api.aws")


@dataclass(frozen=True, slots=True)
class Detour:
    """A server to reach through a reverse proxy, and the variable with the base URL to replace."""

    server: str
    path: str
    variable: str

    def variables(self, port: int) -> dict[str, str]:
        """Return the variable for a reverse proxy on this port; the path stays the same."""
        return {self.variable: f"http://127.0.0.1:{port}{self.path}"}


def find_detour(road: Road) -> Detour:
    """Return where a reverse proxy sends this client's calls; raise ValueError with the reason."""
    if not road.hosts:
        raise ValueError(f"{road.source} is not a base URL such as https://gateway.example")
    url = road.base_url or _default_url(road)
    parts = parse_base_url(url)
    host = (parts.hostname or "").lower()
    if host.endswith(_SIGNED):
        raise ValueError(f"AWS signs requests for {host}, and would reject them; use --via proxy")
    name = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else ""
    return Detour(f"{parts.scheme}://{name}{port}", parts.path.rstrip("/"), road.variable)


def reverse_servers(modes: Iterable[str]) -> dict[int, urllib.parse.SplitResult]:
    """Return the server behind each port of mitmproxy that is a reverse proxy."""
    found = (re.fullmatch(r"reverse:(.+)@.*?(\d+)", mode) for mode in modes)
    return {int(match[2]): parse_base_url(match[1]) for match in found if match}


def _default_url(road: Road) -> str:
    first, *others = road.hosts
    if road.provider == "anthropic" and road.source is None:
        return f"https://{API_HOST}"
    if "*" in first or (others and not first.endswith(_SIGNED)):
        raise ValueError(
            f"it needs one host, and this client has {', '.join(road.hosts)}; use --via proxy"
        )
    return f"https://{first}{_PATHS.get(road.provider, '')}"
