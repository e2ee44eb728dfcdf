"""A proxy of `ccwire run` and a process that this run did not start."""

import base64
import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from addon.launch.proxy_log import connections
from ccwire.demo.stand_in import scenarios
from tests.rig import Rig, messages_body, new_session, rig, until

API = "api.anthropic.com"
WHY = b"ccwire: refused, because this proxy serves only the command that `ccwire run` started\n"
RUN = "run-20260101-000000-abcd"
SECRET = "made-up-password-of-this-run"

# Posts once through the proxy, and writes the status of the answer to a file.
CLIENT = """\
import http.client, ssl, sys
port, ca, out = sys.argv[1:4]
context = ssl.create_default_context(cafile=ca)
connection = http.client.HTTPSConnection("127.0.0.1", int(port), context=context, timeout=30)
connection.set_tunnel("api.anthropic.com", 443)
try:
    connection.request("POST", "/v1/messages", open(sys.argv[4], "rb").read())
    status = connection.getresponse().status
except OSError as error:
    status = str(error)
open(out + ".new", "w").write(str(status))
import os; os.rename(out + ".new", out)
"""


@pytest.fixture
def other() -> Iterator[int]:
    """The pid of a process that has started none."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


@contextmanager
def guarded(folder: Path, confdir: Path, **options: Any) -> Iterator[Rig]:
    with rig(folder, scenarios.named("plain"), confdir, **options) as wire:
        yield wire


def request(port: int, method: str, target: str, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, target, None if method == "CONNECT" else b"{}", headers)
    answer = connection.getresponse()
    try:
        return answer.status, answer.read()
    finally:
        connection.close()


def test_a_stranger_gets_one_sentence_and_nothing_is_sent_or_recorded(
    tmp_path: Path, confdir: Path, other: int
) -> None:
    named = {"x-claude-code-session-id": new_session()}
    with guarded(tmp_path, confdir, clients=other, reverse=f"https://{API}") as wire:
        for port, method, target in (
            (wire.proxy.port, "CONNECT", f"{API}:443"),
            (wire.proxy.port, "CONNECT", "example.org:443"),
            (wire.proxy.port, "POST", f"http://{API}/v1/messages"),
            (wire.proxy.port, "GET", "http://example.org/"),
            (wire.proxy.reverse_port, "POST", "/v1/messages"),
        ):
            assert request(port, method, target, **named) == (403, WHY)
        assert wire.api.ledger.messages() == []
    assert not list(wire.captures.glob("*/*"))
    log = wire.proxy.log.read_text()
    assert log.count(f"ccwire: refused process {os.getpid()}, because this proxy serves") == 1
    seen = connections(log)
    assert seen is not None
    assert (seen.count, seen.refused, seen.others) == (0, 5, {})


def test_a_stranger_that_leaves_at_once_leaves_no_record(
    tmp_path: Path, confdir: Path, other: int
) -> None:
    body = messages_body("made up", new_session())
    head = f"POST http://{API}/v1/messages HTTP/1.1\r\nHost: {API}\r\n"
    with guarded(tmp_path, confdir, clients=other) as wire:
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", wire.proxy.port), 30) as connection:
                length = f"Content-Length: {len(body)}\r\n\r\n"
                connection.sendall((head + length).encode() + body)
        assert request(wire.proxy.port, "GET", "http://example.org/")[0] == 403
    assert wire.api.ledger.messages() == []
    assert not list(wire.captures.glob("*/*"))


def test_a_large_body_of_a_stranger_is_not_read(tmp_path: Path, confdir: Path, other: int) -> None:
    with guarded(tmp_path, confdir, clients=other) as wire:
        connection = http.client.HTTPConnection("127.0.0.1", wire.proxy.port, timeout=30)
        connection.putrequest("POST", f"http://{API}/v1/messages")
        connection.putheader("content-length", str(1 << 40))
        connection.endheaders()
        with pytest.raises(http.client.HTTPException):
            connection.getresponse()
        connection.close()
        assert wire.api.ledger.messages() == []


def test_the_run_itself_and_its_descendants_are_served(tmp_path: Path, confdir: Path) -> None:
    session = new_session()
    with guarded(tmp_path, confdir, clients=os.getpid()) as wire:
        assert wire.post(messages_body("own", session))[0] == 200
        assert _detached(wire, tmp_path / "status", {}, detach=False) == "200"
        assert len(wire.api.ledger.messages()) == 2


@pytest.mark.parametrize(("mark", "status"), [(RUN, "200"), ("run-other", "403"), (None, "403")])
def test_a_process_whose_parent_has_exited_is_known_by_its_mark(
    mark: str | None, status: str, tmp_path: Path, confdir: Path, other: int
) -> None:
    environment = {"CCWIRE_RUN": mark} if mark else {}
    with guarded(tmp_path, confdir, clients=other, run=RUN) as wire:
        assert status in _detached(wire, tmp_path / "status", environment)


def test_the_password_of_the_run_is_enough_and_goes_no_further(
    tmp_path: Path, confdir: Path, other: int
) -> None:
    session = new_session()
    given = "Basic " + base64.b64encode(f"ccwire:{SECRET}".encode()).decode()
    wrong = "Basic " + base64.b64encode(b"ccwire:another-password").decode()
    with guarded(tmp_path, confdir, clients=other, password=SECRET) as wire:
        connection = wire.connect()
        connection.set_tunnel(API, 443, {"Proxy-Authorization": given})
        connection.request("POST", "/v1/messages", messages_body(f"it is {SECRET}", session))
        assert connection.getresponse().status == 200
        connection.close()
        headers = {"Proxy-Authorization": given, "x-claude-code-session-id": session}
        assert request(wire.proxy.port, "POST", f"http://{API}/v1/messages", **headers)[0] == 200
        (_, plain) = wire.exchanges(session, 2)
        recorded = wire.request(session, plain["sequence"])
        assert "proxy-authorization" not in {name.lower() for name in recorded["headers"]}
        headers["Proxy-Authorization"] = wrong
        assert request(wire.proxy.port, "POST", f"http://{API}/v1/messages", **headers)[0] == 403
    for path in [*wire.captures.rglob("*"), wire.proxy.log]:
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()


def _detached(wire: Rig, out: Path, environment: dict[str, str], *, detach: bool = True) -> str:
    """Post from a process, by default one that no longer has its parent; return the outcome."""
    body = out.with_name("body")
    body.write_bytes(messages_body("from elsewhere", new_session()))
    program = [sys.executable, "-c", CLIENT, str(wire.proxy.port), str(wire.proxy.ca_cert)]
    program += [str(out), str(body)]
    command = ["sh", "-c", 'setsid "$@" & exit 0', "sh", *program] if detach else program
    subprocess.run(command, env={"PATH": os.environ["PATH"], **environment}, check=True)
    until(out.exists, 30)
    return out.read_text()
