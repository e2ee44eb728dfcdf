"""A misbehaving upstream and a disconnecting client: both see what they would without the proxy.

The stand-in API gets the same request twice, directly and through the proxy.
"""

import dataclasses
import http.client
import socket
import struct
import urllib.parse
from collections.abc import Iterator

import pytest

from ccwire.demo.stand_in.scenario import Answer, Scenario, Text
from tests.rig import Rig, messages_body, new_session, rig

WHOLE = Answer((Text("One two three."),))
EVENTS = 9  # message_start, block start, ping, three words, block stop, delta, stop


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    folder = tmp_path_factory.mktemp("upstream")
    with rig(folder, always(WHOLE), folder / "mitmproxy") as running:
        yield running


def always(answer: Answer) -> Scenario:
    return Scenario(name="fault", prompt="lab:fault", fallback=answer)


def directly(wire: Rig, body: bytes) -> tuple[int, bytes, bool]:
    host = urllib.parse.urlsplit(wire.api.url)
    return read(http.client.HTTPConnection(host.hostname or "", host.port, timeout=30), body)


def read(connection: http.client.HTTPConnection, body: bytes) -> tuple[int, bytes, bool]:
    """Return status, body, and whether the body is complete."""
    connection.request("POST", "/v1/messages?beta=true", body)
    answer = connection.getresponse()
    got = b""
    try:
        while piece := answer.read1():
            got += piece
        is_whole = answer.length in (None, 0)
    except (http.client.IncompleteRead, ConnectionError):
        is_whole = False
    connection.close()
    return answer.status, got, is_whole


def kinds(got: bytes) -> bytes:
    """Return the event types, which are the same for every call; ids and numbers differ."""
    return b"\n".join(line for line in got.splitlines() if line.startswith(b"event"))


@pytest.mark.parametrize(
    ("fault", "ended_by", "complete"),
    [
        ({"stall_after": 4, "stall": 0.3}, "message_stop", True),
        ({"first_delay": 0.3}, "message_stop", True),
        ({"cut_after": 0}, "server_disconnect", False),
        ({"cut_after": 1}, "server_disconnect", False),
        ({"cut_after": EVENTS - 1}, "server_disconnect", False),
        ({"cut_after": EVENTS}, "message_stop", True),
        ({"cut_after": 5, "encoding": "gzip"}, "server_disconnect", False),
        ({"error_after": 4}, "error_event", False),
        ({"shred": 1}, "message_stop", True),
        ({"inserted": (b"event: new_kind\ndata: not json\n\n",)}, "message_stop", True),
    ],
    ids=str,
)
def test_a_broken_stream_is_passed_on_unchanged_and_recorded_as_it_was(
    wire: Rig, fault: dict[str, object], ended_by: str, complete: bool
) -> None:
    session = new_session()
    wire.api.scenario = always(dataclasses.replace(WHOLE, **fault))  # type: ignore[arg-type]
    plain = directly(wire, messages_body("directly", session))
    through = read(wire.connect(), messages_body("through the proxy", session))
    if "encoding" not in fault:
        assert kinds(through[1]) == kinds(plain[1])
        assert through[1] == b"".join(wire.api.ledger.messages()[-1].event_bytes)
    assert (through[0], through[2]) == (plain[0], plain[2])
    (line,) = wire.exchanges(session, 1)
    served = wire.api.ledger.messages()[-1]
    assert (line["ended_by"], line["complete"]) == (ended_by, complete)
    assert line["usage_at_start"] == served.start_usage
    assert line["message_id"] == (served.message_id if served.events else None)
    if served.usage is not None:
        assert line["usage"] == served.usage


def test_a_reset_loses_at_most_what_had_not_arrived(wire: Rig) -> None:
    session = new_session()
    wire.api.scenario = always(
        dataclasses.replace(WHOLE, cut_after=6, reset=True, event_delay=0.02)
    )
    status, got, is_whole = read(wire.connect(), messages_body("reset", session))
    assert (status, is_whole) == (200, False)
    assert b"".join(wire.api.ledger.messages()[-1].event_bytes).startswith(got)
    (line,) = wire.exchanges(session, 1)
    assert (line["ended_by"], line["complete"]) == ("server_disconnect", False)
    start = wire.api.ledger.messages()[-1].start_usage
    events = wire.response(session, 1)["body"]["events"]
    assert line["usage_at_start"] == (start if events else None)


@pytest.mark.parametrize("claim", [40, -5])
def test_a_wrong_content_length_is_passed_on_and_its_bytes_are_kept(wire: Rig, claim: int) -> None:
    session = new_session()
    wire.api.scenario = always(dataclasses.replace(WHOLE, claim=claim))
    plain = directly(wire, messages_body("directly", session, stream=False))
    through = read(wire.connect(), messages_body("through", session, stream=False))
    assert (through[0], through[2]) == (plain[0], plain[2])
    (line,) = wire.exchanges(session, 1)
    body = wire.response(session, 1)["body"]
    assert body["size"] == len(through[1])
    if claim < 0:  # cut off inside its JSON: no message, so no usage
        assert (line["usage"], body["type"]) == (None, "text")
    else:
        assert (line["complete"], line["ended_by"]) == (False, "server_disconnect")
        assert body["data"]["usage"] == wire.api.ledger.messages()[-1].usage


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("after", range(EVENTS))
def test_a_client_that_leaves_at_any_event_leaves_a_true_account(
    wire: Rig, after: int, how: str
) -> None:
    """The stand-in stops after that event, so that the client receives it and no later one."""
    session = new_session()
    wire.api.scenario = always(dataclasses.replace(WHOLE, stall_after=after + 1, stall=20))
    connection = wire.connect()
    connection.request("POST", "/v1/messages?beta=true", messages_body("leaves", session))
    answer = connection.getresponse()
    got = b""
    while got.count(b"\n\n") <= after:
        got += answer.read1()
    if how == "reset":
        linger = struct.pack("ii", 1, 0)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    answer.close()
    connection.close()
    (line,) = wire.exchanges(session, 1)
    assert got.count(b"\n\n") == after + 1
    assert len(wire.response(session, 1)["body"]["events"]) == after + 1
    is_whole = after == EVENTS - 1
    assert line["complete"] is is_whole
    assert line["ended_by"] == ("message_stop" if is_whole else "client_disconnect")
    assert line["usage_at_start"]["output_tokens"] == 2
    assert line["message_id"]
    assert (line["stop_reason"] is not None) is (after >= EVENTS - 2)
