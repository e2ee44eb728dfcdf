import gzip
import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.recording.content.exchange_files import FinishedAnswer, lines, whole_file
from addon.recording.content.response import (
    NoAnswer,
    PlainAnswer,
    answer_for,
    as_asked,
    recovered_answer,
)
from addon.recording.content.streamed import StreamedAnswer
from addon.redaction.redactor import Redactor
from ccwire.wire.json_text import dump, parse_json
from ccwire.wire.vocabulary import EndedBy
from tests.properties import property_test

KEY = "sk-ant-api03-MADEUPsecret_0001-AA"
SSE = {"content-type": "text/event-stream; charset=utf-8"}


def event(data: Any, name: str | None = None) -> bytes:
    encoded = json.dumps(data, separators=(",", ":"))
    return f"event: {name or data['type']}\ndata: {encoded}\n\n".encode()


def delta(**delta: Any) -> bytes:
    return event({"type": "content_block_delta", "index": 0, "delta": delta})


START = event(
    {"type": "message_start", "message": {"id": "msg_1", "usage": {"output_tokens": 2}}},
)
BLOCK = event({"type": "content_block_start", "index": 0, "content_block": {"type": "text"}})
END = event({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 9}}) + event(
    {"type": "message_stop"}
)


def streamed(
    *chunks: bytes, headers: dict[str, str] | None = None
) -> tuple[FinishedAnswer, list[bytes]]:
    """Return the outcome, and the lines that were safe to write before the end."""
    answer = StreamedAnswer(headers or {}, Redactor(b"key"))
    written: list[bytes] = []
    for number, chunk in enumerate(chunks):
        written += answer.feed(number * 10.0, chunk)
    return answer.finish("http_end", None), written


def body(answer: FinishedAnswer) -> dict[str, Any]:
    """Return the body as a reader of the response file sees it."""
    value: dict[str, Any] = parse_json(whole_file(b"", {"body": answer.body}))["body"]
    return value


