"""The hooks that chain a company's proxy, called as mitmproxy calls them."""

import errno
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mitmproxy import connection, exceptions, flow, http
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.proxy import context, layer, server_hooks
from mitmproxy.test import taddons, tflow

from addon.capture import Capture
from addon.chain import Chain

PROXY = ("proxy.example", 3128)
NOBODY = f"[Errno {errno.ECONNREFUSED}] Connect call failed ('10.0.0.1', 3128)"
OTHER = ("other.example", 8080)
PASSWORD = "Basic bWU6cGFAc3M="  # me:pa@ss
VARIABLES = {
    "HTTPS_PROXY": "http://me:pa%40ss@proxy.example:3128",
    "HTTP_PROXY": "https://me:pa%40ss@other.example:8080",
    "NO_PROXY": "direct.example",
}

type Start = Callable[..., tuple[Chain, Any]]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start the add-on with these options in an environment that names two proxies."""
    for name, value in VARIABLES.items():
        monkeypatch.delenv(name.lower(), raising=False)
        monkeypatch.setenv(name, value)
    capture = Capture()
    (chain,) = capture.addons
    with taddons.context(Proxyserver(), capture) as running:

        def configured(**options: Any) -> tuple[Chain, Any]:
            running.configure(capture, capture_dir=str(tmp_path / "captures"), **options)
            return chain, running

        yield configured
    chain.done()


def made(url: str, method: str = "GET") -> http.HTTPFlow:
    """A flow as it is before a connection: no response, no server address."""
    found = tflow.tflow()
    found.server_conn = connection.Server(address=None)
    found.request = http.Request.make(method, url)
    found.request.authority = f"{found.request.host}:{found.request.port}"
    return found


def test_https_and_http_have_their_own_proxy(start: Start) -> None:
    chain, _ = start(capture_proxy="env")
    connect, plain = made("https://api.example/"), made("http://api.example/")
    chain.http_connect(connect)
    chain.requestheaders(plain)
    assert connect.server_conn.via == ("http", PROXY)
    assert plain.server_conn.via == ("https", OTHER)


def test_without_the_option_nothing_is_chained(start: Start) -> None:
    chain, running = start()
    found = made("http://api.example/")
    chain.http_connect(found)
    chain.requestheaders(found)
    chain.request(found)
    assert found.server_conn.via is None
    assert "Proxy-Authorization" not in found.request.headers
    assert running.options.connection_strategy == "eager"


def test_capture_upstream_turns_it_off(start: Start) -> None:
    chain, _ = start(capture_upstream="http://127.0.0.1:1", capture_proxy="env")
    found = made("https://api.example/")
    chain.http_connect(found)
    assert found.server_conn.via is None


def test_the_password_is_sent_with_connect_only_to_its_proxy(start: Start) -> None:
    chain, _ = start(capture_proxy="env")
    for address, expected in ((PROXY, PASSWORD), (("elsewhere.example", 3128), None)):
        found = made("https://api.example/", "CONNECT")
        found.server_conn = connection.Server(address=address)
        chain.http_connect_upstream(found)
        assert found.request.headers.get("Proxy-Authorization") == expected


@pytest.mark.parametrize("streamed", [False, True])
def test_a_plain_http_request_carries_the_password_until_it_is_sent(
    start: Start, streamed: bool
) -> None:
    chain, _ = start(capture_proxy="env")
    found = made("http://api.example/")
    found.request.stream = streamed
    chain.requestheaders(found)
    assert ("Proxy-Authorization" in found.request.headers) is streamed  # else it is recorded first
    chain.request(found)
    assert found.request.headers["Proxy-Authorization"] == PASSWORD
    chain.responseheaders(found)
    assert "Proxy-Authorization" not in found.request.headers


def test_a_failed_plain_http_request_keeps_no_password(start: Start) -> None:
    chain, _ = start(capture_proxy="env")
    found = made("http://api.example/")
    chain.request(found)
    chain.error(found)
    assert "Proxy-Authorization" not in found.request.headers


def test_a_plain_http_request_to_an_exception_is_an_ordinary_one(start: Start) -> None:
    chain, _ = start(capture_proxy="env")
    found = made("http://direct.example/")
    chain.requestheaders(found)
    chain.request(found)
    assert (found.server_conn.via, found.request.authority) == (None, "")
    assert "Proxy-Authorization" not in found.request.headers


@pytest.mark.parametrize(("host", "via"), [("direct.example", None), ("a.example", PROXY)])
def test_a_tunnel_to_an_exception_is_direct(
    start: Start, host: str, via: tuple[str, int] | None
) -> None:
    chain, running = start(capture_proxy="env")
    tunnel = context.Context(tflow.tclient_conn(), running.options)
    tunnel.server = connection.Server(address=(host, 443), via=("http", PROXY))
    chain.next_layer(layer.NextLayer(tunnel))
    assert tunnel.server.address == (host, 443)
    assert tunnel.server.via == (("http", via) if via else None)


def test_an_error_names_the_proxy_and_is_logged_once(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    chain, _ = start(capture_proxy="env")
    found = made("https://api.example/")
    found.error = flow.Error(NOBODY)
    expected = "upstream proxy proxy.example:3128 refused the connection"
    with caplog.at_level(logging.WARNING, "ccwire"):
        assert [chain.failure(found), chain.failure(found)] == [expected, expected]
        server = connection.Server(address=PROXY)
        server.error = NOBODY
        data = server_hooks.ServerConnectionHookData(server, found.client_conn)
        chain.server_connect_error(data)
    assert [record.message for record in caplog.records] == [f"ccwire: {expected}"]


def test_an_error_after_the_answer_began_is_no_failed_connection(start: Start) -> None:
    chain, _ = start(capture_proxy="env")
    found = tflow.tflow(resp=True, err=True)
    assert chain.failure(found) is None


def test_tls_that_failed_with_the_proxy_is_its_certificate(start: Start) -> None:
    chain, running = start(capture_proxy="env")
    found = made("https://api.example/")
    found.error = flow.Error("Certificate verify failed: expired")
    tunnel = context.Context(found.client_conn, running.options)
    tunnel.server = connection.Server(address=("api.example", 443), via=("https", PROXY))
    failed = SimpleNamespace(context=tunnel, conn=connection.Server(address=PROXY))
    assert "certificate of api.example:443" in (chain.failure(found) or "")
    chain.tls_failed_server(failed)  # type: ignore[arg-type]
    assert "certificate of upstream proxy proxy.example:3128" in (chain.failure(found) or "")
    chain.client_disconnected(found.client_conn)
    assert "certificate of api.example:443" in (chain.failure(found) or "")


def test_the_proxys_own_answer_is_an_error(start: Start) -> None:
    chain, _ = start(capture_proxy="env")
    found = made("http://api.example/")
    found.response = http.Response.make(407)
    expected = "upstream proxy other.example:8080 rejected the user name or password"
    assert (chain.refusal(found) or "").startswith(expected)
    found.request = http.Request.make("GET", "https://api.example/")
    assert chain.refusal(found) is None


def test_a_proxy_is_chained_from_the_start_or_not_at_all(start: Start) -> None:
    chain, running = start(capture_proxy="env")
    chain.running()
    assert running.options.mode == ["upstream:http://proxy.example:3128"]
    assert running.options.connection_strategy == "lazy"
    with pytest.raises(exceptions.OptionsError, match="when the proxy starts"):
        running.configure(chain, capture_proxy="")


@pytest.mark.parametrize(
    "url", ["socks5://me:secret@h:1", "http://me:secret@h:1", "http://me:se/cret@h:1"]
)
def test_an_unusable_url_is_refused_without_the_password(start: Start, url: str) -> None:
    with pytest.raises(exceptions.OptionsError) as error:
        start(capture_proxy=url)
    assert "cret" not in str(error.value)


def test_upstream_certificates_are_trusted_until_the_end(start: Start) -> None:
    chain, running = start()
    chain.running()
    written = Path(running.options.ssl_verify_upstream_trusted_ca)
    assert written.read_bytes().count(b"BEGIN CERTIFICATE") > 50
    chain.done()
    assert not written.exists()


def test_a_users_choice_of_certificates_is_kept(start: Start, tmp_path: Path) -> None:
    chain, running = start(ssl_verify_upstream_trusted_ca=str(tmp_path / "own.pem"))
    chain.running()
    assert running.options.ssl_verify_upstream_trusted_ca == str(tmp_path / "own.pem")


def connect_to(start: Start, monkeypatch: pytest.MonkeyPatch, proxy: str) -> http.HTTPFlow:
    """Return the CONNECT request to an https proxy that the environment names."""
    monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy}:8080")
    chain, _ = start(capture_proxy="env")
    found = made("https://api.example/", "CONNECT")
    found.server_conn = connection.Server(address=(proxy, 8080))
    chain.http_connect_upstream(found)
    return found


def test_only_a_proxy_on_this_machine_learns_the_folder(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "X-Ccwire-Captures" in connect_to(start, monkeypatch, "127.0.0.1").request.headers
    assert "X-Ccwire-Captures" not in connect_to(start, monkeypatch, "far.example").request.headers


def test_a_proxy_with_the_same_folder_is_recognised(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = connect_to(start, monkeypatch, "127.0.0.1")
    other = made("https://api.example/", "CONNECT")
    other.request.headers["X-Ccwire-Captures"] = "0" * 64
    chain, _ = start()
    for found, expected in ((same, True), (other, False)):
        chain.recognise(found)
        assert "X-Ccwire-Captures" not in found.request.headers
        assert chain.is_captured_elsewhere(found.client_conn) is expected
    chain.client_disconnected(same.client_conn)
    assert not chain.is_captured_elsewhere(same.client_conn)
