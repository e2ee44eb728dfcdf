"""What the add-on writes to the proxy's log for `ccwire run`, and how that is read. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from ccwire.wire.hosts import is_loopback, join_port

_OURS = "ccwire: "
_CONNECTIONS = "connections:"
_NO_TROUBLE = ("capturing ", _CONNECTIONS)
_OTHER = re.compile(r"(\S+) \((\d+)\)")
_MOST_HOSTS = 200


@dataclass(slots=True)
class Connections:
    """How many connections the proxy accepted, and how many requests each other host got."""

    count: int = 0
    others: dict[str, int] = field(default_factory=dict)

    def add_other(self, host: str, port: int) -> None:
        """Count a host that is not captured; on loopback, its port tells servers apart."""
        name = join_port(host, port) if is_loopback(host) else host
        if name in self.others or len(self.others) < _MOST_HOSTS:
            self.others[name] = self.others.get(name, 0) + 1

    def to_line(self) -> str:
        others = ", ".join(f"{host} ({count})" for host, count in self.others.items())
        return f"{_CONNECTIONS} {self.count}; not captured: {others or 'none'}"

    @classmethod
    def from_line(cls, line: str) -> Self:
        count = re.match(rf"{_CONNECTIONS} (\d+)", line)
        others = {host: int(number) for host, number in _OTHER.findall(line)}
        return cls(int(count[1]) if count else 0, others)


def connections(log: str) -> Connections | None:
    """Return the connections of the proxy; None if it was killed before it could log them."""
    lines = [line for line in _messages(log) if line.startswith(_CONNECTIONS)]
    return Connections.from_line(lines[-1]) if lines else None


def troubles(log: str) -> list[str]:
    """Return the warnings of the add-on, without repeats."""
    return list(dict.fromkeys(m for m in _messages(log) if not m.startswith(_NO_TROUBLE)))


def _messages(log: str) -> Iterator[str]:
    return (line.partition(_OURS)[2] for line in log.splitlines() if _OURS in line)
