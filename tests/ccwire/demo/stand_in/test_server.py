"""The stand-in over a real socket, and its ledger."""

import base64
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.eventstream import EventStreamBuffer

from ccwire.demo.stand_in import scenarios
from ccwire.demo.stand_in.scenario import Answer, Filler, Scenario, Text
from ccwire.demo.stand_in.server import StandIn

TOOLS = [{"name": "Bash"}, {"name": "Task"}]


def connect(api: StandIn) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", api.port, timeout=5)


def ask(
    api: StandIn,
    text: str,
    *,
    on: http.client.HTTPConnection | None = None,
    path: str = "/v1/messages?beta=true",
    **extra: Any,
) -> http.client.HTTPResponse:
    body = {"model": "claude-lab", "stream": True, "tools": TOOLS, **extra}
    body["messages"] = [{"role": "user", "content": text}]
    connection = on or connect(api)
    connection.request("POST", path, json.dumps(body), {"X-Claude-Code-Session-Id": "s-1"})
    return connection.getresponse()


def always(answer: Answer) -> Scenario:
    return Scenario(name="always", prompt="go", fallback=answer)


def test_a_stream_arrives_as_the_ledger_says() -> None:
    with StandIn(scenarios.named("plain"), keep_events=True) as api:
        answer = ask(api, "lab:plain")
        data = answer.read()
        (served,) = api.ledger.messages()
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["request-id"] == served.request_id
    assert answer.headers["anthropic-ratelimit-requests-limit"] == "4000"
    assert b"".join(served.event_bytes) == data
    assert data.count(b"\n\n") == served.events
    assert served.message_id is not None and served.message_id.encode() in data
    assert (served.session_id, served.model, served.ended) == ("s-1", "claude-lab", "complete")
    assert served.start_usage is not None and served.start_usage["output_tokens"] == 2
    assert served.usage is not None
    assert f'"output_tokens":{served.usage["output_tokens"]}}}'.encode() in data


def test_without_stream_the_answer_is_one_json_message() -> None:
    with StandIn(scenarios.named("plain")) as api:
        message = json.loads(ask(api, "lab:plain", stream=False).read())
        (served,) = api.ledger.messages()
    assert message["id"] == served.message_id
    assert message["usage"] == served.usage
    assert message["content"] == [{"type": "text", "text": "A plain answer from the lab."}]


def test_one_connection_serves_many_calls() -> None:
    with StandIn(scenarios.named("plain")) as api:
        connection = connect(api)
        for number in range(5):
            ask(api, f"lab:plain {number}", on=connection).read()
        port = connection.sock.getsockname()[1]
        ask(api, "once more", on=connection).read()
        assert connection.sock.getsockname()[1] == port
        assert [served.order for served in api.ledger.calls()] == [1, 2, 3, 4, 5, 6]


def test_failures_come_first_and_then_the_answer() -> None:
    with StandIn(scenarios.named("retry")) as api:
        statuses = []
        for _ in range(3):
            answer = ask(api, "lab:retry")
            answer.read()
            statuses.append(answer.status)
        calls = api.ledger.messages()
    assert statuses == [529, 529, 200]
    assert [served.attempt for served in calls] == [0, 1, 2]
    assert [served.ended for served in calls] == ["failed", "failed", "complete"]
    assert calls[0].usage is None


def test_a_rate_limit_has_a_retry_after_header() -> None:
    with StandIn(scenarios.named("rate_limited")) as api:
        answer = ask(api, "lab:rate_limited")
        body = json.loads(answer.read())
    assert (answer.status, answer.headers["retry-after"]) == (429, "0")
    assert body["error"]["type"] == "rate_limit_error"
    assert body["request_id"] == answer.headers["request-id"]


@pytest.mark.parametrize("reset", [False, True])
def test_a_dropped_stream_has_a_start_usage_and_no_final_one(reset: bool) -> None:
    with StandIn(always(Answer((Filler(50),), cut_after=7, reset=reset))) as api:
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            ask(api, "go").read()
        (served,) = api.ledger.messages()
    assert (served.ended, served.events, served.usage) == ("dropped", 7, None)
    assert served.start_usage is not None


