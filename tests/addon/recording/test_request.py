import base64
import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.identity.session import Identity
from addon.recording.body import classify_body, joined_headers
from addon.recording.exchange_files import (
    FinishedAnswer,
    exchange_line,
    head,
    rate_limits,
    response_fields,
    whole_file,
)
from addon.recording.jobs import RequestSeen, ResponseSeen
from addon.recording.request import RequestRecord, request_record
from addon.redaction.redactor import Redactor
from ccwire.wire.format import Exchange
from ccwire.wire.json_text import dump, parse_json
from ccwire.wire.vocabulary import EndpointKind
from tests.properties import property_test

KEY = "sk-ant-api03-MADEUPsecret_0001-AA"
SESSION = "11111111-2222-3333-4444-555555555555"


def seen(body: bytes = b"", **changes: Any) -> RequestSeen:
    fields: dict[str, Any] = {
        "flow_id": "f-1",
        "started": 1000.0,
        "ended": 1000.5,
        "method": "POST",
        "scheme": "https",
        "host": "api.anthropic.com",
        "port": 443,
        "target": "/v1/messages?beta=true",
        "http_version": "HTTP/1.1",
        "headers": [("Content-Type", "application/json")],
        "body": body,
        "client_address": ("127.0.0.1", 5000),
        "connection_id": "c-1",
    }
    return RequestSeen(**{**fields, **changes})


def record(body: bytes = b"", **changes: Any) -> RequestRecord:
    return request_record(seen(body, **changes), Redactor(b"key"))


def as_file(record: RequestRecord) -> dict[str, Any]:
    value: dict[str, Any] = parse_json(whole_file(b"", {**record.fields, **record.tail}))
    return value


def body_field(body: bytes, kind: EndpointKind = "messages", **headers: str) -> dict[str, Any]:
    field = classify_body(headers, body, None, Redactor(b"key"), kind).field
    value: dict[str, Any] = parse_json(dump(field))
    return value


def test_a_request_is_read() -> None:
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 64,
        "stream": True,
        "messages": [{}, {}],
        "tools": [{}],
        "metadata": {"user_id": f"user_{'a1' * 32}_account__session_{SESSION}"},
    }
    found = record(json.dumps(body).encode())
    assert found.base | {"request_sha256": None} == {
        "started": 1000.0,
        "method": "POST",
        "host": "api.anthropic.com",
        "path": "/v1/messages",
        "kind": "messages",
        "model": "claude-sonnet-4-5",
        "stream": True,
        "max_tokens": 64,
        "messages": 2,
        "tools": 1,
        "request_bytes": len(json.dumps(body)),
        "request_sha256": None,
    }
    assert found.user_id_session == SESSION
    file = as_file(found)
    assert file["query"] == {"beta": "true"}
    assert file["url"] == "https://api.anthropic.com/v1/messages?beta=true"
    assert file["auth"] == "none"
    assert file["body"]["data"]["model"] == "claude-sonnet-4-5"


@pytest.mark.parametrize(
    "field", ["model", "max_tokens", "messages", "tools", "metadata", "stream"]
)
@pytest.mark.parametrize("value", [None, True, -1, 1.5, "\ud800", [], {}, {"user_id": 5}, 10**40])
def test_fields_of_any_type_are_no_trouble(field: str, value: Any) -> None:
    found = record(json.dumps({field: value}).encode())
    as_file(found)
    dump(found.base)


@pytest.mark.parametrize(
    "place",
    ["method", "host", "target", "header", "name", "session header", "model", "user_id", "type"],
)
def test_a_secret_in_any_place_is_in_no_field(place: str) -> None:
    changes: dict[str, Any] = {}
    body: dict[str, Any] = {"model": "m"}
    match place:
        case "method" | "host":
            changes[place] = KEY
        case "target":
            changes["target"] = f"/v1/{KEY}?{KEY}={KEY}"
        case "header":
            changes["headers"] = [("x-claude-code-agent-id", KEY)]
        case "name":
            changes["headers"] = [(KEY, "x")]
        case "session header":
            changes["headers"] = [("x-claude-code-session-id", KEY)]
        case "model":
            body["model"] = KEY
        case "user_id":
            body["metadata"] = {"user_id": f"user_{'a1' * 32}_account__session_{KEY}"}
        case "type":
            changes["headers"] = [("content-type", KEY), ("content-encoding", KEY)]
    found = record(json.dumps(body).encode(), **changes)
    told = json.dumps(as_file(found)) + str(found)
    assert "MADEUP" not in told
    assert "<redacted:api_key:" in told


def test_the_session_is_read_from_header_body_and_telemetry() -> None:
    header = [("X-Claude-Code-Session-Id", SESSION)]
    assert record(headers=header).header_session == SESSION
    telemetry = json.dumps({"events": [{"session_id": SESSION}]}).encode()
    assert record(telemetry, target="/api/event_logging/batch").telemetry_session == SESSION
    assert record(telemetry, target="/v1/messages").telemetry_session is None


