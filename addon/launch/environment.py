"""The environment that makes a program use the proxy. Pure.

It applies to one child process; the user's configuration does not change.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from pathlib import Path

from addon.identity.password import USER
from addon.upstream.company_proxy import ALL_PROXY_VARIABLES, PROXY_VARIABLES, no_proxy_items
from ccwire.wire.hosts import LOOPBACK, matches_host, split_port

_NODE_FETCH = Path(__file__).parent / "node_fetch.cjs"


def proxied_environment(
    environment: Mapping[str, str],
    port: int,
    trust: Mapping[str, str],
    hosts: Sequence[str] = (),
    password: str | None = None,
) -> dict[str, str]:
    """Return the child's environment: proxy for all but loopback, and trust in its certificate.

    `trust` names the files with its certificate, as `write_trust` in `addon.upstream` returns them.
    """
    child = {**environment, **trust}
    user = f"{USER}:{password}@" if password else ""
    for name in PROXY_VARIABLES:
        child[name] = f"http://{user}127.0.0.1:{port}"
    for name in ALL_PROXY_VARIABLES:
        child.pop(name, None)
    child["NO_PROXY"] = child["no_proxy"] = ",".join(direct_hosts(environment, hosts))
    return child


def node_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make Node's own fetch() use the proxy, as the client's does.

    Newer releases have a variable for it; a script changes the older ones.
    """
    script = str(_NODE_FETCH).replace("\\", "\\\\")
    options = [environment.get("NODE_OPTIONS", ""), f'--require "{script}"']
    return {"NODE_USE_ENV_PROXY": "1", "NODE_OPTIONS": " ".join(options).strip()}


def direct_hosts(environment: Mapping[str, str], hosts: Sequence[str] = ()) -> list[str]:
    """Return the hosts to reach directly: the user's NO_PROXY and loopback, but captured ones.

    With a gateway on loopback, the proxy tunnels what other servers get at the same address.
    """
    items = dict.fromkeys([*no_proxy_items(environment), *LOOPBACK])
    return [item for item in items if not excludes(item, hosts)]


def excludes(item: str, hosts: Sequence[str]) -> bool:
    """Return whether an item of NO_PROXY would make a captured host bypass the proxy.

    An item names a host and all below it. The hosts are patterns, so both sides are compared label
    by label, from the end.
    """
    name, port = split_port(item)
    name = name.lstrip("*").lstrip(".")
    if not name:
        return True
    named = [split_port(host) for host in hosts]
    patterns = [host for host, only in named if port is None or only is None or port == only]
    return (
        matches_host(name, patterns)
        or any(_is_below(pattern, name) for pattern in patterns)
        or ("/" in name and any(_is_within(pattern, name) for pattern in patterns))
    )


def _is_below(pattern: str, domain: str) -> bool:
    """Return whether a host that the pattern matches may be below the domain."""
    labels, upper = pattern.split(".")[::-1], domain.split(".")[::-1]
    return len(upper) < len(labels) and all(
        matches_host(label, [part]) for label, part in zip(upper, labels, strict=False)
    )


def _is_within(address: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
