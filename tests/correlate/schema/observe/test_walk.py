"""Observing finds every bucket, by version, with an example place for each field."""

import json
from pathlib import Path

import pytest

from correlate.schema.observe.walk import observe, sources
from correlate.schema.snapshot.snapshot import ExamplePlace, Field, Snapshot, versions
from correlate.transcript.lines import BadLine
from tests.correlate.schema.made_up import (
    SESSION,
    VERSION,
    record,
    request,
    response,
    write_captures,
    write_exchange,
    write_lines,
)


def at(snapshot: Snapshot, bucket: str, path: str = "") -> Field:
    field = snapshot[bucket]
    for step in path.split("/") if path else []:
        field = field.children[step]
    return field


def test_a_capture_fills_the_buckets_of_the_wire(tmp_path: Path) -> None:
    observation = observe([write_captures(tmp_path, exchanges=2)])
    snapshot = observation.snapshot
    assert observation.exchanges == 2
    assert sorted(snapshot) == [
        "wire/answer/block/text",
        "wire/beta",
        "wire/delta/text_delta",
        "wire/endpoint",
        "wire/header/request/messages",
        "wire/header/response/messages",
        "wire/request/block/text",
        "wire/request/block/tool_result",
        "wire/request/block/tool_use",
        "wire/request/messages",
        "wire/request/tool/custom",
        "wire/sse/content_block_delta",
        "wire/sse/content_block_start",
        "wire/sse/content_block_stop",
        "wire/sse/message_delta",
        "wire/sse/message_start",
        "wire/sse/message_stop",
        "wire/usage",
    ]
    assert set(snapshot["wire/endpoint"].values) == {"POST /v1/messages"}
    assert set(snapshot["wire/beta"].values) == {
        "context-management-2025-06-27",
        "effort-2025-11-24",
    }
    assert at(snapshot, "wire/header/request/messages", "x-claude-code-session-id").count == 2
    assert set(
        at(snapshot, "wire/header/request/messages", "x-claude-code-request-class").values
    ) == {"main"}
    assert set(at(snapshot, "wire/request/messages", "metadata/user_id").types) == {"json"}
    assert at(snapshot, "wire/sse/content_block_delta").count == 4
    assert at(snapshot, "wire/usage").count == 4
    assert versions(snapshot) == {VERSION}


def test_records_are_distinguished_by_type_subtype_and_kind(tmp_path: Path) -> None:
    lines = [
        record(),
        record("system", subtype="api_error", error={"status": 529}),
        record("attachment", attachment={"type": "todo_reminder", "items": []}),
        {"type": "summary", "summary": "s"},
        record(message={"content": [{"type": "image", "source": {"media_type": "image/png"}}]}),
    ]
    write_lines(tmp_path / "projects" / "-home-x" / f"{SESSION}.jsonl", *lines)
    snapshot = observe([tmp_path]).snapshot
    assert sorted(snapshot) == [
        "layout",
        "transcript/attachment",
        "transcript/attachment/todo_reminder",
        "transcript/block/image",
        "transcript/block/text",
        "transcript/summary",
        "transcript/system/api_error",
        "transcript/user",
    ]
    assert set(snapshot["layout"].values) == {"projects/<project>/<session>.jsonl"}
    image = at(snapshot, "transcript/block/image", "source/media_type")
    assert set(image.values) == {"image/png"}
    assert snapshot["transcript/summary"].versions == {VERSION}


def test_hook_payloads_by_their_event(tmp_path: Path) -> None:
    payload = {"hook_event_name": "SessionStart", "session_id": SESSION, "source": "startup"}
    path = write_lines(tmp_path / "hooks.jsonl", payload)
    snapshot = observe([path], version="2.1.39").snapshot
    assert list(snapshot) == ["hook/SessionStart"]
    assert set(at(snapshot, "hook/SessionStart", "source").values) == {"startup"}
    assert versions(snapshot) == {"2.1.39"}


def test_notes_beside_transcripts_and_live_sessions(tmp_path: Path) -> None:
    agents = tmp_path / "projects" / "-home-x" / SESSION / "subagents"
    write_lines(agents / "agent-a1.jsonl", record())
    write_lines(agents / "agent-a1.meta.json", {"agentType": "x"})
    write_lines(tmp_path / "sessions" / "4711.json", {"pid": 4711, "version": VERSION})
    write_lines(tmp_path / "sessions" / "4711.key", {"secret": "x"})
    write_lines(tmp_path / "settings.json", {"env": {}})
    write_lines(tmp_path / "history.jsonl", {"display": "x", "project": "/home/x"})
    snapshot = observe([tmp_path]).snapshot
    assert sorted(name for name in snapshot if not name.startswith("transcript/")) == [
        "file/agent-meta",
        "file/live-session",
        "history",
        "layout",
    ]
    assert snapshot["file/agent-meta"].versions == {VERSION}
    assert [p.name for p in sources([tmp_path])] == [
        "history.jsonl",
        "agent-a1.jsonl",
        "agent-a1.meta.json",
        "4711.json",
    ]


