"""Strings in JSON are replaced, structure is kept, and the length in bytes does not change."""

import json
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ccwire.wire.format import Manifest
from correlate.schema.observe.freeze import snapshot_of
from correlate.schema.observe.shapes import Shapes
from correlate.schema.observe.sightings import see_record
from correlate.schema.observe.vocabulary import EMBEDDED, LISTED, MAPS, SEALED, is_field_name
from correlate.scrub.json_text import scrub_json
from correlate.scrub.names import Names
from correlate.scrub.rules import CAPTURE, EXCHANGE, MANIFEST, RECORD, Rules
from correlate.transcript.lines import parse_line
from tests.properties import property_test

SESSION = "11111111-2222-4333-8444-5555aaaabbbb"


def names() -> Names:
    return Names(b"a key")


def rules() -> Rules:
    return Rules(names())


def scrubbed(value: Any, document: str = RECORD) -> Any:
    text = json.dumps(value)
    new = scrub_json(text, rules(), document)
    assert len(new) == len(text)
    return json.loads(new)


KEYS = st.sampled_from(
    [
        *("type", "content", "input", "toolUseResult", "user_id", "modelUsage", "cwd", "/a/b.py"),
        *("uuid", "agents", "message", "usage", "x y", "ключ", "properties", 'a"b', "subtype"),
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=90)
    | st.sampled_from(
        ["text", "tool_use", "Bash", '{"session_id": "x", "device_id": "y"}', SESSION]
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


@property_test
@given(st.dictionaries(KEYS, VALUES, max_size=6), st.booleans(), st.sampled_from([None, 1]))
def test_any_record_keeps_its_shape_and_its_size(
    record: dict[str, Any], escaped: bool, indent: int | None
) -> None:
    assume(not names_a_seal(record))
    text = json.dumps(record, ensure_ascii=escaped, indent=indent)
    new = scrub_json(text, rules(), RECORD)
    size = len(text.encode("utf-8", "surrogatepass"))
    assert len(new.encode("utf-8", "surrogatepass")) == size
    copy = json.loads(new)
    assert same_shape(record, copy)
    assert seen(copy) == seen(record)


def names_a_seal(value: Any, under: str = "") -> bool:
    """Whether a key of a map equals a name with special meaning, which is then handled as such."""
    items = list(value.values()) if isinstance(value, dict) else value
    if isinstance(value, dict):
        odd = sum(not is_field_name(key) for key in value) * 2 > len(value)
        alike = len({tuple(i) if isinstance(i, dict) else () for i in items}) == 1
        is_map = odd or under in MAPS or (len(items) > 2 and alike)
        if is_map and value.keys() & (SEALED | LISTED | EMBEDDED | MAPS):
            return True
        return any(names_a_seal(item, key) for key, item in value.items())
    return isinstance(value, list) and any(map(names_a_seal, items))


def same_shape(old: Any, new: Any, *, sealed: bool = False) -> bool:
    """Return types, order and numbers; of sealed objects only the types."""
    if type(old) is not type(new):
        return False
    if isinstance(old, dict):
        return len(old) == len(new) and all(
            same_shape(ours, theirs, sealed=sealed or key in ("input", "properties"))
            for (key, ours), theirs in zip(old.items(), new.values(), strict=True)
        )
    if isinstance(old, list):
        return len(old) == len(new) and all(
            same_shape(ours, theirs, sealed=sealed) for ours, theirs in zip(old, new, strict=True)
        )
    return isinstance(old, str) or sealed or bool(old == new)


def seen(record: dict[str, Any]) -> Any:
    shapes = Shapes()
    see_record(shapes, record)
    return snapshot_of(shapes)


@property_test
@given(st.binary(max_size=300))
@example(b'{"type":"user","message":{"content":"cut of')
@example(b'{"a":tru}')
@example(b'\xef\xbb\xbf{"type":"mode"}\r\n')
@example(b'{"a": "\xff\xfe"}')
@example(b'{"a": "bad \\q escape"}')
@example(b"]]]}{\x00")
@example(b"[" * 299)
def test_a_line_that_is_no_record_is_none_for_the_same_reason(line: bytes) -> None:
    text = line.decode("utf-8", "surrogateescape")
    new = scrub_json(text, rules(), RECORD).encode("utf-8", "surrogateescape")
    assert len(new) == len(line)
    old = parse_line(line)
    assert parse_line(new) == old if isinstance(old, str) else isinstance(parse_line(new), dict)


def test_bytes_that_are_no_text_do_not_tell_what_they_were() -> None:
    latin = b'{"a": "' + "Müßiggang".encode("latin-1") + b'"}'
    text = latin.decode("utf-8", "surrogateescape")
    new = scrub_json(text, rules(), RECORD).encode("utf-8", "surrogateescape")
    assert len(new) == len(latin)
    assert new.count(b"\xff") == 2
    assert b"iggang" not in new


def test_escapes_are_written_as_they_were() -> None:
    text = r'{"content": "\u0048ello\n\"Jane\" \ud83d\ude00 \\ end of a long text of many words"}'
    new = scrub_json(text, rules(), RECORD)
    assert len(new) == len(text)
    assert new.count("\\u") == 3
    value = json.loads(new)["content"]
    assert [c for c in value if c in '\n"\\'] == ["\n", '"', '"', "\\"]


def test_the_formats_own_words_stay() -> None:
    record = {
        "type": "assistant",
        "timestamp": "2026-11-16T02:07:28.396Z",
        "version": "2.1.325",
        "isSidechain": False,
        "message": {
            "model": "claude-opus-5-5",
            "role": "assistant",
            "stop_reason": "tool_use",
            "content": [{"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}],
            "usage": {"output_tokens": 12345, "service_tier": "standard", "inference_geo": "us"},
        },
    }
    copy = scrubbed(record)
    command = copy["message"]["content"][0]["input"].pop("command")
    assert command != record["message"]["content"][0]["input"].pop("command")  # type: ignore[index]
    assert copy == record


def test_what_a_user_or_a_tool_named_does_not_stay() -> None:
    given_input = {"secretField": {"type": "zebra"}, "count": 415_555_0123, "few": 12}
    copy = scrubbed({"name": "mcp__zoo__feed", "input": given_input, "toolUseResult": {"zoo": 1}})
    assert "zoo" not in json.dumps(copy)
    assert "zebra" not in json.dumps(copy)
    assert "secretField" not in json.dumps(copy)
    numbers = [value for value in copy["input"].values() if isinstance(value, int)]
    assert numbers[0] != 415_555_0123
    assert (len(str(numbers[0])), numbers[1]) == (10, 12)


def test_a_parameter_is_called_the_same_in_a_schema_and_in_a_call() -> None:
    tool = {
        "input_schema": {"properties": {"zooName": {"type": "string"}}, "required": ["zooName"]}
    }
    made = rules()
    schema = json.loads(scrub_json(json.dumps(tool), made, CAPTURE))["input_schema"]
    call = json.loads(scrub_json('{"input":{"zooName":"x","command":"y"}}', made, RECORD))
    (name,) = schema["properties"]
    assert schema["required"] == [name]
    assert list(call["input"]) == [name, "command"]


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("sdk", "sdk"),
        ("agent:builtin:general-purpose", "agent:builtin:general-purpose"),
        ("agent:custom:zookeeper", "agent:"),
        ("generate_session_title", "generate_session_title"),
    ],
)
def test_what_a_call_was_for_stays_but_not_who_was_named(source: str, kept: str) -> None:
    copy = scrubbed({"type": "api-request", "querySource": source})["querySource"]
    assert copy.startswith(kept)
    assert "zookeeper" not in copy


def test_the_session_in_a_user_id_is_renamed_like_the_session() -> None:
    made = rules()
    plain = f"user_{'a1' * 32}_account__session_{SESSION}"
    held = json.dumps({"device_id": "d" * 64, "account_uuid": "", "session_id": SESSION})
    for user_id in (plain, held):
        text = json.dumps({"body": {"data": {"metadata": {"user_id": user_id}}}})
        copy = json.loads(scrub_json(text, made, CAPTURE))["body"]["data"]["metadata"]["user_id"]
        assert made.names.name(SESSION) in copy
        assert "a1a1" not in copy
        assert "dddd" not in copy


def test_paths_and_hosts_of_the_api_stay_and_others_go() -> None:
    made = rules()

    def copy(host: str, path: str) -> dict[str, Any]:
        record = {"host": host, "path": path, "url": f"https://{host}{path}?beta=true&zoo=lion"}
        found: dict[str, Any] = json.loads(scrub_json(json.dumps(record), made, CAPTURE))
        return found

    ours = copy("api.anthropic.com", "/api/eval/sdk-zAZezfDKGoZu1234")
    assert ours["host"] == "api.anthropic.com"
    assert ours["path"].startswith("/api/eval/")
    assert "zAZezf" not in ours["path"]
    assert ours["url"].startswith("https://api.anthropic.com/api/eval/")
    assert "?beta=true&" in ours["url"]
    assert "lion" not in ours["url"]
    theirs = copy("llm.acme.example", "/zoo/v1/messages")
    assert "acme" not in json.dumps(theirs)
    assert "/zoo" not in theirs["path"]
    assert theirs["path"].endswith("/v1/messages")
    again = copy("api.anthropic.com", "/v1/messages")
    assert again["path"] == "/v1/messages"


@pytest.mark.parametrize(
    ("host", "path", "kept", "gone"),
    [
        (
            "bedrock-runtime.us-east-1.amazonaws.com",
            "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream",
            "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream",
            "lion",
        ),
        (
            "us-east5-aiplatform.googleapis.com",
            "/v1/projects/lion/locations/us-east5/publishers/anthropic/models/claude-opus-5-5"
            ":rawPredict",
            "/publishers/anthropic/models/claude-opus-5-5:rawPredict",
            "lion",
        ),
        (
            "lion.services.ai.azure.com",
            "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A987654321098%3Ainference-profile%2Fx/invoke",
            "/invoke",
            "987654321098",
        ),
    ],
)
def test_paths_of_clouds_keep_the_model_and_no_names(
    host: str, path: str, kept: str, gone: str
) -> None:
    record = {"host": host, "path": path, "url": f"https://{host}{path}"}
    found = json.loads(scrub_json(json.dumps(record), rules(), CAPTURE))
    assert found["path"].endswith(kept) and found["url"].endswith(kept)
    assert gone not in json.dumps(found)
    assert (found["host"] == host) == ("lion" not in host)


@pytest.mark.parametrize(
    ("model", "is_kept"),
    [
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", True),
        ("claude-sonnet-4-5@20250929", True),
        ("arn:aws:bedrock:us-east-1:987654321098:inference-profile/us.anthropic.claude-x", False),
        ("thelions.anthropic.claude-sonnet-4-5", False),
    ],
)
def test_models_of_clouds_stay_but_no_account(model: str, is_kept: bool) -> None:
    found = json.loads(scrub_json(json.dumps({"model": model}), rules(), EXCHANGE))
    assert (found["model"] == model) == is_kept


def test_headers_stay_where_they_are_the_protocols() -> None:
    headers = {
        "user-agent": "claude-cli/2.1.325 (external, sdk-cli, client-app/zoo)",
        "anthropic-beta": "context-management-2025-06-27,zoo-special",
        "content-length": "12345",
        "x-custom": "the zoo",
        "x-claude-code-session-id": SESSION,
        "x-claude-code-agent-type": "zoo-keeper",
    }
    copy = scrubbed({"headers": headers}, CAPTURE)["headers"]
    assert copy["user-agent"].startswith("claude-cli/2.1.325 (external, sdk-cli, ")
    assert copy["anthropic-beta"].startswith("context-management-2025-06-27,")
    assert copy["content-length"] == "12345"
    assert "zoo" not in json.dumps(copy)
    assert copy["x-claude-code-session-id"] == names().name(SESSION)


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        ("overloaded_error: Overloaded", "overloaded_error: Overloaded"),
        ("invalid_request_error: the zoo is full", "invalid_request_error: "),
        ("the zoo is full", ""),
        ("error", "error"),
    ],
)
def test_an_error_keeps_its_type(error: str, kept: str) -> None:
    copy = scrubbed({"error": error}, EXCHANGE)["error"]
    assert copy.startswith(kept)
    assert "zoo" not in copy


def test_a_manifest_keeps_its_counts_and_its_drift() -> None:
    manifest = Manifest(
        session_id=SESSION,
        cwd="/home/zoo",
        transcript_paths=[f"/home/zoo/.claude/projects/-home-zoo/{SESSION}.jsonl"],
        agents={"a1b2c3d4": "zookeeper"},
        counts={"exchanges": 3},
        drift={"wire/sse/new_event": 1},
        gaps=[{"kind": "capture_error", "at": 1.5, "detail": "the zoo is full"}],
    )
    copy = scrubbed(manifest.to_json(), MANIFEST)
    assert "zoo" not in json.dumps(copy)
    assert (copy["counts"], copy["drift"]) == ({"exchanges": 3}, {"wire/sse/new_event": 1})
    assert copy["gaps"][0]["kind"] == "capture_error"
