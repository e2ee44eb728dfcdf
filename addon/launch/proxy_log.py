"""What the add-on writes to the proxy's log for `ccwire run`, and how that is read. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from ccwire.wire.hosts import is_loopback, join_port

_OURS = "ccwire: "
_CONNECTIONS = "connections:"
_NO_TROUBLE = ("capturing ", _CONNECTIONS)
_OTHERS, _UNTRUSTED, _REFUSED = "not captured", "certificate refused", "clients refused"
_HOST = re.compile(r"(\S+) \((\d+)\)")
_MOST_HOSTS = 200


@dataclass(slots=True)
class Connections:
    """The connections that the proxy accepted.

    `others` counts requests per host that is not captured, `untrusted` failed handshakes per host:
    the program does not trust the proxy's certificate. `refused` counts connections of programs
    that the proxy does not serve, which are not in `count`.
    """

    count: int = 0
    others: dict[str, int] = field(default_factory=dict)
    untrusted: dict[str, int] = field(default_factory=dict)
    refused: int = 0

    def add_other(self, host: str, port: int) -> None:
        """Count a host that is not captured; on loopback, its port tells servers apart."""
        _add(self.others, join_port(host, port) if is_loopback(host) else host)

    def add_untrusted(self, host: str) -> None:
        _add(self.untrusted, host)

    def refuse(self) -> None:
        """Count a connection, which was counted when it was accepted, as refused instead."""
        self.count -= 1
        self.refused += 1

    def to_line(self) -> str:
        parts = [f"{_CONNECTIONS} {self.count}"]
        for name, hosts in ((_OTHERS, self.others), (_UNTRUSTED, self.untrusted)):
            listed = ", ".join(f"{host} ({count})" for host, count in hosts.items())
            parts.append(f"{name}: {listed or 'none'}")
        if self.refused:
            parts.append(f"{_REFUSED}: {self.refused}")
        return "; ".join(parts)

    @classmethod
    def from_line(cls, line: str) -> Self:
        count = re.match(rf"{_CONNECTIONS} (\d+)", line)
        others, _, untrusted = line.partition(f"; {_UNTRUSTED}:")
        refused = re.search(rf"; {_REFUSED}: (\d+)$", line)
        return cls(
            int(count[1]) if count else 0,
            _hosts(others),
            _hosts(untrusted),
            int(refused[1]) if refused else 0,
        )


def connections(log: str) -> Connections | None:
    """Return the connections of the proxy; None if it was killed before it could log them."""
    lines = [line for line in _messages(log) if line.startswith(_CONNECTIONS)]
    return Connections.from_line(lines[-1]) if lines else None


def troubles(log: str) -> list[str]:
    """Return the warnings of the add-on, without repeats."""
    return list(dict.fromkeys(m for m in _messages(log) if not m.startswith(_NO_TROUBLE)))


def _add(hosts: dict[str, int], host: str) -> None:
    if host in hosts or len(hosts) < _MOST_HOSTS:
        hosts[host] = hosts.get(host, 0) + 1


def _hosts(text: str) -> dict[str, int]:
    return {host: int(count) for host, count in _HOST.findall(text)}


def _messages(log: str) -> Iterator[str]:
    return (line.partition(_OURS)[2] for line in log.splitlines() if _OURS in line)