def test_an_error_event_ends_the_stream() -> None:
    with StandIn(scenarios.named("error_event")) as api:
        data = ask(api, "lab:error_event").read()
        (served,) = api.ledger.messages()
    assert data.endswith(
        b'data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    )
    assert (served.ended, served.usage, served.events) == ("error_event", None, 7)


@pytest.mark.parametrize("change", [{"shred": 7}, {"batch": 10}])
def test_however_it_is_cut_into_chunks_the_stream_is_the_same(change: dict[str, Any]) -> None:
    answer = Answer((Text("The very same words each time."),))
    with StandIn(always(answer)) as plain, StandIn(always(replace(answer, **change))) as api:
        assert ask(plain, "go").read() == ask(api, "go").read()


def test_every_event_is_a_chunk_of_its_own() -> None:
    with StandIn(always(Answer((Filler(20),)))) as api:
        with socket.create_connection(("127.0.0.1", api.port), timeout=5) as raw:
            body = b'{"stream":true,"messages":[]}'
            raw.sendall(
                b"POST /v1/messages HTTP/1.1\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
                % len(body)
                + body
            )
            received = b"".join(iter(lambda: raw.recv(65536), b""))
        (served,) = api.ledger.messages()
    sizes = [line for line in received.split(b"\r\n") if line and len(line) < 5]
    assert len(sizes) == served.events + 1


def test_a_wrong_content_length_leaves_the_client_waiting_for_more() -> None:
    lying = always(Answer((Text("short"),), claim=10))
    with StandIn(lying) as api, pytest.raises(http.client.IncompleteRead) as caught:
        ask(api, "go", stream=False).read()
    assert caught.value.expected == 10


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "deflate"])
def test_a_compressed_answer_says_so(encoding: str) -> None:
    with StandIn(scenarios.named(encoding)) as api:
        answer = ask(api, "go")
        assert answer.headers["content-encoding"] == encoding
        assert answer.read()
        assert api.ledger.messages()[0].encoding == encoding


def test_another_body_has_status_200_and_no_usage() -> None:
    with StandIn(scenarios.named("html_page")) as api:
        answer = ask(api, "lab:html_page")
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/html")
        (call,) = api.ledger.messages()
        assert (call.ended, call.usage, call.message_id) == ("other_body", None, None)


def test_a_start_without_usage_is_followed_by_the_final_one() -> None:
    with StandIn(scenarios.named("bare_start")) as api:
        data = ask(api, "lab:bare_start").read()
        (call,) = api.ledger.messages()
    assert b'"usage"' not in data.partition(b"\n\n")[0]
    assert call.start_usage is None
    assert call.usage is not None


def test_a_client_that_disconnects_is_recorded() -> None:
    with StandIn(always(Answer((Filler(500),), event_delay=0.005))) as api:
        connection = connect(api)
        answer = ask(api, "go", on=connection)
        answer.read1(10)
        answer.close()
        connection.close()
        assert api.ledger.wait(5)
        (served,) = api.ledger.messages()
    assert (served.ended, served.usage) == ("client_gone", None)
    assert 0 < served.events < 500


def test_a_stalled_stream_goes_on_after_its_silence() -> None:
    with StandIn(scenarios.named("stalled:seconds=0.1")) as api:
        started = time.monotonic()
        data = ask(api, "lab:stalled").read()
        assert time.monotonic() - started >= 0.1
    assert data.endswith(b'data: {"type":"message_stop"}\n\n')


@pytest.mark.parametrize(
    "path", ["/api/event_logging/v2/batch", "/api/eval/sdk-1", "/v1/rgstr", "/any?x=1"]
)
def test_unknown_paths_return_an_empty_object(path: str) -> None:
    with StandIn(scenarios.named("plain")) as api:
        answer = ask(api, "x", path=path)
        assert (answer.status, answer.read()) == (200, b"{}")
        assert api.ledger.messages() == []


def test_count_tokens_is_answered_and_kept_apart() -> None:
    with StandIn(scenarios.named("plain")) as api:
        counted = json.loads(ask(api, "x", path="/v1/messages/count_tokens?beta=true").read())
        (served,) = api.ledger.count_tokens()
        assert api.ledger.messages() == []
    assert served.usage == counted
    assert counted["input_tokens"] > 1_000


def test_a_head_request_gets_no_body() -> None:
    with StandIn(scenarios.named("plain")) as api:
        connection = connect(api)
        connection.request("HEAD", "/api/hello")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"")
        assert ask(api, "lab:plain", on=connection).read()


def test_a_body_of_many_megabytes_is_read_whole() -> None:
    with StandIn(scenarios.named("plain")) as api:
        ask(api, "lab:plain " + "x" * 8_000_000).read()
        (served,) = api.ledger.messages()
    assert served.body_bytes > 8_000_000


def test_a_chunked_request_body_is_read() -> None:
    with StandIn(scenarios.named("plain")) as api:
        connection = connect(api)
        body = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
        connection.request("POST", "/v1/messages", iter([body[:9], body[9:]]))
        assert json.loads(connection.getresponse().read())["model"] == "m"
        assert api.ledger.messages()[0].body_bytes == len(body)


