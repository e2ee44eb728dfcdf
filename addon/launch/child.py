"""The whole environment of the command that `ccwire run` starts, and the files that it names."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from addon.identity.clients import RUN_MARK
from addon.launch.arguments import client_in
from addon.launch.environment import direct_hosts, node_environment, proxied_environment
from addon.launch.java import has_java, java_options, write_trust_store
from addon.upstream.trust import REPLACING, write_trust
from ccwire.wire.hosts import is_loopback, split_port


def child_environment(
    environment: Mapping[str, str],
    command: Sequence[str],
    *,
    port: int,
    ca_cert: Path,
    hosts: Sequence[str],
    scratch: Path,
    base_urls: Mapping[str, str] | None = None,
    run: str = "",
    password: str | None = None,
) -> dict[str, str]:
    """Return the environment for a command behind the proxy on `port`.

    The client needs the proxy and its certificate only. Any other program also gets what Node and
    Java need; the client does not, because it would pass that on to the tools it starts.
    `base_urls` are variables with a base URL on loopback, which must be reached directly.
    `run` marks every process that the command starts, and `password` is the proxy's, if it has one.
    """
    if base_urls:
        hosts = [host for host in hosts if not is_loopback(split_port(host)[0])]
    trust = write_trust(environment, ca_cert, scratch)
    child = proxied_environment(environment, port, trust, hosts, password)
    child |= {RUN_MARK: run, **(base_urls or {})}
    if client_in(command) is not None:
        return child
    child |= node_environment(environment)
    if has_java(environment):
        store = scratch / "trusted.p12"
        write_trust_store(Path(trust[REPLACING[0]]).read_bytes(), store)
        child |= java_options(environment, port, store, direct_hosts(environment, hosts))
    return child
