import base64
import gzip
import json
from typing import Any

import pytest

from addon.recording.content.exchange_files import (
    whole_file,
)
from addon.recording.content.request import RequestRecord
from ccwire.wire.json_text import dump, parse_json
from tests.addon.recording.content.requests import SESSION, record

KEY = "sk-ant-api03-MADEUPsecret_0001-AA"


def as_file(record: RequestRecord) -> dict[str, Any]:
    value: dict[str, Any] = parse_json(whole_file(b"", {**record.fields, **record.tail}))
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


def test_a_path_may_name_what_the_body_does_not() -> None:
    body = json.dumps({"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9}).encode()
    model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    path = f"/model/{model.replace(':', '%3A')}/invoke-with-response-stream"
    base = record(body, target=path, host="bedrock-runtime.us-east-1.amazonaws.com").base
    assert (base["kind"], base["model"], base["stream"]) == ("messages", model, True)
    assert (base["path"], base["max_tokens"]) == (path, 9)
    once = record(body, target=f"/model/{model}/invoke").base
    assert (once["model"], once["stream"]) == (model, False)
    vertex = "/v1/projects/p/locations/r/publishers/anthropic/models/claude-x@1:rawPredict"
    base = record(b'{"stream": true}', target=vertex).base
    assert (base["kind"], base["model"], base["stream"]) == ("messages", "claude-x@1", False)


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


def test_a_port_that_is_not_the_usual_one_is_in_the_url() -> None:
    assert record(port=8443).fields["url"].startswith("https://api.anthropic.com:8443/")


def test_header_bytes_that_are_no_text_are_written_as_text() -> None:
    file = as_file(record(headers=[("x-\udcff", "v\udcfe")]))
    assert file["headers"] == {"x-�": "v�"}


def test_a_secret_inside_a_request_to_count_for_bedrock_is_redacted() -> None:
    inner = json.dumps({"messages": [{"role": "user", "content": f"{KEY} AKIAMADEUPLABKEY0001"}]})
    encoded = base64.b64encode(inner.encode()).decode()
    body = {"input": {"invokeModel": {"body": encoded}}}
    found = record(json.dumps(body).encode(), target="/model/anthropic.claude-x/count-tokens")
    assert found.base["kind"] == "count_tokens"
    recorded = as_file(found)["body"]["data"]["input"]["invokeModel"]["body"]
    assert recorded.startswith("<redacted:encoded:")
    plain = base64.b64encode(b'{"messages":[{"role":"user","content":"hello"}]}').decode()
    found = record(
        json.dumps({"input": {"invokeModel": {"body": plain}}}).encode(),
        target="/model/anthropic.claude-x/count-tokens",
    )
    assert as_file(found)["body"]["data"]["input"]["invokeModel"]["body"] == plain
