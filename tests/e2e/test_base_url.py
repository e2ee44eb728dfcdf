"""The reverse port of `--via base-url`: the same exchanges as through the proxy."""

import http.client
import socket
from pathlib import Path

import pytest

from addon.launch.proxy import Proxy, ProxyError
from ccwire.demo.stand_in import scenarios
from ccwire.demo.stand_in.server import StandIn
from tests.company import CompanyCA, CompanyProxy
from tests.e2e.company_rig import API, PLAIN, capturing, routes, variables
from tests.rig import Rig, messages_body, new_session, rig

PATH = "/llm/v1/messages?beta=true"


def post(port: int, session: str, *, url: str = PATH, tunnel: tuple[str, int] | None = None) -> int:
    """Post a message to a port of the proxy, and return the status of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    if tunnel:
        connection.set_tunnel(*tunnel)
    try:
        headers = {"content-type": "application/json"}
        connection.request("POST", url, messages_body("hi", session), headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def recorded(wire: Rig, session: str) -> tuple[str, str, int, str]:
    (line,) = wire.exchanges(session, 1)
    request = wire.request(session, line["sequence"])
    return request["url"], request["headers"]["host"], line["status"], line["kind"]


def test_an_exchange_is_recorded_with_the_server_behind_the_port(
    tmp_path: Path, confdir: Path
) -> None:
    session = new_session()
    server = "https://api.anthropic.com"
    with rig(tmp_path, scenarios.named("plain"), confdir, reverse=server) as wire:
        assert post(wire.proxy.reverse_port, session) == 200
        assert recorded(wire, session) == (f"{server}{PATH}", API, 200, "messages")


@pytest.mark.parametrize("form", ["absolute", "tunnel"])
def test_a_client_that_uses_its_proxy_for_loopback_too(
    form: str, tmp_path: Path, confdir: Path
) -> None:
    session = new_session()
    with rig(tmp_path, scenarios.named("plain"), confdir, reverse=f"https://{API}") as wire:
        own = ("127.0.0.1", wire.proxy.reverse_port)
        if form == "absolute":
            status = post(wire.proxy.port, session, url=f"http://{own[0]}:{own[1]}{PATH}")
        else:
            status = post(wire.proxy.port, session, tunnel=own)
        assert status == 200
        assert recorded(wire, session) == (f"https://{API}{PATH}", API, 200, "messages")


@pytest.mark.parametrize(("server", "host"), [(f"https://{API}", API), (f"http://{PLAIN}", PLAIN)])
def test_the_company_proxy_is_behind_the_reverse_port_too(
    server: str, host: str, tmp_path: Path, confdir: Path, api: StandIn
) -> None:
    ca = CompanyCA(tmp_path)
    session = new_session()
    with (
        CompanyProxy(routes(api), ca if server.startswith("https") else None) as company,
        capturing(
            tmp_path, confdir, api, variables(company, ca), hosts=[host], reverse=server
        ) as wire,
    ):
        assert post(wire.proxy.reverse_port, session) == 200
        assert recorded(wire, session) == (f"{server}{PATH}", host, 200, "messages")
    assert company.seen == [f"CONNECT {host}:{443 if server.startswith('https') else 80}"]
    assert company.refused == []


def test_the_ports_stay_the_same_after_a_restart(tmp_path: Path, confdir: Path) -> None:
    proxy = Proxy(
        tmp_path / "captures",
        log=tmp_path / "proxy.log",
        upstream="http://127.0.0.1:9",
        confdir=confdir,
        reverse=f"https://{API}",
    )
    with proxy:
        before = (proxy.port, proxy.reverse_port)
        proxy.kill()
        proxy.start()
        assert (proxy.port, proxy.reverse_port) == before


def test_a_reverse_port_in_use_is_reported(tmp_path: Path, confdir: Path) -> None:
    proxy = Proxy(
        tmp_path / "captures",
        log=tmp_path / "proxy.log",
        upstream="http://127.0.0.1:9",
        confdir=confdir,
        reverse=f"https://{API}",
    )
    with (
        socket.create_server(("127.0.0.1", proxy.reverse_port)),
        pytest.raises(ProxyError, match="address already in use"),
    ):
        proxy.start()
