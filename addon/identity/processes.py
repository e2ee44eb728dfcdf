"""Finds the process at the other end of a connection: from port to pid to ancestors.

Runs outside the event loop, once per connection. A client in another pid namespace has no pid here.
"""

import logging
import os
import socket
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import psutil

from addon.identity import socket_table
from addon.identity.socket_table import Address

logger = logging.getLogger("ccwire")


_KEPT = 4096
_PATIENCE = 5.0
_ASKED_FIRST = 64


@dataclass(frozen=True, slots=True)
class ClientProcess:
    """A process and its ancestors, nearest first, each with its start time."""

    pid: int
    created: float
    ancestors: tuple[tuple[int, float], ...] = ()


class ProcessResolver:
    """Looks up connections in its own thread and caches the results."""

    def __init__(self, find: Callable[[Address, Address], ClientProcess | None]) -> None:
        self._find = find
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ccwire-processes")
        self._found: OrderedDict[str, Future[ClientProcess | None]] = OrderedDict()

    def connected(self, connection_id: str, client: Address, proxy: Address) -> None:
        self._found[connection_id] = self._pool.submit(self._find, client, proxy)
        while len(self._found) > _KEPT:
            self._found.popitem(last=False)

    def future(self, connection_id: str) -> Future[ClientProcess | None] | None:
        """Return the result of the lookup, which may still be running; None if there is none."""
        return self._found.get(connection_id)

    def process(self, connection_id: str) -> ClientProcess | None:
        future = self._found.get(connection_id)
        if future is None:
            return None
        try:
            return future.result(_PATIENCE)
        except Exception as error:  # a failed lookup must not prevent the capture
            logger.debug("ccwire: could not find the client's process", exc_info=error)
            return None

    def ask[T](
        self, connection_id: str, question: Callable[[ClientProcess | None], T]
    ) -> Future[T]:
        """Return the answer to a question about the process, asked in the same thread."""
        return self._pool.submit(lambda: question(self.process(connection_id)))

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def can_find_processes() -> bool:
    """Return whether this system shows which process a connection belongs to."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        ends, own = (client.getsockname(), client.getpeername()), os.getpid()
        if socket_table.is_there():
            return socket_table.owner(*ends, [own]) == own
        return _holds(own, *ends)


class ProcessTable:
    """Finds the owner of a connection; checks processes found earlier first."""

    def __init__(self) -> None:
        self._met: dict[int, ClientProcess] = {}  # the most recent one last
        # Ancestors of the proxy are excluded: a session that started the proxy is not its client.
        self._own = frozenset(pid for pid, _ in _ancestors(os.getpid()))

    def find(self, client: Address, proxy: Address) -> ClientProcess | None:
        pid = self._owner(_plain(client), _plain(proxy))
        if pid is None:
            return None
        try:
            created = psutil.Process(pid).create_time()
        except psutil.Error:
            return None
        process = self._met.pop(pid, None)
        if process is None or process.created != created:
            above = tuple(a for a in _ancestors(pid) if a[0] not in self._own)
            process = ClientProcess(pid, created, above)
        self._met[pid] = process
        return process

    def _owner(self, client: Address, proxy: Address) -> int | None:
        met = [*reversed(self._met)][:_ASKED_FIRST]
        if socket_table.is_there():
            return socket_table.owner(client, proxy, met)
        for pid in met:
            if _holds(pid, client, proxy):
                return pid
        for process in psutil.process_iter():
            if _holds(process.pid, client, proxy):
                return int(process.pid)
        return None


def _holds(pid: int, client: Address, proxy: Address) -> bool:
    try:
        return any(
            _is(connection, client, proxy)
            for connection in psutil.Process(pid).net_connections(kind="tcp")
        )
    except psutil.Error:
        return False


def _is(connection: object, client: Address, proxy: Address) -> bool:
    local = getattr(connection, "laddr", None)
    remote = getattr(connection, "raddr", None)
    if not local or not remote:
        return False
    return _plain(local) == client and _plain(remote) == proxy


def _plain(address: Iterable[object]) -> Address:
    host, port, *_ = address
    return str(host).removeprefix("::ffff:"), int(str(port))


def _ancestors(pid: int) -> list[tuple[int, float]]:
    try:
        return [(p.pid, p.create_time()) for p in psutil.Process(pid).parents() if p.pid > 1]
    except psutil.Error:
        return []
