"""A snapshot never contains a user's text, path, id or name: every such string is a canary."""

import json
from pathlib import Path
from typing import Any

import pytest

from correlate.schema.observe.vocabulary import is_beta, is_field_name, is_word
from correlate.schema.observe.walk import observe
from correlate.schema.snapshot.file import dumps, loads
from correlate.schema.snapshot.json_schema import json_schemas
from tests.correlate.schema.made_up import record, request, response, write_exchange, write_lines

CANARY = "cAnArY"
ID = f"{CANARY}-0000-4000-8000-00000000c0de"
PATH = f"/home/{CANARY}/src/{CANARY}.py"
TEXT = f"please tell {CANARY} nothing"


def planted(value: Any) -> Any:
    """Replace every string by a canary, except words of the format."""
    if isinstance(value, dict):
        return {key: item if _is_word_of(key) else planted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [planted(item) for item in value]
    return TEXT if isinstance(value, str) else value


def _is_word_of(key: str) -> bool:
    return key in ("type", "role", "subtype", "version", "method", "host", "user-agent")


def write_everything(folder: Path) -> None:
    session = folder / "captures" / ID
    session.mkdir(parents=True)
    sent = planted(request(1))
    sent["host"], sent["path"] = "api.anthropic.com", f"/api/eval/{CANARY}1234/{CANARY}.x"
    sent["headers"]["anthropic-beta"] = f"effort-2025-11-24,{CANARY},{TEXT}"
    sent["headers"]["user-agent"] = f"claude-cli/{CANARY} (external)"
    data = sent["body"]["data"]
    data["metadata"]["user_id"] = json.dumps({"device_id": ID, "session_id": ID})
    data["messages"][1]["content"][1]["input"] = {CANARY: {CANARY: PATH}}
    data["tools"][0]["input_schema"] = {"properties": {CANARY: {"type": "string"}}}
    data["mcp_servers"] = {CANARY: {"url": PATH}}
    write_exchange(session, 1, sent, planted(response(1)))
    elsewhere = request(2) | {"host": f"{CANARY}.example", "path": f"/{CANARY}"}
    write_exchange(session, 2, elsewhere, response(2))
    lines = [
        planted(record()),
        planted(record("assistant")) | {"requestId": ID, "slug": CANARY},
        record(toolUseResult={CANARY: PATH, "stdout": TEXT, "type": CANARY, PATH: {CANARY: 1}}),
        record(toolUseResult=[{"type": "text", "text": TEXT, CANARY: 1}]),
        record("file-history-snapshot", snapshot={"trackedFileBackups": {CANARY: {"v": 1}}}),
        record("cost-state", modelUsage={f"{CANARY}-model": {"costUSD": 1.5}}),
        record(message={"content": [{"type": TEXT}, {"type": PATH}, {"type": ID}]}),
        record(permissionMode=TEXT, entrypoint=PATH, userType=ID, level=f"{CANARY}.x"),
        record(people={f"{CANARY}{n}": {"n": n} for n in "abc"}),
        record(files={PATH: 1, ID: 2}, toolu={f"toolu_01{CANARY}": 1}),
        {"type": TEXT, "subtype": PATH},
        {"type": "system", "subtype": ID},
        {"type": "attachment", "attachment": {"type": TEXT, "content": PATH}},
        {"hook_event_name": "Stop", "cwd": PATH, "tool_input": {CANARY: 1}, "reason": CANARY},
        {"hook_event_name": "PostToolUse", "tool_response": {CANARY: CANARY}},
        {"hook_event_name": TEXT},
    ]
    claude = folder / "claude"
    write_lines(claude / "projects" / f"-home-{CANARY}" / f"{ID}.jsonl", *lines)
    write_lines(claude / "projects" / f"-home-{CANARY}" / ID / CANARY / f"agent-{CANARY}.jsonl")
    write_lines(claude / CANARY / f"{CANARY}.md")
    write_lines(claude / "history.jsonl", {"display": TEXT, "pastedContents": {CANARY: PATH}})


def test_no_canary_gets_into_a_snapshot(tmp_path: Path) -> None:
    write_everything(tmp_path)
    observation = observe([tmp_path / "captures", tmp_path / "claude"])
    assert observation.exchanges == 2
    assert observation.records == 17
    text = dumps(observation.snapshot)
    assert len(text) > 5000
    found = [line for line in text.splitlines() if CANARY.lower() in line.lower()]
    assert found == []
    assert str(tmp_path) not in text
    exported = json.dumps(json_schemas(observation.snapshot))
    assert CANARY.lower() not in exported.lower()


def test_a_snapshot_of_snapshots_is_as_silent(tmp_path: Path) -> None:
    write_everything(tmp_path)
    once = dumps(observe([tmp_path / "captures"]).snapshot)
    assert dumps(loads(once)) == once


@pytest.mark.parametrize(
    "key",
    [
        "src/main.py",
        "5e551011-0000-4000-8000-00000000c0de",
        "toolu_01AbCdEfGhIj",
        "agent-a9f52f638aeca2ab0",
        "deadbeef00",
        "claude-opus-5-5",
        "gpt-2026",
        "0",
        "",
        "two words",
        "naïve",
        "user@example.org",
        "a1b2c3",
        "x" * 70,
    ],
)
def test_names_and_ids_are_no_field_names(key: str) -> None:
    assert not is_field_name(key)


@pytest.mark.parametrize(
    "key",
    [
        "type",
        "cache_creation_input_tokens",
        "ephemeral_5m_input_tokens",
        "x-claude-code-session-id",
        "anthropic-ratelimit-unified-5h-reset",
        "isApiErrorMessage",
        "$schema",
        "sha256",
        "session_identifier",
        "cacheCreationEphemeral1hInputTokens",
        "x-claude-1p-request-class",
    ],
)
def test_field_names_are(key: str) -> None:
    assert is_field_name(key)


def test_words_of_a_closed_vocabulary() -> None:
    assert all(map(is_word, ["end_turn", "1h", "image/png", "sdk-cli", "web_search_20250305"]))
    assert not any(map(is_word, ["two words", "/home/x", "a" * 50, "12345", "x@y", "home/x", ""]))


def test_betas_have_a_date() -> None:
    assert is_beta("context-1m-2025-08-07")
    assert not is_beta("my-company-thing")
    assert not is_beta("Two words 2025-08-07")
