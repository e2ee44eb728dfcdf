"""A company's proxy that refuses, fails or repeats secrets: each is an exchange with its error."""

import http.client
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ccwire.demo.stand_in.server import StandIn
from tests.company import (
    CREDENTIALS,
    ENCODED,
    PASSWORD,
    USER,
    CompanyCA,
    CompanyProxy,
)
from tests.e2e.company_rig import (
    API,
    PLAIN,
    TUNNELLED,
    ask,
    capturing,
    free_port,
    get,
    no_secret_is_in,
    routes,
    variables,
)
from tests.rig import messages_body, new_session


@pytest.mark.parametrize(
    ("company", "url", "problem"),
    [
        ({}, "{user}:wrong@{name}", "rejected the user name or password in HTTPS_PROXY (407)"),
        ({}, "{name}", "asks for a password (407); add it to HTTPS_PROXY"),
        ({"answer": 403}, None, f"refused to connect to {API}:443 (403)"),
        ({"answer": 502}, None, f"refused to connect to {API}:443 (502)"),
    ],
)
def test_a_proxy_that_refuses_is_an_exchange_with_its_error(
    tmp_path: Path,
    confdir: Path,
    api: StandIn,
    ca: CompanyCA,
    company: dict[str, Any],
    url: str | None,
    problem: str,
) -> None:
    with CompanyProxy(routes(api), ca, **company) as proxy:
        given = url.format(user=USER, name=proxy.name) if url else proxy.url
        with capturing(tmp_path, confdir, api, {"HTTPS_PROXY": given}) as wire:
            status, line = ask(wire)
    expected = f"upstream proxy {proxy.name} {problem}"
    assert (status, line["error"], line["ended_by"]) == (502, expected, "server_disconnect")
    assert line["path"] == "/v1/messages"
    assert wire.proxy.log.read_text().count(f"ccwire: {expected}") == 1
    assert len(proxy.refused) == 1
    no_secret_is_in(tmp_path)


def test_a_plain_http_request_without_the_password(
    tmp_path: Path, confdir: Path, api: StandIn
) -> None:
    with CompanyProxy(routes(api)) as company:
        given = {"http_proxy": company.name}
        with capturing(tmp_path, confdir, api, given, hosts=[PLAIN]) as wire:
            assert get(wire.proxy.port, PLAIN, None, 80) == 407
            (line,) = wire.exchanges("unknown", 1)
    expected = f"upstream proxy {company.name} asks for a password (407); add it to HTTPS_PROXY"
    assert (line["status"], line["error"]) == (407, expected)


@pytest.mark.parametrize("is_http", [True, False])
def test_a_proxy_that_repeats_its_password(
    tmp_path: Path, confdir: Path, api: StandIn, is_http: bool
) -> None:
    answer = f"NONSENSE Basic {CREDENTIALS} {PASSWORD}\r\n\r\n"
    if is_http:
        body = f'{{"error": {{"type": "no", "message": "{USER}:{PASSWORD} {ENCODED}"}}}}'
        head = f"HTTP/1.1 407 No {PASSWORD}\r\nx-seen: Basic {CREDENTIALS}\r\n"
        answer = f"{head}location: http://{USER}:{ENCODED}@proxy/\r\n\r\n{body}"
    with (
        echo(answer) as company,
        capturing(tmp_path, confdir, api, variables(company), hosts=[PLAIN]) as wire,
    ):
        get(wire.proxy.port, PLAIN, None, 80)
        (line,) = wire.exchanges("unknown", 1)
    assert line["status"] == (407 if is_http else None)
    no_secret_is_in(tmp_path)  # mitmproxy's log too