def test_parallel_streams_run_at_the_same_time() -> None:
    with StandIn(always(Answer((Filler(10),), event_delay=0.02))) as api:
        threads = [
            threading.Thread(target=lambda n=n: ask(api, f"go {n}").read()) for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        calls = api.ledger.messages()
    assert len(calls) == 8
    assert max(served.started for served in calls) < min(served.ended_at for served in calls)


def test_a_taken_port_is_an_error_at_once() -> None:
    scenario = scenarios.named("plain")
    with StandIn(scenario) as api, pytest.raises(OSError, match="in use"):
        StandIn(scenario, port=api.port).__enter__()


def test_as_a_program_it_prints_its_url_and_leaves_its_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    command = [sys.executable, "-m", "ccwire.demo.stand_in.server", "--scenario", "stream:deltas=5"]
    with subprocess.Popen([*command, "--ledger", str(ledger)], stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        url = program.stdout.readline().decode().strip()
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=5)
        connection.request("POST", "/v1/messages", b'{"messages":[]}')
        connection.getresponse().read()
        connection.request("GET", "/lab/ledger")
        (told,) = json.loads(connection.getresponse().read())
        program.send_signal(signal.SIGTERM)
        assert program.wait(5) == 0
    assert json.loads(ledger.read_text())[0] == told
    assert told["kind"] == "messages"


_BEDROCK = "/model/us.anthropic.claude-lab-v1%3A0"
_VERTEX = "/v1/projects/p/locations/r/publishers/anthropic/models"


def test_bedrock_sends_frames_that_botocore_decodes() -> None:
    with StandIn(scenarios.named("plain")) as api:
        answer = ask(api, "lab:plain", path=f"{_BEDROCK}/invoke-with-response-stream")
        data = answer.read()
        (served,) = api.ledger.messages()
    assert answer.headers["content-type"] == "application/vnd.amazon.eventstream"
    assert answer.headers["x-amzn-requestid"] == served.request_id
    assert "request-id" not in answer.headers
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    frames = list(buffer)
    assert {frame.headers[":event-type"] for frame in frames} == {"chunk"}
    events = [json.loads(base64.b64decode(json.loads(frame.payload)["bytes"])) for frame in frames]
    assert events[0]["message"]["model"] == "claude-lab"
    assert events[0]["message"]["id"] == served.message_id
    assert served.model == "us.anthropic.claude-lab-v1:0"
    metrics = events[-1]["amazon-bedrock-invocationMetrics"]
    assert served.usage is not None
    assert metrics["outputTokenCount"] == served.usage["output_tokens"]


def test_bedrock_answers_without_a_stream_counts_and_lists() -> None:
    with StandIn(scenarios.named("plain")) as api:
        whole = ask(api, "lab:plain", path=f"{_BEDROCK}/invoke")
        message = json.loads(whole.read())
        counted = json.loads(ask(api, "x", path=f"{_BEDROCK}/count-tokens").read())
        connection = connect(api)
        connection.request("GET", "/inference-profiles?type=SYSTEM_DEFINED")
        profiles = json.loads(connection.getresponse().read())
        kinds = [served.kind for served in api.ledger.calls()]
    assert message["type"] == "message"
    assert whole.headers["x-amzn-bedrock-output-token-count"] == str(
        message["usage"]["output_tokens"]
    )
    assert counted["inputTokens"] > 1000
    assert profiles == {"inferenceProfileSummaries": []}
    assert kinds == ["messages", "count_tokens", "models"]


def test_bedrock_reports_a_failure_in_the_stream_as_an_exception() -> None:
    with StandIn(always(Answer(content=(Text("a b"),), error_after=2))) as api:
        data = ask(api, "go", path=f"{_BEDROCK}/invoke-with-response-stream").read()
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    *_, last = buffer
    assert last.headers[":message-type"] == "exception"
    assert last.headers[":exception-type"] == "serviceUnavailableException"


def test_vertex_and_a_prefix_get_the_same_stream() -> None:
    with StandIn(scenarios.named("plain")) as api:
        vertex = ask(api, "lab:plain", path=f"{_VERTEX}/claude-lab@1:streamRawPredict")
        events = vertex.read()
        counted = json.loads(ask(api, "x", path=f"{_VERTEX}/count-tokens:rawPredict").read())
        prefixed = ask(api, "lab:plain", path="/some/prefix/v1/messages")
        prefixed.read()
        calls = api.ledger.messages()
    assert vertex.headers["content-type"].startswith("text/event-stream")
    assert events.startswith(b"event: message_start") and counted["input_tokens"] > 1000
    assert [(call.model, call.stream) for call in calls] == [
        ("claude-lab@1", True),
        ("claude-lab", True),
    ]
    assert vertex.headers["request-id"] == calls[0].request_id
