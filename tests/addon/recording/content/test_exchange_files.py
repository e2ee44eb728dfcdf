import json

from addon.identity.session import Identity
from addon.recording.content.exchange_files import (
    FinishedAnswer,
    exchange_line,
    head,
    rate_limits,
    response_fields,
    whole_file,
)
from addon.recording.jobs import ResponseSeen
from ccwire.wire.format import Exchange
from tests.addon.recording.content.requests import SESSION, record


def test_rate_limits_are_gathered() -> None:
    headers = {
        "anthropic-ratelimit-requests-remaining": "7",
        "retry-after": "3",
        "request-id": "req_1",
    }
    assert rate_limits(headers) == {"requests-remaining": "7", "retry-after": "3"}


ANSWER = FinishedAnswer(
    body={"type": "empty", "size": 0},
    message={"id": "msg_1", "stop_reason": "end_turn"},
    usage_at_start={"output_tokens": 2},
    usage={"output_tokens": 9},
    error=None,
    complete=True,
    ended_by="message_stop",
    wire_size=77,
)


RESPONSE = ResponseSeen(
    at=1001.0,
    status=200,
    reason="OK",
    http_version="HTTP/1.1",
    headers=[("Request-Id", "req_1"), ("anthropic-ratelimit-x", "1")],
)


def line(response: ResponseSeen | None, answer: FinishedAnswer) -> Exchange:
    found = record(b'{"model":"m"}')
    return exchange_line(
        flow_id="f-1",
        sequence=3,
        identity=Identity(SESSION, "header"),
        request=found.base,
        facts={},
        process={"pid": 7, "process_started": 900.5},
        response=response,
        answer=answer,
        ended=1002.0,
        first_byte=1001.25,
    )


def test_a_line_contains_all_that_accounting_needs() -> None:
    told = line(RESPONSE, ANSWER)
    assert (told.sequence, told.status, told.request_id, told.message_id) == (
        3,
        200,
        "req_1",
        "msg_1",
    )
    assert (told.first_byte_ms, told.response_bytes, told.pid) == (1250.0, 77, 7)
    assert (told.usage, told.usage_at_start) == ({"output_tokens": 9}, {"output_tokens": 2})
    assert told.stop_reason == "end_turn"


def test_a_line_without_an_answer_has_no_status() -> None:
    told = line(None, ANSWER)
    assert (told.status, told.request_id) == (None, None)


def test_a_response_file_holds_the_request_s_place_and_the_answer() -> None:
    top = head({"flow_id": "f-1", "sequence": 3}, Identity(SESSION, "header"), "response", 1002.0)
    fields = response_fields(record().fields, RESPONSE, ANSWER, {"seconds": 2.0})
    file = json.loads(whole_file(top, fields))
    assert [*file][:8] == [
        "format",
        "session_id",
        "identified_by",
        "flow_id",
        "sequence",
        "direction",
        "timestamp",
        "timestamp_iso",
    ]
    assert (file["status_code"], file["request_id"]) == (200, "req_1")
    assert (file["rate_limits"], file["timing"]) == ({"x": "1"}, {"seconds": 2.0})
    assert (file["complete"], file["ended_by"], file["path"]) == (
        True,
        "message_stop",
        "/v1/messages",
    )
