import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import connection, exceptions, http
from mitmproxy.proxy import server_hooks
from mitmproxy.test import taddons, tflow

from addon.capture import Capture
from addon.redaction.log_records import redact_log_records
from addon.storage.registry import registered
from correlate.captures.folder import read_request

SESSION = "11111111-2222-3333-4444-555555555555"
EVENT = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'

type Rig = tuple[Capture, Any, Path]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """The add-on in its own mitmproxy context, writing everything to one folder."""
    capture = Capture()
    with taddons.context(capture) as context:
        context.configure(
            capture,
            capture_dir=str(tmp_path / "captures"),
            capture_sessions=str(tmp_path / "sessions.json"),
            capture_claude_dir=str(tmp_path / "claude"),
        )
        yield capture, context, tmp_path / "captures"
        capture.done()


def flow(host: str = "api.anthropic.com", **request: Any) -> http.HTTPFlow:
    made = tflow.tflow(resp=True)
    made.request.host = host
    made.request.path = "/v1/messages?beta=true"
    made.request.headers["x-claude-code-session-id"] = SESSION
    made.request.content = b'{"model":"m"}'
    assert made.response is not None
    made.response.headers["content-type"] = "text/event-stream"
    for name, value in request.items():
        setattr(made.request, name, value)
    return made


def run(capture: Capture, made: http.HTTPFlow, *chunks: bytes) -> list[bytes]:
    """Call the hooks that mitmproxy calls for a streamed exchange; return the client's bytes."""
    assert made.response is not None
    capture.requestheaders(made)
    capture.request(made)
    capture.responseheaders(made)
    tee = made.response.stream
    got = [tee(chunk) for chunk in chunks] if callable(tee) else list(chunks)
    capture.response(made)
    return [bytes(chunk) for chunk in got if isinstance(chunk, bytes)]


def lines(captures: Path, session: str = SESSION) -> list[dict[str, Any]]:
    path = captures / session / "exchanges.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_an_exchange_is_captured_and_its_bytes_go_through(rig: Rig) -> None:
    capture, _, captures = rig
    capture.running()
    assert run(capture, flow(), EVENT[:10], EVENT[10:]) == [EVENT[:10], EVENT[10:]]
    capture.done()
    (line,) = lines(captures)
    assert (line["model"], line["complete"], line["host"]) == ("m", True, "api.anthropic.com")