def test_a_secret_without_a_shape_leaves_body_url_and_headers() -> None:
    odd = "an-odd-secret-without-a-shape"
    found = record(
        json.dumps({"a": f"x {odd} y", "b": base64.b64encode(odd.encode()).decode()}).encode(),
        headers=[("x-api-key", odd), ("x-note", odd)],
        target=f"/v1/messages?k={odd}",
    )
    told = json.dumps(as_file(found))
    assert "odd-secret" not in told
    assert base64.b64encode(odd.encode()).decode()[:20] not in told


def test_a_body_that_a_secret_s_removal_would_break_is_kept_as_text() -> None:
    """The secret is a number that is also the value of a field."""
    found = record(b'{"n": 123456789012345}', headers=[("x-api-key", "123456789012345")])
    assert as_file(found)["body"]["type"] == "text"
    assert "123456789012345" not in json.dumps(as_file(found)["body"])


def test_a_compressed_request_is_decoded_and_its_damage_is_reported() -> None:
    packed = gzip.compress(b'{"model":"m"}')
    headers = [("content-encoding", "gzip")]
    found = record(packed, headers=headers)
    assert (found.base["model"], found.base["request_bytes"]) == ("m", len(packed))
    damaged = as_file(record(packed + b"rubbish", headers=headers))["body"]
    assert damaged["data"] == {"model": "m"}
    assert "decode_error" in damaged


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", {"type": "empty", "size": 0}),
        (b"words", {"type": "text", "size": 5, "data": "words"}),
        (b"[1, 2]", {"type": "json", "size": 6, "data": [1, 2]}),
        (b"null", {"type": "json", "size": 4, "data": None}),
        (b'"\\ud800"', {"type": "json", "size": 8, "data": "\ud800"}),
        (b"NaN", {"type": "text", "size": 3, "data": "NaN"}),
        (b'\xef\xbb\xbf"x"', {"type": "text", "size": 6, "data": '\ufeff"x"'}),
    ],
)
def test_bodies_are_classified(body: bytes, expected: dict[str, Any]) -> None:
    assert body_field(body) == expected


@pytest.mark.parametrize("body", [b"\xff\xfe", b"a\0b", '"x"'.encode("utf-16"), bytes(range(256))])
def test_a_binary_body_is_recorded_by_size_and_hash(body: bytes) -> None:
    found = body_field(body)
    assert (found["type"], found["size"], "data" in found) == ("binary", len(body), False)
    assert len(found["sha256"]) == 64


def test_a_form_is_read_and_hides_nothing() -> None:
    form = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
    body = b"a=1&b=2&b=3&k=sk%2Dant%2Dapi03%2DMADEUP&empty="
    data = body_field(body, "oauth", **form)["data"]
    assert data == {"a": "1", "b": ["2", "3"], "k": data["k"], "empty": ""}
    assert data["k"].startswith("<redacted:api_key:")


def test_who_the_user_is_leaves_every_kind_but_the_conversation() -> None:
    body = json.dumps({"device_id": "d-0006"}).encode()
    assert body_field(body, "messages")["data"] == {"device_id": "d-0006"}
    assert body_field(body, "event_logging")["data"]["device_id"].startswith("<redacted:device:")


@property_test
@given(
    body=st.binary(max_size=60) | st.text(max_size=20).map(lambda t: json.dumps(t).encode()),
    kind=st.sampled_from(["messages", "event_logging"]),
    content_type=st.sampled_from(
        ["", "application/json", "application/x-www-form-urlencoded", "text/plain"]
    ),
)
def test_any_body_gives_a_file_that_can_be_read(
    body: bytes, kind: EndpointKind, content_type: str
) -> None:
    found = body_field(body, kind, **{"content-type": content_type})
    assert found["size"] == len(body)


def test_repeated_headers_are_joined_under_one_name() -> None:
    assert joined_headers([("A", "1"), ("b", "2"), ("a", "3")]) == {"a": "1, 3", "b": "2"}


def test_rate_limits_are_gathered() -> None:
    headers = {
        "anthropic-ratelimit-requests-remaining": "7",
        "retry-after": "3",
        "request-id": "req_1",
    }
    assert rate_limits(headers) == {"requests-remaining": "7", "retry-after": "3"}


def test_a_port_that_is_not_the_usual_one_is_in_the_url() -> None:
    assert record(port=8443).fields["url"].startswith("https://api.anthropic.com:8443/")


def test_header_bytes_that_are_no_text_are_written_as_text() -> None:
    file = as_file(record(headers=[("x-\udcff", "v\udcfe")]))
    assert file["headers"] == {"x-�": "v�"}


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
        pid=7,
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
