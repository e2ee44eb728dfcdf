"""The add-on in a real mitmdump, between a minimal client and the stand-in."""

import gzip
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ccwire.demo.stand_in import scenarios
from tests.rig import Rig, messages_body, new_session, rig, until, user_id

PLAIN = scenarios.named("plain")


def served_events(wire: Rig) -> list[str]:
    return [event.decode() for event in wire.api.ledger.messages()[-1].event_bytes]


@pytest.mark.parametrize("encoding", ["plain", "gzip", "br", "zstd", "deflate"])
def test_every_event_is_captured_as_it_was_served(wire: Rig, encoding: str) -> None:
    session = new_session()
    wire.ask(scenarios.named(encoding), session)
    (line,) = wire.exchanges(session, 1)
    (path,) = (wire.captures / session).glob("0001_resp_*.json")
    raw = path.read_text()
    for event in served_events(wire):  # the file contains each event's data byte for byte
        assert event.partition("data: ")[2].strip() in raw
    assert len(wire.response(session, 1)["body"]["events"]) == len(served_events(wire))
    assert (line["complete"], line["ended_by"]) == (True, "message_stop")
    served = wire.api.ledger.messages()[-1]
    assert line["usage"] == served.usage
    assert line["usage_at_start"] == served.start_usage
    assert (line["request_id"], line["message_id"]) == (served.request_id, served.message_id)