@contextmanager
def echo(answer: str) -> Iterator[CompanyProxy]:
    """A proxy that answers every request with the same text."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            self.wfile.write(answer.encode())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield CompanyProxy({}, port=server.server_address[1])
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_stopped_is_an_exchange_with_its_error(
    tmp_path: Path, confdir: Path, api: StandIn, ca: CompanyCA, scheme: str
) -> None:
    port = free_port()
    given = {"HTTPS_PROXY": f"{scheme}://{USER}:{ENCODED}@127.0.0.1:{port}"}
    with capturing(tmp_path, confdir, api, given) as wire:
        status, line = ask(wire)
        with pytest.raises((OSError, http.client.HTTPException)):
            get(wire.proxy.port, TUNNELLED, ca.file)
    expected = f"upstream proxy 127.0.0.1:{port} refused the connection"
    assert (status, line["error"]) == (502, expected)
    assert wire.proxy.log.read_text().count(f"ccwire: {expected}") == 1
    no_secret_is_in(tmp_path)


def test_a_proxy_that_does_not_answer_is_named_when_the_client_leaves(
    tmp_path: Path, confdir: Path, api: StandIn
) -> None:
    session = new_session()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(30)
        port = silent.getsockname()[1]
        given = {"HTTPS_PROXY": f"http://127.0.0.1:{port}"}
        with capturing(tmp_path, confdir, api, given) as wire:
            client = wire.connect()
            client.request("POST", "/v1/messages", messages_body("hello", session))
            accepted, _ = silent.accept()
            with accepted:
                assert accepted.recv(1000).startswith(b"CONNECT ")
                client.close()
                (line,) = wire.exchanges(session, 1)
    expected = f"upstream proxy 127.0.0.1:{port} did not answer before the client disconnected"
    assert (line["ended_by"], line["error"]) == ("client_disconnect", expected)
    assert wire.proxy.log.read_text().count(f"ccwire: {expected}") == 1


def test_a_client_that_leaves_a_slow_answer_names_no_proxy(
    tmp_path: Path, confdir: Path, api: StandIn, ca: CompanyCA
) -> None:
    session = new_session()
    with socket.create_server(("127.0.0.1", 0)) as slow:
        slow.settimeout(30)
        mapped = {f"{API}:443": slow.getsockname()[1]}
        with (
            CompanyProxy(mapped, ca) as company,
            capturing(tmp_path, confdir, api, variables(company, ca)) as wire,
        ):
            client = wire.connect()
            client.request("POST", "/v1/messages", messages_body("hello", session))
            accepted, _ = slow.accept()
            with accepted:
                assert accepted.recv(10).startswith(b"POST ")
                client.close()
                (line,) = wire.exchanges(session, 1)
    assert line["ended_by"] == "client_disconnect"
    assert "upstream proxy" not in line["error"]


def test_a_host_that_refuses_is_an_exchange_with_its_error(
    tmp_path: Path, confdir: Path, api: StandIn
) -> None:
    port = free_port()
    with capturing(tmp_path, confdir, api, {}, hosts=["127.0.0.1"]) as wire:
        assert get(wire.proxy.port, "127.0.0.1", wire.proxy.ca_cert, port) == 502
        (line,) = wire.exchanges("unknown", 1)
    assert (line["path"], line["error"]) == ("/hello", f"127.0.0.1:{port} refused the connection")


@pytest.mark.parametrize("of_proxy", [False, True])
def test_an_untrusted_certificate_is_an_exchange_with_its_error(
    tmp_path: Path, confdir: Path, api: StandIn, ca: CompanyCA, of_proxy: bool
) -> None:
    """The certificate of the host, as the proxy re-signs it, and that of the proxy itself."""
    with (
        CompanyProxy(routes(api), ca, host="localhost" if of_proxy else None) as company,
        capturing(tmp_path, confdir, api, variables(company)) as wire,
    ):
        status, line = ask(wire)
    whose = f"upstream proxy {company.name}" if of_proxy else f"{API}:443"
    assert status == 502
    assert line["error"].startswith(f"the certificate of {whose} is not trusted (")
    assert "NODE_EXTRA_CA_CERTS" in line["error"]
    assert company.seen == ([] if of_proxy else [f"CONNECT {API}:443"])


def test_a_proxy_that_points_at_itself_does_not_loop(
    tmp_path: Path, confdir: Path, api: StandIn
) -> None:
    port = free_port()
    given = {"HTTPS_PROXY": f"http://127.0.0.1:{port}"}
    with capturing(tmp_path, confdir, api, given, port=port) as wire:
        status, line = ask(wire)
    assert status == 502
    assert line["error"].startswith(f"upstream proxy 127.0.0.1:{port} is this proxy itself")