def events(answer: FinishedAnswer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body(answer)["events"]
    return found


def test_a_whole_stream_is_complete() -> None:
    answer, _ = streamed(START, BLOCK, delta(type="text_delta", text="hi"), END)
    assert (answer.complete, answer.ended_by, answer.error) == (True, "message_stop", None)
    assert answer.usage == {"output_tokens": 9}
    assert answer.usage_at_start == {"output_tokens": 2}
    assert answer.message is not None
    assert answer.message["content"] == [{"type": "text", "text": "hi"}]
    assert [(e["event"], e["at_ms"]) for e in events(answer)] == [
        ("message_start", 0.0),
        ("content_block_start", 10.0),
        ("content_block_delta", 20.0),
        ("message_delta", 30.0),
        ("message_stop", 30.0),
    ]


def test_the_bytes_of_each_event_stand_in_the_file() -> None:
    odd = b'event: ping\ndata: {"a" : 1.0e5,\t"b":"\\u00fc \xc3\xbc", "a":2}\n\n'
    answer, written = streamed(odd)
    assert b'{"a" : 1.0e5,\t"b":"\\u00fc \xc3\xbc", "a":2}' in written[0]
    assert "raw" not in events(answer)[0]


def test_a_cut_stream_is_incomplete_and_keeps_what_came() -> None:
    cut = delta(type="text_delta", text="half an event")[:-10]
    answer, _ = streamed(START, BLOCK, cut)
    assert (answer.complete, answer.ended_by) == (False, "http_end")
    assert answer.usage == answer.usage_at_start == {"output_tokens": 2}
    assert events(answer)[-1] == {"event": "", "data": None, "raw": cut.decode()}


def test_an_error_event_ends_it() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": f"no: {KEY}"}}
    answer, _ = streamed(START, event(error))
    assert (answer.complete, answer.ended_by) == (False, "error_event")
    assert answer.error is not None
    assert answer.error.startswith("overloaded_error: no: <redacted:api_key:")


def test_how_the_connection_ended_counts_where_the_events_do_not_tell() -> None:
    answer = StreamedAnswer({}, Redactor(b"key"))
    answer.feed(0, START)
    told = answer.finish("client_disconnect", "gone")
    assert (told.ended_by, told.error) == ("client_disconnect", "gone")


@pytest.mark.parametrize(
    ("raw", "data"),
    [
        (b"data: null\n\n", None),
        (b'data: "text"\n\n', "text"),
        (b"data: text\n\n", "text"),
        (b"data: NaN\n\n", "NaN"),
        (b'data: \xef\xbb\xbf{"a":1}\n\n', '\ufeff{"a":1}'),
        (b"data: {\ndata: }\n\n", {}),
        (b'data: {"a":\ndata: "b"}\n\n', {"a": "b"}),
        (b'data: "two\ndata: lines"\n\n', '"two\nlines"'),
        (b'data: {"a":1}\r\n\r\n', {"a": 1}),
        (b'\xef\xbb\xbfdata: {"a":1}\n\n', {"a": 1}),
        (b": comment\n\n", None),
        (b"data: \xff\n\n", "�"),
        (b'data: "\\ud800"\n\n', "\ud800"),
        (b"data: " + b"[" * 30_000 + b"\n\n", "[" * 30_000),
    ],
)
def test_odd_events_are_distinguished_and_can_be_restored(raw: bytes, data: Any) -> None:
    answer, written = streamed(raw)
    (found,) = events(answer)
    assert (found["event"], found["data"]) == ("message", data)
    assert found["raw"] == raw.decode("utf-8", "replace")
    assert b"\n" not in written[0]


def test_an_event_over_several_data_lines_is_part_of_the_message() -> None:
    answer, _ = streamed(START.replace(b',"message"', b'\ndata: ,"message"'))
    assert answer.usage_at_start == {"output_tokens": 2}


@pytest.mark.parametrize(
    ("kind", "field", "text"),
    [
        ("text_delta", "text", f"so {KEY} it is"),
        ("thinking_delta", "thinking", f"so {KEY} it is"),
        ("input_json_delta", "partial_json", json.dumps({"command": f"k={KEY}", "n": 1})),
        ("delta_of_tomorrow", "something", f"so {KEY} it is"),
    ],
)
def test_a_secret_is_found_however_the_deltas_cut_it(kind: str, field: str, text: str) -> None:
    ping = event({"type": "ping"})
    for cut in range(1, len(text)):
        one, two = ({"type": kind, field: part} for part in (text[:cut], text[cut:]))
        answer, written = streamed(START, BLOCK, delta(**one), ping, delta(**two), END)
        whole = dump(body(answer)) + dump(answer.message) + b"".join(written)
        for part in (KEY[n : n + 8] for n in range(len(KEY) - 7)):
            assert part.encode() not in whole
        assert [e["event"] for e in events(answer)].count("content_block_delta") == 2
        if kind == "input_json_delta":
            assert answer.message is not None
            command = answer.message["content"][0]["input"]["command"]
            assert command.startswith("k=<redacted:api_key:")


def test_a_secret_that_goes_on_into_a_cut_event_does_not_stay_there() -> None:
    rest = delta(type="text_delta", text=KEY[20:])[:-8]
    answer, written = streamed(START, BLOCK, delta(type="text_delta", text=KEY[:20]), rest)
    whole = dump(body(answer)) + b"".join(written)
    assert KEY[20:28].encode() not in whole
    assert KEY[:15].encode() not in whole
    assert events(answer)[-1]["raw"].startswith("<redacted:cut:")


def test_lines_are_held_back_only_while_a_secret_may_go_on() -> None:
    answer = StreamedAnswer({}, Redactor(b"key"))
    assert len(answer.feed(0, START)) == 1
    assert len(answer.feed(0, delta(type="text_delta", text="see sk-an"))) == 0
    assert len(answer.feed(0, event({"type": "ping"}))) == 0
    stop = event({"type": "content_block_stop", "index": 0})
    assert len(answer.feed(0, stop)) == 0  # the next block may contain the rest
    assert len(answer.feed(0, event({"type": "message_delta", "delta": {}}))) == 4


@pytest.mark.parametrize("encoding", ["rot13", "sk-ant-api03-MADEUP", "x\udcff"])
def test_an_unknown_encoding_is_reported_and_spoils_nothing(encoding: str) -> None:
    answer, _ = streamed(START, headers={"content-encoding": encoding})
    told = body(answer)
    assert "unknown content encoding" in told["decode_error"]
    assert "MADEUP" not in json.dumps(told)


def test_a_compressed_stream_that_is_cut_off_is_read_as_far_as_it_goes() -> None:
    packed = gzip.compress(START + BLOCK + END)
    answer, _ = streamed(packed[:-30], headers={"content-encoding": "gzip"})
    assert answer.wire_size == len(packed) - 30
    assert body(answer)["content_encoding"] == "gzip"
    assert answer.usage_at_start == {"output_tokens": 2}


def test_lone_surrogates_and_huge_numbers_are_written_and_read() -> None:
    start = rb"event: message_start" b"\ndata: " + (
        rb'{"type":"message_start","message":{"id":"\ud800","usage":{"output_tokens":'
        + b"9" * 30
        + b"}}}\n\n"
    )
    answer, _ = streamed(start, delta(type="text_delta", text="\udfff s"), END)
    file = parse_json(whole_file(b"", {"message": answer.message, "body": answer.body}))
    assert file["message"]["id"] == "\ud800"
    assert file["message"]["content"] == [{"text": "\udfff s"}]
    assert file["body"]["events"][0]["data"]["message"]["usage"]["output_tokens"] == int("9" * 30)


sse_bytes = st.lists(
    st.sampled_from(
        [START, BLOCK, END, delta(type="text_delta", text="s"), b"\r", b"\n", b"data:", b"event: x"]
        + [b'"', b"{", b"}", b"\\ud800", b"NaN", b"1e999", b"[" * 200, b"\xef\xbb\xbf", b"sk-ant-"]
        + [delta(type="text_delta", text=t) for t in ("k-ant-x", "Bearer", " tok3n0000", "\ud800")]
        + [delta(type="input_json_delta", partial_json=t) for t in ('{"a', '":', "NaN}", "1" * 99)]
        + [b'data: {"type":"content_block_delta","index":{},"delta":{"text":"s"}}\n\n']
    )
    | st.binary(max_size=6),
    max_size=12,
)


@property_test
@given(chunks=sse_bytes)
def test_any_bytes_give_a_file_that_can_be_read(chunks: list[bytes]) -> None:
    answer, written = streamed(*chunks)
    fields = {"error": answer.error, "message": answer.message, "body": answer.body}
    file = parse_json(whole_file(lines({"format": 1}), fields))
    assert file["body"]["type"] == "sse"
    assert file["body"]["size"] == len(b"".join(chunks))
    for line in written:
        assert b"\n" not in line
        parse_json(line)
    assert len(file["body"]["events"]) >= len(written)


@property_test
@given(chunks=sse_bytes, cuts=st.lists(st.integers(0, 400), max_size=5))
def test_the_same_answer_comes_however_the_bytes_are_cut(
    chunks: list[bytes], cuts: list[int]
) -> None:
    data = b"".join(chunks)
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    pieces = [data[a:b] for a, b in itertools.pairwise(edges)]
    whole, cut = streamed(data)[0], streamed(*pieces)[0]
    assert dump(cut.message) == dump(whole.message)
    untimed = [[{**e, "at_ms": 0} for e in events(a)] for a in (whole, cut)]
    assert dump(untimed[0]) == dump(untimed[1])


def test_what_a_part_holds_is_what_the_answer_would_have_been() -> None:
    answer, written = streamed(START, BLOCK, delta(type="text_delta", text="hi \ud800"))
    recovered = recovered_answer([(line, parse_json(line)) for line in written], SSE)
    assert recovered.message == answer.message
    assert (recovered.complete, recovered.ended_by) == (False, "proxy_stopped")
    assert recovered.error == "the proxy was killed"
    assert events(recovered) == events(answer)


def test_a_part_that_had_everything_is_complete() -> None:
    _, written = streamed(START, END)
    recovered = recovered_answer([(line, parse_json(line)) for line in written], SSE)
    assert (recovered.complete, recovered.ended_by) == (True, "message_stop")


def test_a_part_without_events_is_an_empty_answer() -> None:
    recovered = recovered_answer([], {})
    assert (recovered.body, recovered.message) == ({"type": "empty", "size": 0}, None)


def plain(data: bytes, ended_by: EndedBy = "http_end", **headers: str) -> FinishedAnswer:
    answer = PlainAnswer(headers, Redactor(b"key"), "messages")
    answer.feed(0, data[:3])
    answer.feed(0, data[3:])
    return answer.finish(ended_by, None)


def test_a_plain_message_has_its_usage() -> None:
    answer = plain(b'{"type":"message","id":"m","usage":{"output_tokens":5}}')
    assert answer.usage == {"output_tokens": 5}
    assert answer.message == {
        "type": "message",
        "id": "m",
        "usage": {"output_tokens": 5},
        "usage_at_start": None,
    }
    assert (answer.complete, answer.ended_by, answer.wire_size) == (True, "http_end", 55)


@pytest.mark.parametrize("usage", ["null", "5", "[]", '"x"'])
def test_a_usage_that_is_none_is_none(usage: str) -> None:
    assert plain(b'{"type":"message","usage":%s}' % usage.encode()).usage is None


def test_a_plain_error_is_recorded_without_its_secrets() -> None:
    answer = plain(
        b'{"type":"error","error":{"type":"authentication_error","message":"bad %s"}}'
        % KEY.encode()
    )
    assert answer.error is not None
    assert answer.error.startswith("authentication_error: bad <redacted:api_key:")


@pytest.mark.parametrize("error", [b"null", b'"x"', b"[1]", b'{"type":{}}', b'{"message":[]}'])
def test_an_error_of_any_shape_is_recorded(error: bytes) -> None:
    assert plain(b'{"type":"error","error":' + error + b"}").error


def test_a_plain_answer_that_broke_off_is_incomplete() -> None:
    answer = plain(b'{"type":"mess', "server_disconnect")
    assert (answer.complete, answer.ended_by) == (False, "server_disconnect")
    assert answer.body == {"type": "text", "size": 13, "data": '{"type":"mess'}


def test_the_content_type_decides_how_a_response_is_parsed() -> None:
    redactor = Redactor(b"key")
    assert isinstance(answer_for(SSE, redactor, "messages"), StreamedAnswer)
    assert isinstance(answer_for({}, redactor, "messages"), PlainAnswer)


def test_a_missing_response_is_recorded() -> None:
    answer = NoAnswer().finish("server_disconnect", None)
    assert (answer.complete, answer.error) == (False, "no answer")


def test_a_secret_that_becomes_known_while_an_event_is_held_back_is_redacted() -> None:
    redactor = Redactor(b"key")
    answer = StreamedAnswer({}, redactor)
    secret = "a-made-up-secret-of-24-ch"
    held = delta(type="text_delta", text="it is sk-ant-")
    after = event({"type": "ping", "note": secret})
    written = answer.feed(0.0, held + after)
    redactor.headers([("x-api-key", secret)])
    written += answer.feed(1.0, delta(type="text_delta", text=" no more"))
    written.append(dump(answer.finish("http_end", None).body))
    assert b"no more" in written[-1]
    assert secret.encode() not in b"".join(written)


@pytest.mark.parametrize(
    ("length", "ended_by", "complete"),
    [("5", "http_end", True), ("6", "proxy_stopped", False), (None, "proxy_stopped", False)],
)
def test_an_answer_that_came_whole_is_complete_whatever_happened_afterwards(
    length: str | None, ended_by: EndedBy, complete: bool
) -> None:
    headers = {"content-type": "text/plain"} | ({"content-length": length} if length else {})
    answer = PlainAnswer(headers, Redactor(b"key"), "other")
    answer.feed(0.0, b"whole")
    found = answer.finish("proxy_stopped", "the proxy was killed")
    assert (found.ended_by, found.complete) == (ended_by, complete)
    assert (found.error is None) == complete


def answered(content_type: str, data: bytes, *, stream: bool, status: int = 200) -> FinishedAnswer:
    finished = plain(data, "http_end", **{"content-type": content_type})
    return as_asked(finished, "messages", stream=stream, status=status, content_type=content_type)


MESSAGE = b'{"type":"message","id":"msg_1","usage":{"input_tokens":1,"output_tokens":2}}'


def test_a_web_page_is_no_answer_to_a_call() -> None:
    page = answered("text/html; charset=utf-8", b"<html></html>", stream=True)
    assert (page.complete, page.ended_by) == (False, "http_end")
    assert page.error == "expected a stream, got text/html"


def test_json_that_is_no_message_is_no_answer_to_a_call() -> None:
    for stream, came in (
        (True, "a stream, got application/json"),
        (False, "a message, got other JSON"),
    ):
        answer = answered("application/json", b'{"ok":false}', stream=stream)
        assert not answer.complete
        assert answer.error == f"expected {came}"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "the stream has no message"),
        (b"<html></html>", "the stream has no message"),
        (MESSAGE, "the stream has no message"),
        (b'data: {"type":"message_start","message":{"id":"m"}}\n\n', "the stream ended without"),
    ],
)
def test_a_stream_that_is_none_names_what_is_missing(data: bytes, error: str) -> None:
    streaming = "text/event-stream"
    answer = answer_for({"content-type": streaming}, Redactor(b"key"), "messages")
    answer.feed(0.0, data)
    finished = answer.finish("http_end", None)
    found = as_asked(finished, "messages", stream=True, status=200, content_type=streaming)
    assert not found.complete
    assert (found.error or "").startswith(error)


def test_a_message_answers_a_call_without_a_stream_only() -> None:
    assert answered("application/json", MESSAGE, stream=False).complete
    unread = answered("application/json", MESSAGE, stream=True)
    assert not unread.complete
    assert unread.usage == {"input_tokens": 1, "output_tokens": 2}  # it may be billed


def test_an_error_is_complete_whatever_was_asked_for() -> None:
    assert answered("text/html", b"<html></html>", stream=True, status=502).complete
