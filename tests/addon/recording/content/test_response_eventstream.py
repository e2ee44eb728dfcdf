"""Answers of Bedrock: the same events in another encoding, recorded like SSE ones."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from addon.recording.content.response import answer_for, recovered_answer
from addon.recording.content.streamed import StreamedAnswer
from addon.recording.recovery import recover
from addon.redaction.redactor import Redactor
from ccwire.demo.stand_in import bedrock
from ccwire.wire.json_text import parse_json
from tests.addon.recording.content.test_response import KEY, body, events, plain
from tests.addon.recording.recorders import RecorderRig, open_rig
from tests.addon.recording.test_recovery import abandon

HEADERS = {"content-type": bedrock.CONTENT_TYPE}
METRICS = {"inputTokenCount": 3, "outputTokenCount": 9}
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[RecorderRig]:
    with open_rig(tmp_path) as rig:
        yield rig


def frame(value: Any) -> bytes:
    return bedrock.chunk(json.dumps(value).encode())


def text_delta(text: str) -> bytes:
    delta = {"type": "text_delta", "text": text}
    return frame({"type": "content_block_delta", "index": 0, "delta": delta})


START = frame({"type": "message_start", "message": {"id": "m", "usage": {"output_tokens": 2}}})
BLOCK = frame({"type": "content_block_start", "index": 0, "content_block": {"type": "text"}})
END = frame({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 9}}) + frame(
    {"type": "message_stop", "amazon-bedrock-invocationMetrics": METRICS}
)


def streamed(*chunks: bytes) -> tuple[Any, list[bytes]]:
    answer = answer_for(HEADERS, Redactor(b"key"), "messages")
    assert isinstance(answer, StreamedAnswer)
    written = [line for n, chunk in enumerate(chunks) for line in answer.feed(n * 10.0, chunk)]
    return answer.finish("http_end", None), written


def test_a_whole_stream_is_complete_and_has_its_metrics() -> None:
    answer, _ = streamed(START, BLOCK, text_delta("hi"), END)
    assert (answer.complete, answer.ended_by, answer.error) == (True, "message_stop", None)
    assert (answer.usage_at_start, answer.usage) == ({"output_tokens": 2}, {"output_tokens": 9})
    assert answer.message["content"] == [{"type": "text", "text": "hi"}]
    assert answer.metrics == METRICS
    found = body(answer)
    assert (found["type"], "decode_error" in found) == ("eventstream", False)
    assert [(e["event"], e["at_ms"], "raw" in e) for e in events(answer)] == [
        ("message_start", 0.0, False),
        ("content_block_start", 10.0, False),
        ("content_block_delta", 20.0, False),
        ("message_delta", 30.0, False),
        ("message_stop", 30.0, False),
    ]


def test_each_event_is_written_as_soon_as_its_frame_is_complete() -> None:
    answer = StreamedAnswer(HEADERS, Redactor(b"key"))
    assert answer.feed(0, START[:-1]) == []
    (line,) = answer.feed(5, START[-1:] + BLOCK[:9])
    assert json.loads(line)["data"]["message"]["id"] == "m"


def test_a_chunk_that_is_not_base64_is_a_decode_error() -> None:
    chunk = bedrock.frame({":event-type": "chunk"}, b'{"bytes":"%%%"}')
    answer, _ = streamed(START, chunk, END)
    assert body(answer)["decode_error"] == "the bytes of a frame are not base64"
    assert [(e["event"], e["data"]) for e in events(answer)][1] == ("chunk", {"bytes": "%%%"})
    assert answer.complete


def test_an_exception_ends_it() -> None:
    failed = bedrock.exception({"type": "rate_limit_error", "message": f"no: {KEY}"})
    answer, _ = streamed(START, failed)
    assert (answer.complete, answer.ended_by) == (False, "error_event")
    assert answer.error.startswith("throttlingException: no: <redacted:api_key:")


def test_a_cut_or_damaged_stream_says_so_and_keeps_what_came() -> None:
    cut, _ = streamed(START, END[:40])
    assert (cut.complete, cut.ended_by, cut.usage) == (False, "http_end", {"output_tokens": 2})
    assert events(cut)[-1]["data"] == {"damage": "the stream ends within a frame", "size": 40}
    damaged, _ = streamed(START[:-1] + bytes([START[-1] ^ 1]), END)
    assert body(damaged)["decode_error"] == "the checksum of a frame is wrong"
    assert (damaged.complete, damaged.usage) == (True, {"output_tokens": 9})


@pytest.mark.parametrize("pieces", [(KEY,), (KEY[:9], KEY[9:20], KEY[20:]), tuple(KEY)])
def test_a_secret_inside_the_base64_is_found_however_it_is_cut(pieces: tuple[str, ...]) -> None:
    answer, written = streamed(START, BLOCK, *map(text_delta, pieces), text_delta(" end"), END)
    recorded = json.dumps([body(answer), answer.message]) + b"".join(written).decode()
    assert "MADEUP" not in recorded and "<redacted:api_key:" in recorded


def test_a_frame_that_was_cut_off_keeps_no_part_of_a_secret() -> None:
    answer, written = streamed(START, BLOCK, text_delta(KEY)[:-9])
    recorded = json.dumps(body(answer)) + b"".join(written).decode()
    assert "c2stYW50" not in recorded and "MADEUP" not in recorded


def test_what_a_part_holds_is_what_the_answer_would_have_been() -> None:
    answer, written = streamed(START, BLOCK, text_delta("hi"), END)
    recovered = recovered_answer([(line, parse_json(line)) for line in written], HEADERS)
    assert body(recovered)["type"] == "eventstream"
    assert events(recovered) == events(answer)
    assert (recovered.complete, recovered.metrics) == (True, METRICS)


def test_an_answer_without_a_stream_has_its_metrics_in_headers() -> None:
    headers = {
        "x-amzn-bedrock-input-token-count": "3",
        "x-amzn-bedrock-output-token-count": "9",
        "x-amzn-bedrock-cache-read-input-token-count": "many",
    }
    assert plain(b'{"type":"message"}', "http_end", **headers).metrics == METRICS
    assert plain(b'{"type":"message"}').metrics is None


@pytest.mark.parametrize(
    ("data", "headers", "error"),
    [
        (
            b'{"message":"slow down"}',
            {"x-amzn-errortype": "ThrottlingException:http://x"},
            "ThrottlingException: slow down",
        ),
        (
            b'{"error":{"code":429,"message":"no","status":"RESOURCE_EXHAUSTED"}}',
            {},
            "RESOURCE_EXHAUSTED: no",
        ),
        (b'{"error":{"code":"401","message":"denied"}}', {}, "401: denied"),
        (b'{"error":{"message":"denied"}}', {}, "error: denied"),
        (b'{"message":"hello"}', {}, None),
    ],
)
def test_the_errors_of_clouds_are_read(
    data: bytes, headers: dict[str, str], error: str | None
) -> None:
    assert plain(data, "http_end", **headers).error == error


def test_the_index_has_model_request_id_and_metrics(rig: RecorderRig) -> None:
    path = f"/model/{MODEL.replace(':', '%3A')}/invoke-with-response-stream"
    rig.begin("f", "s", target=path, body=b'{"anthropic_version":"bedrock-2023-05-31"}')
    rig.answer("f", START, END, headers=[*HEADERS.items(), ("x-amzn-requestid", "r-1")])
    rig.end("f")
    rig.recorder.settle()
    (line,) = rig.lines("s")
    assert (line["model"], line["stream"], line["request_id"]) == (MODEL, True, "r-1")
    assert (line["complete"], line["invocation_metrics"]) == (True, METRICS)
    (name,) = [name for name in rig.names("s") if name.startswith("0001_resp_model_us")]
    assert rig.file("s", name)["invocation_metrics"] == METRICS


def test_a_killed_proxy_leaves_what_came(rig: RecorderRig) -> None:
    rig.begin("f", "s")
    rig.answer("f", START, headers=[*HEADERS.items(), ("x-amzn-requestid", "r-1")])
    rig.recorder.write_parts()
    abandon(rig)
    assert recover(rig.store) == 1
    (line,) = rig.lines("s")
    assert (line["request_id"], line["complete"], line["usage"]) == (
        "r-1",
        False,
        {"output_tokens": 2},
    )
    assert rig.file("s", "0001_resp_v1_messages.json")["body"]["type"] == "eventstream"