def test_many_exchanges_give_as_many_pairs(wire: Rig) -> None:
    session = new_session()
    wire.api.scenario = PLAIN
    before = len(wire.api.ledger.messages())
    body = messages_body(PLAIN.prompt, session)
    threads = [threading.Thread(target=wire.post, args=(body,)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = wire.exchanges(session, 20)
    served = wire.api.ledger.messages()[before:]
    assert [line["sequence"] for line in lines] == list(range(1, 21))
    assert {line["request_id"] for line in lines} == {call.request_id for call in served}
    until(lambda: not list((wire.captures / session).glob("*.part")))
    names = sorted(p.name for p in (wire.captures / session).glob("[0-9]*"))
    assert len(names) == 40
    assert names[:2] == ["0001_req_v1_messages.json", "0001_resp_v1_messages.json"]
    manifest = json.loads((wire.captures / session / "manifest.json").read_text())
    assert manifest["counts"] == {
        "exchanges": 20,
        "complete": 20,
        "incomplete": 0,
        "errors": 0,
        "capture_errors": 0,
    }


def test_the_client_sees_each_event_at_once(wire: Rig) -> None:
    slow = scenarios.named("slow:deltas=20,delay=0.05")
    wire.api.scenario = slow
    connection = wire.connect()
    connection.request("POST", "/v1/messages", messages_body(slow.prompt, new_session()))
    answer = connection.getresponse()
    first = answer.read1(65536)
    assert b"message_start" in first
    assert b"message_stop" not in first
    assert b"message_stop" in answer.read()


def test_a_client_that_leaves_mid_stream_keeps_its_start_usage(wire: Rig) -> None:
    session = new_session()
    slow = scenarios.named("slow:deltas=40,delay=0.05")
    wire.api.scenario = slow
    connection = wire.connect()
    connection.request("POST", "/v1/messages", messages_body(slow.prompt, session))
    answer = connection.getresponse()
    answer.read1(200)
    answer.close()
    connection.close()
    (line,) = wire.exchanges(session, 1)
    assert (line["complete"], line["ended_by"]) == (False, "client_disconnect")
    assert line["usage_at_start"]["output_tokens"] == 2
    assert line["message_id"]


def test_an_upstream_that_disconnects_mid_stream_is_a_server_disconnect(wire: Rig) -> None:
    session = new_session()
    wire.ask(scenarios.named("dropped"), session)
    (line,) = wire.exchanges(session, 1)
    assert (line["complete"], line["ended_by"]) == (False, "server_disconnect")
    assert line["usage_at_start"]["output_tokens"] == 2


def test_an_error_event_ends_an_answer(wire: Rig) -> None:
    session = new_session()
    wire.ask(scenarios.named("error_event"), session)
    (line,) = wire.exchanges(session, 1)
    assert (line["complete"], line["ended_by"]) == (False, "error_event")
    assert line["error"].startswith("overloaded_error")


def test_an_answer_that_is_not_streamed_is_whole(wire: Rig) -> None:
    session = new_session()
    _, body = wire.ask(PLAIN, session, stream=False)
    (line,) = wire.exchanges(session, 1)
    response = wire.response(session, 1)
    assert (line["complete"], line["ended_by"]) == (True, "http_end")
    assert response["body"]["data"] == json.loads(body)
    assert response["message"]["usage"] == wire.api.ledger.messages()[-1].usage


def test_an_error_answer_keeps_its_body(wire: Rig) -> None:
    session = new_session()
    status, body = wire.ask(scenarios.named("too_long"), session)
    (line,) = wire.exchanges(session, 1)
    assert (status, line["status"], line["complete"]) == (400, 400, True)
    assert wire.response(session, 1)["body"]["data"] == json.loads(body)


def test_jq_queries_a_request_file(wire: Rig) -> None:
    session = new_session()
    wire.ask(PLAIN, session)
    wire.exchanges(session, 1)
    (path,) = (wire.captures / session).glob("0001_req_*.json")
    if shutil.which("jq"):
        query = ".body.data.model, (.body.data.messages | length), .session_id"
        output = subprocess.check_output(["jq", "-c", query, path], text=True)
        assert output.split() == ['"claude-sonnet-4-5"', "1", f'"{session}"']
    request = json.loads(path.read_text())
    assert request["body"]["data"]["model"] == "claude-sonnet-4-5"
    assert len(request["body"]["data"]["messages"]) == 1
    assert request["session_id"] == session


def test_a_request_sent_compressed_is_read(wire: Rig) -> None:
    session = new_session()
    wire.api.scenario = PLAIN
    body = gzip.compress(messages_body("compressed request", session))
    wire.post(body, headers={"content-encoding": "gzip"})
    (line,) = wire.exchanges(session, 1)
    request = wire.request(session, 1)
    assert request["body"]["data"]["messages"][0]["content"] == "compressed request"
    assert line["request_bytes"] == len(body)


def test_a_body_that_is_not_json_is_kept(wire: Rig) -> None:
    session = new_session()
    header = {"x-claude-code-session-id": session, "content-type": "text/plain"}
    wire.post(b"just text", "/api/hello", header)
    wire.post(bytes(range(256)), "/api/hello", header)
    wire.post(
        b"a=1&b=2", "/api/hello", header | {"content-type": "application/x-www-form-urlencoded"}
    )
    wire.exchanges(session, 3)
    bodies = [wire.request(session, n)["body"] for n in (1, 2, 3)]
    assert bodies[0] == {"type": "text", "size": 9, "data": "just text"}
    assert (bodies[1]["type"], bodies[1]["size"], "data" in bodies[1]) == ("binary", 256, False)
    assert bodies[2] == {"type": "form", "size": 7, "data": {"a": "1", "b": "2"}}


@pytest.mark.parametrize("place", ["header", "metadata"])
def test_a_session_id_that_is_a_path_lands_in_unknown(wire: Rig, place: str) -> None:
    evil = "../../etc/x"
    wire.api.scenario = PLAIN
    headers = {"x-claude-code-session-id": evil} if place == "header" else {}
    body = messages_body(PLAIN.prompt, None, metadata={"user_id": user_id(evil)})
    before = {p for p in wire.folder.parent.rglob("*") if "captures" not in p.parts}
    count = len(list((wire.captures / "unknown").glob("*_resp_*.json")))
    # Connect from another process, because this test's own process already has a session.
    code = (
        "import http.client, ssl, sys\n"
        "port, ca, body, header = sys.argv[1:]\n"
        "c = http.client.HTTPSConnection('127.0.0.1', int(port),"
        " context=ssl.create_default_context(cafile=ca))\n"
        "c.set_tunnel('api.anthropic.com', 443)\n"
        "h = {'x-claude-code-session-id': header} if header else {}\n"
        "c.request('POST', '/v1/messages', body.encode(), h)\n"
        "c.getresponse().read()\n"
    )
    subprocess.run(
        [
            sys.executable, "-c", code, str(wire.proxy.port), str(wire.proxy.ca_cert),
            body.decode(), headers.get("x-claude-code-session-id", ""),
        ],
        check=True,
    )  # fmt: skip
    until(lambda: len(list((wire.captures / "unknown").glob("*_resp_*.json"))) > count)
    after = {p for p in wire.folder.parent.rglob("*") if "captures" not in p.parts}
    assert after == before
    assert not (wire.captures / ".." / ".." / "etc").exists()


def test_a_killed_proxy_loses_only_what_was_in_flight(tmp_path: Path, confdir: Path) -> None:
    session = new_session()
    slow = scenarios.named("slow:deltas=100,delay=0.05")
    with rig(tmp_path, PLAIN, confdir) as wire:
        wire.ask(PLAIN, session)
        wire.ask(PLAIN, session)
        finished = wire.exchanges(session, 2)
        wire.api.scenario = slow
        connection = wire.connect()
        connection.request("POST", "/v1/messages", messages_body(slow.prompt, session))
        answer = connection.getresponse()
        answer.read1(300)
        part = wire.captures / session / "0003_resp_v1_messages.part"
        until(lambda: part.exists() and b"content_block_delta" in part.read_bytes())
        wire.proxy.kill()
        connection.close()
    with rig(tmp_path, PLAIN, confdir) as wire:
        wire.ask(PLAIN, session)
        lines = wire.exchanges(session, 4)
        assert lines[:2] == finished
        assert [line["sequence"] for line in lines] == [1, 2, 3, 4]
        assert (lines[2]["complete"], lines[2]["ended_by"]) == (False, "proxy_stopped")
        assert lines[2]["usage_at_start"]["output_tokens"] == 2
        assert not list((wire.captures / session).glob("*.part"))
        assert wire.response(session, 3)["body"]["events"][0]["event"] == "message_start"
        manifest = json.loads((wire.captures / session / "manifest.json").read_text())
        assert manifest["counts"]["incomplete"] == 1
        assert [gap["kind"] for gap in manifest["gaps"]] == ["recovered"]


def test_a_stopped_proxy_writes_what_is_in_flight(tmp_path: Path, confdir: Path) -> None:
    session = new_session()
    slow = scenarios.named("slow:deltas=100,delay=0.05")
    with rig(tmp_path, slow, confdir) as wire:
        connection = wire.connect()
        connection.request("POST", "/v1/messages", messages_body(slow.prompt, session))
        connection.getresponse().read1(300)
        os.kill(wire.proxy.pid, signal.SIGTERM)
        (line,) = wire.exchanges(session, 1)
        connection.close()
    assert (line["complete"], line["ended_by"]) == (False, "proxy_stopped")
    assert line["usage_at_start"]["output_tokens"] == 2
    assert not list(wire.captures.rglob("*.part"))


def test_two_proxies_on_one_folder_never_overwrite_each_other(
    tmp_path: Path, confdir: Path
) -> None:
    session = new_session()
    captures = tmp_path / "shared"
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    body = messages_body(PLAIN.prompt, session)
    with (
        rig(tmp_path / "a", PLAIN, confdir, captures=captures) as one,
        rig(tmp_path / "b", PLAIN, confdir, captures=captures) as other,
    ):
        threads = [threading.Thread(target=r.post, args=(body,)) for r in (one, other) * 10]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lines = one.exchanges(session, 20)
        assert [line["sequence"] for line in lines] == list(range(1, 21))
        assert len({line["flow_id"] for line in lines}) == 20
        until(lambda: not list((captures / session).glob("*.part")))
        manifest = json.loads((captures / session / "manifest.json").read_text())
        assert manifest["counts"]["exchanges"] == 20


def test_a_folder_that_cannot_be_written_never_breaks_the_client(
    tmp_path: Path, confdir: Path
) -> None:
    in_the_way = tmp_path / "captures"
    in_the_way.write_text("a file, not a folder")
    with rig(tmp_path, PLAIN, confdir) as wire:
        status, body = wire.post(messages_body(PLAIN.prompt, new_session()))
        assert status == 200
        assert b"message_stop" in body
        until(lambda: b"could not be captured" in wire.proxy.log.read_bytes())
    assert in_the_way.read_text() == "a file, not a folder"


def test_a_host_outside_the_list_is_tunnelled_without_interception(
    tmp_path: Path, confdir: Path
) -> None:
    """The bytes of a CONNECT tunnel to another host arrive unchanged."""
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    got: list[bytes] = []

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            got.append(connection.recv(65536))

    thread = threading.Thread(target=serve)
    thread.start()
    with rig(tmp_path, PLAIN, confdir, upstream=None) as wire:
        connection = socket.create_connection(("127.0.0.1", wire.proxy.port))
        connection.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
        assert b"200" in connection.recv(1000)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = wire.context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        with pytest.raises(ssl.SSLWantReadError):
            tls.do_handshake()
        hello = outgoing.read()
        connection.sendall(hello)
        thread.join(5)
        connection.close()
        server.close()
    assert got == [hello]
    assert not list(wire.captures.glob("*/*_req_*"))


def test_with_an_upstream_every_other_host_is_refused(wire: Rig) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", wire.proxy.port, timeout=5)
    connection.set_tunnel("example.invalid", 443)
    with pytest.raises(OSError, match="403"):
        connection.request("GET", "/")
    plain = http.client.HTTPConnection("127.0.0.1", wire.proxy.port, timeout=5)
    plain.request("GET", "http://example.invalid/")
    assert plain.getresponse().status == 403


def test_a_large_request_and_a_long_answer_are_captured_whole(wire: Rig) -> None:
    session = new_session()
    long = scenarios.named("stream:deltas=100000,batch=100")
    wire.api.scenario = long
    filler = "x" * (30 * 1024 * 1024)
    wire.post(messages_body(long.prompt, session, system=filler))
    (line,) = wire.exchanges(session, 1, seconds=60)
    assert line["request_bytes"] > 30 * 1024 * 1024
    assert line["complete"]
    served = wire.api.ledger.messages()[-1]
    assert len(wire.response(session, 1)["body"]["events"]) == served.events
    assert len(wire.request(session, 1)["body"]["data"]["system"]) == len(filler)