def test_log_lines_do_not_repeat_what_headers_contained(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    capture, _, _ = rig
    before = logging.getLogRecordFactory()
    redact_log_records(capture._log_redactor)
    made = flow()
    made.request.headers["x-gateway-token"] = "gateway-0123456789-abcdef"
    try:
        capture.running()
        run(capture, made, EVENT)
        logging.getLogger("mitmproxy").warning("malformed: gateway-0123456789-abcdef")
    finally:
        logging.setLogRecordFactory(before)
    assert "0123456789" not in caplog.text
    assert "malformed: <redacted:" in caplog.text


def test_a_client_that_connects_before_it_runs_is_captured(rig: Rig) -> None:
    capture, _, captures = rig
    made = flow()
    capture.client_connected(made.client_conn)
    run(capture, made, EVENT)
    capture.done()
    assert len(lines(captures)) == 1


def test_another_host_is_left_alone(rig: Rig) -> None:
    capture, _, captures = rig
    capture.running()
    made = flow("example.org")
    run(capture, made, EVENT)
    assert made.response is not None
    assert (made.request.stream, made.response.stream) == (True, True)
    assert made.response.status_code == 200
    capture.done()
    assert not list(captures.glob("*/*.json*"))


@pytest.mark.parametrize(
    ("hosts", "host", "captured"),
    [
        (["api.anthropic.com"], "API.Anthropic.com", True),
        (["api.anthropic.com"], "api.anthropic.com.example.org", False),
        (["*.anthropic.com"], "statsig.anthropic.com", True),
        (["*.anthropic.com"], "anthropic.com", False),
        (["one.test, two.test"], "two.test", True),
    ],
)
def test_hosts_are_named_by_patterns(rig: Rig, hosts: list[str], host: str, captured: bool) -> None:
    capture, context, captures = rig
    context.configure(capture, capture_hosts=hosts)
    capture.running()
    run(capture, flow(host), EVENT)
    capture.done()
    assert bool(lines(captures)) is captured


@pytest.mark.parametrize(
    "options",
    [
        {"capture_hosts": []},
        {"capture_hosts": [" , "]},
        {"capture_upstream": "127.0.0.1:8000"},
        {"capture_run": "unknown"},
        {"capture_run": "run-../x"},
        {"capture_upstream": "ftp://127.0.0.1"},
        {"capture_upstream": "http://"},
        {"capture_upstream": "http://127.0.0.1:99999"},
        {"capture_upstream": "http://[::1"},
    ],
)
def test_an_option_that_makes_no_sense_is_refused_in_a_sentence(
    rig: Rig, options: dict[str, Any]
) -> None:
    capture, context, _ = rig
    with pytest.raises(exceptions.OptionsError, match=r"capture_\w+: .*\."):
        context.configure(capture, **options)


def test_the_folder_cannot_change_while_it_runs(rig: Rig) -> None:
    capture, context, _ = rig
    capture.running()
    with pytest.raises(exceptions.OptionsError, match="when the proxy starts"):
        context.configure(capture, capture_dir="elsewhere")


def test_captured_calls_go_to_the_upstream_and_are_recorded_with_their_original_host(
    rig: Rig,
) -> None:
    capture, context, captures = rig
    context.configure(capture, capture_upstream="http://127.0.0.1:8000/base/")
    capture.running()
    made = flow()
    run(capture, made, EVENT)
    request = made.request
    assert (request.scheme, request.host, request.port) == ("http", "127.0.0.1", 8000)
    assert request.path == "/base/v1/messages?beta=true"
    capture.done()
    (line,) = lines(captures)
    assert (line["host"], line["path"]) == ("api.anthropic.com", "/v1/messages")


def test_with_an_upstream_no_other_host_is_reached(rig: Rig) -> None:
    capture, context, _ = rig
    context.configure(capture, capture_upstream="http://127.0.0.1:8000")
    capture.running()
    made = flow("example.org")
    made.response = None
    capture.http_connect(made)
    assert made.response is not None
    assert made.response.status_code == 403
    made.response = None
    capture.request(made)
    assert made.response is not None
    assert made.response.status_code == 403
    for address, refused in ((("127.0.0.1", 8000), False), (("example.org", 443), True)):
        server = connection.Server(address=address)
        capture.server_connect(
            server_hooks.ServerConnectionHookData(client=made.client_conn, server=server)
        )
        assert bool(server.error) is refused


@pytest.mark.parametrize(
    ("state", "ended_by"),
    [
        (connection.ConnectionState.OPEN, "server_disconnect"),
        (connection.ConnectionState.CLOSED, "client_disconnect"),
    ],
)
def test_who_disconnected_is_judged_by_the_connections(
    rig: Rig, state: connection.ConnectionState, ended_by: str
) -> None:
    capture, _, captures = rig
    capture.running()
    made = flow()
    capture.request(made)
    capture.responseheaders(made)
    made.client_conn.state = state
    made.error = tflow.terr("a text that misleads")
    capture.error(made)
    capture.done()
    (line,) = lines(captures)
    assert (line["complete"], line["ended_by"]) == (False, ended_by)


def test_a_request_that_was_cut_off_is_recorded(rig: Rig) -> None:
    capture, _, captures = rig
    capture.running()
    made = flow()
    made.response = None
    made.error = tflow.terr()
    capture.error(made)
    capture.done()
    (line,) = lines(captures)
    assert (line["status"], line["complete"]) == (None, False)


def test_an_error_after_the_end_changes_nothing(rig: Rig) -> None:
    capture, _, captures = rig
    capture.running()
    made = flow()
    run(capture, made, EVENT)
    made.error = tflow.terr()
    capture.error(made)
    capture.done()
    assert [line["ended_by"] for line in lines(captures)] == ["message_stop"]


def test_when_it_is_done_what_is_in_flight_is_written(rig: Rig) -> None:
    capture, _, captures = rig
    capture.running()
    made = flow()
    capture.request(made)
    capture.responseheaders(made)
    capture.done()
    made.error = tflow.terr()
    capture.error(made)  # this arrives after `done`
    run(capture, flow(), EVENT)
    capture.client_connected(made.client_conn)
    assert [line["ended_by"] for line in lines(captures)] == ["proxy_stopped"]


def test_a_folder_that_cannot_be_made_stops_nothing(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    capture, _, captures = rig
    captures.write_text("a file in the way")
    capture.running()
    assert run(capture, flow(), EVENT) == [EVENT]
    capture.done()
    assert "cannot be written" in caplog.text
    assert captures.read_text() == "a file in the way"


def test_headers_that_are_no_text_are_no_trouble(rig: Rig) -> None:
    capture, _, captures = rig
    capture.running()
    made = flow()
    made.request.headers.fields = (*made.request.headers.fields, (b"x-\xff", b"\xfe"))
    run(capture, made, EVENT)
    capture.done()
    assert read_request(captures / SESSION, 1)["headers"]["x-�"] == "�"


@pytest.mark.parametrize(
    ("peer", "served"),
    [
        (("127.0.0.1", 1), True),
        (("::1", 1, 0, 0), True),
        (("::ffff:127.0.0.1", 1, 0, 0), True),
        (("192.0.2.7", 1), False),
        (("2001:db8::1", 1, 0, 0), False),
    ],
)
def test_only_local_connections_are_accepted_by_default(
    rig: Rig, peer: tuple[Any, ...], served: bool
) -> None:
    capture, context, _ = rig
    client = flow().client_conn
    client.peername = peer
    capture.client_connected(client)
    assert (client.error is None) is served
    context.options.listen_host = "192.0.2.1"
    client.error = None
    capture.client_connected(client)
    assert client.error is None


def test_the_capture_folder_is_registered_in_the_home(rig: Rig, ccwire_home: Path) -> None:
    capture, _, captures = rig
    capture.running()
    assert [entry.path for entry in registered(ccwire_home)] == [captures]


def test_a_home_that_cannot_be_written_costs_one_line_of_the_log(
    rig: Rig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    capture, _, captures = rig
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CCWIRE_HOME", str(tmp_path / "file" / "home"))
    capture.running()
    assert run(capture, flow(), EVENT) == [EVENT]
    capture.done()
    assert len(lines(captures)) == 1
    told = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert told == [
        f"ccwire: {captures} could not be listed in {tmp_path}/file/home/captures.json"
        f" (File exists); commands find it with --captures {captures}"
    ]
