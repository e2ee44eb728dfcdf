"""`ccwire sessions` joins captures, live records and sessions.json."""

import json
import os
import time
from pathlib import Path
from typing import Any

import orjson
import psutil
import pytest
from click.testing import CliRunner

from ccwire.cli import main
from ccwire.wire.format import Exchange, Manifest

CAPTURED = "11111111-1111-4111-8111-111111111111"
RUNNING = "22222222-2222-4222-8222-222222222222"
GONE = "33333333-3333-4333-8333-333333333333"
WRITTEN = "44444444-4444-4444-8444-444444444444"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "captures" / CAPTURED
    folder.mkdir(parents=True)
    manifest = Manifest(
        session_id=CAPTURED, cwd="/projects/shop", claude_versions=["2.1.39"], first_seen=100.0
    )
    (folder / "manifest.json").write_bytes(orjson.dumps(manifest.to_json()))
    call = Exchange(
        sequence=1,
        flow_id="f",
        started=100.0,
        ended=101.0,
        method="POST",
        host="api.anthropic.com",
        path="/v1/messages",
        kind="messages",
        model="claude-sonnet-4-5",
        usage={"input_tokens": 1000, "output_tokens": 200, "cache_read_input_tokens": 9000},
        complete=True,
    )
    (folder / "exchanges.jsonl").write_bytes(orjson.dumps(call.to_json()) + b"\n")
    live = tmp_path / "claude" / "sessions"
    live.mkdir(parents=True)
    me = os.getpid()
    record: dict[str, Any] = {
        "pid": me,
        "sessionId": RUNNING,
        "cwd": "/projects/mine",
        "status": "busy",
    }
    record |= {"startedAt": time.time() * 1000, "version": "2.1.325"}
    (live / f"{me}.json").write_text(json.dumps(record))
    gone = _unused_pid()
    (live / f"{gone}.json").write_text(json.dumps({"pid": gone, "sessionId": GONE}))
    (live / "secret.key").write_text("never opened")
    (live / "secret.key").chmod(0)
    project = tmp_path / "claude" / "projects" / "-projects-old"
    project.mkdir(parents=True)
    line = {"type": "user", "cwd": "/projects/old", "message": {"content": "Mend the roof\nplease"}}
    (project / f"{WRITTEN}.jsonl").write_text(json.dumps(line) + "\n")
    monkeypatch.setenv("CCWIRE_SESSIONS", str(tmp_path / "sessions.json"))
    return tmp_path


def _unused_pid() -> int:
    return next(pid for pid in range(400_000, 500_000) if not psutil.pid_exists(pid))


def listed(place: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    places = ["--captures", str(place / "captures"), "--claude-dir", str(place / "claude")]
    result = CliRunner().invoke(main, ["sessions", "--json", *places, *arguments])
    assert result.exit_code == 0, result.output
    return {row["session_id"]: row for row in json.loads(result.stdout)["sessions"]}


def test_captured_and_running_sessions_are_listed(place: Path) -> None:
    rows = listed(place)
    assert set(rows) == {CAPTURED, RUNNING, GONE}
    captured = rows[CAPTURED]
    assert (captured["calls"], captured["input_tokens"], captured["output_tokens"]) == (
        1,
        10000,
        200,
    )
    assert captured["cost_usd"] == pytest.approx(0.003 + 0.003 + 0.0027)
    assert (captured["project"], captured["version"]) == ("/projects/shop", "2.1.39")


def test_a_record_whose_process_is_gone_is_shown_as_such(place: Path) -> None:
    rows = listed(place)
    assert (rows[RUNNING]["state"], rows[GONE]["state"]) == ("busy", "gone")


def test_all_includes_sessions_that_only_have_a_transcript(place: Path) -> None:
    row = listed(place, "--all")[WRITTEN]
    assert (row["title"], row["project"], row["captured"]) == (
        "Mend the roof please",
        "/projects/old",
        False,
    )


def test_the_table_fits_80_columns(place: Path) -> None:
    places = ["--captures", str(place / "captures"), "--claude-dir", str(place / "claude")]
    result = CliRunner(env={"COLUMNS": "80"}).invoke(main, ["sessions", "--all", *places])
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "11111111" in result.stdout


def test_no_captures_prints_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCWIRE_SESSIONS", str(tmp_path / "none.json"))
    places = ["--captures", str(tmp_path / "a"), "--claude-dir", str(tmp_path / "b")]
    result = CliRunner().invoke(main, ["sessions", *places])
    assert "ccwire run claude" in result.stdout


def test_a_session_that_its_client_never_used_is_not_listed(place: Path) -> None:
    """With `--continue`, a client has a session of its own before it goes on in the other one."""
    lines = place / "captures" / CAPTURED / "exchanges.jsonl"
    call = orjson.loads(lines.read_bytes()) | {"pid": 500, "process_started": 90.0}
    lines.write_bytes(orjson.dumps(call) + b"\n")
    start = call | {"path": "/api/hello", "kind": "hello", "usage": None}
    for session, started in (("unused", 90.0), ("other-process", 91.0)):
        folder = place / "captures" / session
        folder.mkdir()
        line = orjson.dumps(start | {"process_started": started})
        (folder / "exchanges.jsonl").write_bytes(line + b"\n")
    assert set(listed(place)) == {CAPTURED, RUNNING, GONE, "other-process"}
    assert "unused" in listed(place, "--all")
