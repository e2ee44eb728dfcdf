import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.recording.content.body import classify_body, joined_headers
from addon.redaction.redactor import Redactor
from ccwire.wire.json_text import dump, parse_json
from ccwire.wire.vocabulary import EndpointKind
from tests.properties import property_test


def body_field(body: bytes, kind: EndpointKind = "messages", **headers: str) -> dict[str, Any]:
    field = classify_body(headers, body, None, Redactor(b"key"), kind).field
    value: dict[str, Any] = parse_json(dump(field))
    return value


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
