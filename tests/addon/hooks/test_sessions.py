import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from addon.hooks.sessions import (
    SessionEntry,
    SessionsMap,
    default_sessions_path,
    read_sessions,
    session_for_process,
)


def _write(path: Path, *entries: Any) -> Path:
    path.write_text(json.dumps({"version": 1, "sessions": list(entries)}))
    return path


def _entry(session_id: str, pid: int, created_at: float, state: str = "active") -> dict[str, Any]:
    metadata = {"claude_pid": pid, "process_created_at": created_at}
    return {"session_id": session_id, "state": state, "metadata": metadata}


def test_an_entry_is_read_whole(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "s.json",
        {
            "session_id": "aaa",
            "state": "exited",
            "project_dir": "/p",
            "transcript_path": "/t.jsonl",
            "source": "resume",
            "metadata": {
                "claude_pid": 7,
                "process_created_at": 1.5,
                "claude_version": "2.1.39",
                "started_at": 2,
                "ended_at": "1970-01-01T00:00:03+00:00",
                "end_reason": "clear",
                "entrypoint": "cli",
                "seen_at": 2.5,
                "agents": {"a1": "Explore"},
            },
        },
    )
    assert read_sessions(path) == [
        SessionEntry(
            session_id="aaa",
            state="exited",
            project_dir="/p",
            transcript_path="/t.jsonl",
            source="resume",
            pid=7,
            process_created_at=1.5,
            claude_version="2.1.39",
            entrypoint="cli",
            started_at=2.0,
            ended_at=3.0,
            seen_at=2.5,
            agents={"a1": "Explore"},
        )
    ]


@pytest.mark.parametrize(
    "value",
    [
        {"session_id": "aaa"},
        {"session_id": "aaa", "metadata": 5, "state": None},
        {"session_id": "aaa", "metadata": {"claude_pid": "7", "process_created_at": None}},
        {"session_id": "aaa", "metadata": {"started_at": "yesterday", "agents": []}},
    ],
)
def test_fields_that_are_missing_or_odd_are_none(tmp_path: Path, value: Any) -> None:
    assert read_sessions(_write(tmp_path / "s.json", value)) == [SessionEntry(session_id="aaa")]


def test_what_is_no_entry_is_passed_over(tmp_path: Path) -> None:
    assert read_sessions(_write(tmp_path / "s.json", 5, {}, {"session_id": 7}, None)) == []


def test_a_file_that_is_not_there_holds_no_sessions(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert read_sessions(tmp_path / "none.json") == []
    assert caplog.text == ""


def test_an_invalid_file_gives_no_entries_and_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"sessions": 5}')
    with caplog.at_level(logging.WARNING):
        assert read_sessions(path) == []
        assert read_sessions(tmp_path) == []
    first, second = caplog.messages
    assert first == f'ccwire: could not read {path}: "sessions" is not a list'
    assert str(tmp_path) in second


def test_the_newest_entry_of_the_very_process_is_its_session(tmp_path: Path) -> None:
    entries = read_sessions(
        _write(
            tmp_path / "s.json",
            _entry("old", 7, 100.0, "exited"),
            _entry("new", 7, 100.5, "exited"),
            _entry("reused-pid", 7, 900.0),
            _entry("other", 8, 100.0),
            {"session_id": "no-process"},
        )
    )

    def session(pid: int, created_at: float) -> str | None:
        entry = session_for_process(entries, pid, created_at)
        return entry.session_id if entry else None

    assert session(7, 101.0) == "new"
    assert session(7, 900.9) == "reused-pid"
    assert session(7, 500.0) is None
    assert session(9, 100.0) is None


def test_the_map_is_read_again_only_when_the_file_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[Path] = []

    def counting(path: Path) -> list[SessionEntry]:
        reads.append(path)
        return read_sessions(path)

    monkeypatch.setattr("addon.hooks.sessions.read_sessions", counting)
    path = tmp_path / "s.json"
    sessions = SessionsMap(path)
    assert sessions.entries() == []
    assert reads == []
    _write(path, _entry("aaa", 7, 1.0))
    assert [entry.session_id for entry in sessions.entries()] == ["aaa"]
    assert sessions.entries() is sessions.entries()
    assert len(reads) == 1
    # The same size and time in another file: as after an atomic replace.
    replacement = _write(tmp_path / "next.json", _entry("bbb", 7, 1.0))
    status = path.stat()
    os.utime(replacement, ns=(status.st_atime_ns, status.st_mtime_ns))
    replacement.replace(path)
    assert [entry.session_id for entry in sessions.entries()] == ["bbb"]
    path.unlink()
    assert sessions.entries() == []
    assert len(reads) == 2


def test_the_default_path_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCWIRE_SESSIONS", str(tmp_path / "x.json"))
    assert default_sessions_path() == tmp_path / "x.json"
    monkeypatch.delenv("CCWIRE_SESSIONS")
    monkeypatch.setenv("CCWIRE_HOME", str(tmp_path / "home"))
    assert default_sessions_path() == tmp_path / "home" / "sessions.json"
    monkeypatch.delenv("CCWIRE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_sessions_path() == tmp_path / ".ccwire" / "sessions.json"
