"""The environment that makes a client use the proxy. Pure.

It applies to one child process; the user's configuration does not change.
"""

from collections.abc import Mapping, Sequence

from ccwire.wire.hosts import LOOPBACK, matches_host

_PROXY_NAMES = ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")


def proxied_environment(
    environment: Mapping[str, str], port: int, ca_file: str, hosts: Sequence[str] = ()
) -> dict[str, str]:
    """Return the child's environment: proxy for all but loopback, and trust in its certificate."""
    child = dict(environment)
    for name in _PROXY_NAMES:
        child[name] = f"http://127.0.0.1:{port}"
    child.pop("ALL_PROXY", None)
    child.pop("all_proxy", None)
    kept = [
        item
        for item in _listed(environment.get("NO_PROXY") or environment.get("no_proxy") or "")
        if not excludes(item, hosts)
    ]
    child["NO_PROXY"] = child["no_proxy"] = ",".join(dict.fromkeys([*kept, *LOOPBACK]))
    child["NODE_EXTRA_CA_CERTS"] = ca_file
    return child


def excludes(no_proxy: str, hosts: Sequence[str]) -> bool:
    """Return whether an item of NO_PROXY would make a captured host bypass the proxy.

    An item names a host and all below it. The hosts are patterns, so both sides are compared label
    by label, from the end.
    """
    name = no_proxy.strip().lower().partition(":")[0].lstrip("*").lstrip(".")
    return not name or matches_host(name, hosts) or any(_is_below(host, name) for host in hosts)


def _is_below(pattern: str, domain: str) -> bool:
    """Return whether a host that the pattern matches may be below the domain."""
    labels, upper = pattern.split(".")[::-1], domain.split(".")[::-1]
    return len(upper) < len(labels) and all(
        matches_host(label, [part]) for label, part in zip(upper, labels, strict=False)
    )


def _listed(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]
