"""The whole environment of the command that `ccwire run` starts, and the files that it names."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from addon.launch.arguments import client_in
from addon.launch.environment import direct_hosts, node_environment, proxied_environment
from addon.launch.java import has_java, java_options, write_trust_store
from addon.launch.trust import REPLACING, write_trust


def child_environment(
    environment: Mapping[str, str],
    command: Sequence[str],
    *,
    port: int,
    ca_cert: Path,
    hosts: Sequence[str],
    scratch: Path,
) -> dict[str, str]:
    """Return the environment for a command behind the proxy on `port`.

    The client needs the proxy and its certificate only. Any other program also gets what Node and
    Java need; the client does not, because it would pass that on to the tools it starts.
    """
    trust = write_trust(environment, ca_cert, scratch)
    child = proxied_environment(environment, port, trust, hosts)
    if client_in(command) is not None:
        return child
    child |= node_environment(environment)
    if has_java(environment):
        store = scratch / "trusted.p12"
        write_trust_store(Path(trust[REPLACING[0]]).read_bytes(), store)
        child |= java_options(environment, port, store, direct_hosts(environment, hosts))
    return child