def test_each_version_apart(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "t.jsonl",
        record(version="2.1.39"),
        record(version="2.1.168", requestRef="x"),
        {"type": "summary", "summary": "s"},
    )
    observation = observe([tmp_path])
    assert set(observation.by_version) == {"2.1.39", "2.1.168"}
    user = observation.snapshot["transcript/user"]
    assert user.versions == {"2.1.39", "2.1.168"}
    assert user.children["requestRef"].versions == {"2.1.168"}
    assert observation.snapshot["transcript/summary"].versions == {"2.1.168"}


def test_an_answer_has_the_version_of_its_request(tmp_path: Path) -> None:
    session = tmp_path / SESSION
    session.mkdir()
    old = request(1)
    old["headers"] = {"user-agent": "claude-cli/1.0.30 (external, cli)"}
    write_exchange(session, 1, old, response(1))
    write_exchange(session, 2, request(2), response(2))
    by_version = observe([tmp_path]).by_version
    assert {version: snap["wire/usage"].count for version, snap in by_version.items()} == {
        "1.0.30": 2,
        VERSION: 2,
    }


def test_errors_and_plain_answers(tmp_path: Path) -> None:
    session = tmp_path / SESSION
    session.mkdir()
    failed = {"type": "error", "error": {"type": "overloaded_error", "message": "m"}}
    plain = {"type": "message", "content": [{"type": "text", "text": "x"}], "usage": {}}
    for sequence, status, data in ((1, 529, failed), (2, 200, plain)):
        answer = response(sequence) | {
            "status_code": status,
            "body": {"type": "json", "data": data},
        }
        write_exchange(session, sequence, request(sequence), answer)
    snapshot = observe([tmp_path]).snapshot
    error = at(snapshot, "wire/answer/error", "error/type")
    assert set(error.values) == {"overloaded_error"}
    assert set(at(snapshot, "wire/answer/messages", "content/[]").types) == {
        "@wire/answer/block/text"
    }


def test_places_are_real_while_observing(tmp_path: Path) -> None:
    write_captures(tmp_path)
    path = write_lines(tmp_path / "t.jsonl", record(), record(odd=1))
    snapshot = observe([tmp_path]).snapshot
    assert at(snapshot, "transcript/user", "odd").at == ExamplePlace(str(path), 2)
    assert at(snapshot, "transcript/user", "odd").absent == ExamplePlace(str(path), 1)
    exchange = str(tmp_path / SESSION / "0001_resp_v1_messages.json")
    assert snapshot["wire/sse/message_stop"].at == ExamplePlace(exchange)


def test_what_cannot_be_read_is_named_and_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(f'{json.dumps(record())}\n\n{{"type": "us\n[1]\n{{"cut": tr')
    broken = tmp_path / "0001_req_v1_messages.json"
    broken.write_text("{")
    observation = observe([tmp_path])
    assert observation.records == 1
    assert observation.unreadable == [
        BadLine(broken, 0, "malformed"),
        BadLine(path, 3, "malformed"),
        BadLine(path, 4, "not an object"),
        BadLine(path, 5, "cut"),
    ]


def test_an_exchange_that_is_filed_elsewhere_meanwhile_is_passed_over(tmp_path: Path) -> None:
    session = write_captures(tmp_path, exchanges=2) / SESSION
    moved = session / "0002_req_v1_messages.json"

    def file_elsewhere(path: Path) -> None:
        if path == moved:
            path.unlink()

    observation = observe([tmp_path], on_file=file_elsewhere)
    assert observation.exchanges == 1
    assert observation.unreadable == [BadLine(moved, 0, "gone")]


@pytest.mark.parametrize(
    "value",
    [None, 1, "x", [], [[[[]]]], {}, {"type": []}, {"type": {}}, {"content": [{"type": 1}]}],
)
def test_odd_values_are_counted_not_stumbled_over(tmp_path: Path, value: object) -> None:
    session = tmp_path / SESSION
    session.mkdir()
    odd = response() | {"body": {"type": "sse", "events": [{"data": value}, value, {}]}}
    write_exchange(session, 1, request() | {"headers": value, "body": value}, odd)
    write_lines(tmp_path / "t.jsonl", {"type": "user", "message": value, "usage": value})
    assert observe([tmp_path]).snapshot["transcript/user"].count == 1


def test_deep_nesting_ends_somewhere(tmp_path: Path) -> None:
    deep = "[" * 900 + "]" * 900
    (tmp_path / "t.jsonl").write_text(f'{{"type": "user", "a": {deep}}}\n')
    assert observe([tmp_path]).records == 1
