import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from addon.identity import processes, socket_table
from addon.identity.processes import ClientProcess, ProcessResolver, ProcessTable
from addon.identity.socket_table import Address


@pytest.fixture
def connection() -> Iterator[tuple[Address, Address]]:
    """A connection of this process to itself; yields the client's and the proxy's address."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        accepted, _ = server.accept()
        with accepted:
            yield client.getsockname(), client.getpeername()


@pytest.fixture(params=["the kernel", "a kernel that cannot", "its table's file", "each process"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "a kernel that cannot":
        monkeypatch.setattr(socket_table, "_asked", lambda client, proxy: None)
    if request.param == "its table's file":
        monkeypatch.setattr(socket_table, "_asked", _forbidden)
    if request.param == "each process":
        monkeypatch.setattr(socket_table, "is_there", lambda: False)


def _forbidden(client: Address, proxy: Address) -> int | None:
    raise PermissionError


def test_a_listening_socket_is_not_returned() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert socket_table.owner(server.getsockname(), ("127.0.0.1", 9), []) is None


def test_the_owner_is_found_among_thousands_of_sockets_that_come_and_go(
    connection: tuple[Address, Address],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        for _ in range(3000):
            socket.create_connection(server.getsockname()).close()
            server.accept()[0].close()
        assert socket_table.owner(*connection, [os.getpid()]) == os.getpid()


def test_the_owner_of_a_connection_is_found(way: None, connection: tuple[Address, Address]) -> None:
    table = ProcessTable()
    found = table.find(*connection)
    assert found is not None
    assert found.pid == os.getpid()
    assert found.created == psutil.Process().create_time()
    assert table.find(*connection) == found  # asked first now


def test_a_child_that_inherited_the_socket_is_not_its_owner(
    connection: tuple[Address, Address],
) -> None:
    """A client that starts a hook or a tool forks; until exec, the child holds its sockets too."""
    if not socket_table.is_there():
        pytest.skip("needs /proc")
    held = [int(path.name) for path in Path("/proc/self/fd").iterdir() if _is_socket(path)]
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=held)
    try:
        found = ProcessTable().find(*connection)
    finally:
        child.communicate()
    assert found is not None
    assert found.pid == os.getpid()


def _is_socket(descriptor: Path) -> bool:
    try:
        return str(descriptor.readlink()).startswith("socket:")
    except OSError:  # the one that listed the folder
        return False


def test_a_connection_that_is_gone_is_nobody_s(
    way: None, connection: tuple[Address, Address]
) -> None:
    (host, _), proxy = connection
    assert ProcessTable().find((host, 1), proxy) is None


def test_an_address_of_the_other_family_is_the_same(connection: tuple[Address, Address]) -> None:
    (client, port), (proxy, proxy_port) = connection
    found = ProcessTable().find((f"::ffff:{client}", port), (f"::ffff:{proxy}", proxy_port))
    assert found is not None
    assert found.pid == os.getpid()


def test_who_started_the_proxy_is_no_ancestor_of_a_client() -> None:
    program = (
        "import socket, sys\n"
        "s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
        "sys.stdin.read()\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        child = subprocess.Popen([sys.executable, "-c", program, port], stdin=subprocess.PIPE)
        accepted, address = server.accept()
        with accepted:
            found = ProcessTable().find(address, server.getsockname())
        assert child.stdin is not None
        child.stdin.close()
        child.wait()
    assert found is not None
    assert found.pid == child.pid
    # This process is the proxy, and the client's parent; ancestors of the proxy are excluded.
    assert [pid for pid, _ in found.ancestors] == [os.getpid()]


def test_a_connection_is_looked_up_once_and_remembered() -> None:
    asked = []

    def find(client: Address, proxy: Address) -> ClientProcess:
        asked.append(client)
        return ClientProcess(7, 1.0)

    resolver = ProcessResolver(find)
    resolver.connected("c", ("127.0.0.1", 1), ("127.0.0.1", 2))
    assert resolver.process("c") == ClientProcess(7, 1.0)
    assert resolver.process("c") == ClientProcess(7, 1.0)
    assert resolver.process("another") is None
    assert asked == [("127.0.0.1", 1)]
    resolver.close()


@pytest.mark.parametrize(
    "error", [psutil.NoSuchProcess(1), OSError("x"), ValueError("x"), IndexError(), RuntimeError()]
)
def test_whatever_goes_wrong_in_looking_nobody_is_found(error: Exception) -> None:
    def find(client: Address, proxy: Address) -> ClientProcess | None:
        raise error

    resolver = ProcessResolver(find)
    resolver.connected("c", ("127.0.0.1", 1), ("127.0.0.1", 2))
    assert resolver.process("c") is None
    resolver.close()


def test_a_look_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_PATIENCE", 0.01)
    go_on = threading.Event()

    def find(client: Address, proxy: Address) -> ClientProcess | None:
        go_on.wait(10)
        return None

    resolver = ProcessResolver(find)
    resolver.connected("c", ("127.0.0.1", 1), ("127.0.0.1", 2))
    resolver.connected("queued", ("127.0.0.1", 3), ("127.0.0.1", 2))
    assert resolver.process("c") is None
    resolver.close()
    assert resolver.process("queued") is None  # it was never looked at
    go_on.set()


def test_only_so_many_connections_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_KEPT", 3)
    resolver = ProcessResolver(lambda client, proxy: ClientProcess(client[1], 1.0))
    for number in range(5):
        resolver.connected(f"c{number}", ("127.0.0.1", number), ("127.0.0.1", 9))
    assert resolver.process("c1") is None
    assert resolver.process("c4") == ClientProcess(4, 1.0)
    resolver.close()
