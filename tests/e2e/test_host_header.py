"""The address that a client connects to decides what is captured, not its Host header."""

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest

from ccwire.demo.stand_in import scenarios
from tests.rig import Rig, messages_body, new_session, rig

API = "api.anthropic.com"
OTHER = "example.org"


@pytest.fixture
def wire(tmp_path: Path, confdir: Path) -> Iterator[Rig]:
    with rig(tmp_path, scenarios.named("plain"), confdir) as made:
        yield made


def post(wire: Rig, session: str, *, tunnel_host: str = API, inner_host: str = API) -> int:
    """Post through a tunnel to the API whose CONNECT and whose request name these hosts."""
    connection = wire.connect()
    connection.set_tunnel(API, 443, {"Host": tunnel_host})
    try:
        headers = {"Host": inner_host}
        connection.request("POST", "/v1/messages", messages_body("hi", session), headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


@pytest.mark.parametrize(("tunnel_host", "inner_host"), [(OTHER, API), (API, OTHER)])
def test_a_tunnel_to_the_api_is_captured(tunnel_host: str, inner_host: str, wire: Rig) -> None:
    session = new_session()
    assert post(wire, session, tunnel_host=tunnel_host, inner_host=inner_host) == 200
    (line,) = wire.exchanges(session, 1)
    assert (line["complete"], line["status"]) == (True, 200)


@pytest.mark.parametrize(
    ("method", "target"), [("CONNECT", f"{OTHER}:443"), ("POST", f"http://{OTHER}/v1/messages")]
)
def test_another_host_that_claims_to_be_the_api_is_refused(
    method: str, target: str, wire: Rig
) -> None:
    session = new_session()
    connection = http.client.HTTPConnection("127.0.0.1", wire.proxy.port, timeout=30)
    body = None if method == "CONNECT" else messages_body("hi", session)
    connection.request(method, target, body, {"Host": API})
    assert connection.getresponse().status == 403
    connection.close()
    assert wire.api.ledger.messages() == []
    assert not (wire.captures / session).exists()
