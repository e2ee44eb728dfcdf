"""The hook as the client runs it: as a process started by a shell, with a payload on stdin."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

import addon.hook
from addon.hooks.handle import handle
from addon.hooks.sessions_file import Lock

HOOK = [sys.executable, "-I", "-S", addon.hook.__file__]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def _run(
    home: Path, payload: Any, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    run = subprocess.run(
        [*HOOK, *arguments], input=data, env={"HOME": str(home), **environment}, capture_output=True
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")
    return run


def _event(name: str, session_id: str = "aaa", **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": name, "session_id": session_id, "cwd": "/c", **fields}


def _map(home: Path) -> list[Any]:
    document = json.loads((home / ".ccwire" / "sessions.json").read_text())
    assert document["version"] == 1
    sessions = document["sessions"]
    assert isinstance(sessions, list)
    return sessions


def _log(home: Path) -> str:
    return (home / ".ccwire" / "hook.log").read_text()


def _names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_session_from_its_start_to_its_end(home: Path) -> None:
    _run(home, _event("SessionStart", source="startup"))
    [entry] = _map(home)
    assert (entry["session_id"], entry["state"], entry["source"]) == ("aaa", "active", "startup")
    # The parent of the hook is no shell here: it is this test.
    assert entry["metadata"]["claude_pid"] == os.getpid()
    created_at = psutil.Process().create_time()
    assert entry["metadata"]["process_created_at"] == pytest.approx(created_at, abs=1.1)
    _run(home, _event("SessionEnd", reason="logout"))
    [entry] = _map(home)
    assert (entry["state"], entry["metadata"]["end_reason"]) == ("exited", "logout")
    assert (home / ".ccwire").stat().st_mode & 0o777 == 0o700
    assert (home / ".ccwire" / "sessions.json").stat().st_mode & 0o777 == 0o600
    names = ["sessions.json", "sessions.json.events", "sessions.json.lock"]
    assert _names(home / ".ccwire") == names


def test_the_client_is_found_past_the_shell_that_runs_the_hook(home: Path) -> None:
    command = f"{' '.join(HOOK)}; true"
    data = json.dumps(_event("Stop")).encode()
    subprocess.run(["/bin/sh", "-c", command], input=data, env={"HOME": str(home)}, check=True)
    assert _map(home)[0]["metadata"]["claude_pid"] == os.getpid()


def test_the_environment_names_the_client_and_only_what_is_known_is_recorded(home: Path) -> None:
    _run(
        home,
        _event("SessionStart"),
        CLAUDE_PID=str(os.getppid()),
        CLAUDE_CODE_SESSION_ID="aaa",
        CLAUDE_PROJECT_DIR="/proj",
        CLAUDE_CODE_ENTRYPOINT="cli",
        SOME_TOKEN="hush-hush",
    )
    [entry] = _map(home)
    assert entry["metadata"]["claude_pid"] == os.getppid()
    assert (entry["project_dir"], entry["metadata"]["entrypoint"]) == ("/proj", "cli")
    assert "hush" not in json.dumps(entry)


def test_variables_inherited_from_another_client_are_not_this_one_s(home: Path) -> None:
    _run(
        home,
        _event("SessionStart"),
        CLAUDE_PID=str(os.getppid()),
        CLAUDE_CODE_SESSION_ID="outer",
        CLAUDE_PROJECT_DIR="/outer",
    )
    [entry] = _map(home)
    assert (entry["metadata"]["claude_pid"], entry["project_dir"]) == (os.getpid(), "/c")


def test_a_session_whose_process_is_gone_is_marked_crashed(home: Path) -> None:
    _run(home, _event("SessionStart"))
    sessions_file = home / ".ccwire" / "sessions.json"
    document = json.loads(sessions_file.read_text())
    document["sessions"][0]["metadata"]["process_created_at"] -= 60
    sessions_file.write_text(json.dumps(document))
    _run(home, _event("SessionStart", "bbb"))
    assert [(e["session_id"], e["state"]) for e in _map(home)] == [
        ("aaa", "crashed"),
        ("bbb", "active"),
    ]


def test_without_sight_of_any_process_nobody_is_held_for_crashed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(home, _event("SessionStart"))
    monkeypatch.setattr("addon.hooks.handle.process_lookup", lambda: {}.get)
    path = home / ".ccwire" / "sessions.json"
    payload = json.dumps(_event("SessionStart", "bbb")).encode()
    handle(payload, ["--sessions", str(path)], {}, os.getpid())
    assert [(e["session_id"], e["state"]) for e in _map(home)] == [
        ("aaa", "active"),
        ("bbb", "active"),
    ]


def test_the_version_comes_from_the_live_record_else_from_what_this_run_wrote(home: Path) -> None:
    project = home / ".claude" / "projects" / "-c"
    project.mkdir(parents=True)
    transcript = project / "aaa.jsonl"
    resumed = '{"version": "1.0.1", "timestamp": "2020-01-01T00:00:00.000Z"}\n'
    transcript.write_text(resumed)
    _run(home, _event("SessionStart", transcript_path=str(transcript)))
    assert _map(home)[0]["metadata"]["claude_version"] is None
    written = '{"version": "1.0.100", "timestamp": "2999-01-01T00:00:00.000Z"}\n'
    transcript.write_text(resumed + written + '{"type": "x"}\n[]\n{"vers')
    _run(home, _event("Stop", transcript_path=str(transcript)))
    assert _map(home)[0]["metadata"]["claude_version"] == "1.0.100"
    records = home / ".claude" / "sessions"
    records.mkdir()
    (records / f"{os.getpid()}.json").write_text('{"version": "2.1.325"}')
    _run(home, _event("UserPromptSubmit", transcript_path=str(transcript)))
    assert _map(home)[0]["metadata"]["claude_version"] == "2.1.325"


def test_another_file_is_used_where_one_is_named(home: Path, tmp_path: Path) -> None:
    _run(home, _event("Stop", "by-variable"), CCWIRE_SESSIONS=str(tmp_path / "a" / "s.json"))
    _run(home, _event("Stop", "by-option"), "--sessions", str(tmp_path / "b" / "s.json"))
    _run(home, _event("Stop", "by-home"), CCWIRE_HOME=str(tmp_path / "c"))
    assert '"by-home"' in (tmp_path / "c" / "sessions.json").read_text()
    assert '"by-variable"' in (tmp_path / "a" / "s.json").read_text()
    assert '"by-option"' in (tmp_path / "b" / "s.json").read_text()
    assert _names(home) == []


def test_other_events_are_ignored_quietly(home: Path) -> None:
    _run(home, _event("PreToolUse"))
    assert _names(home) == []


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "the payload is not JSON"),
        (b"{hush", "the payload is not JSON"),
        (b"\xff\xfe", "the payload is not JSON"),
        (b"[" * 200_000, "the payload is not JSON"),
        (b"[]", "the payload has no hook_event_name"),
        (b'{"hook_event_name": 5}', "the payload has no hook_event_name"),
        (b'{"hook_event_name": "Stop"}', "the payload has no valid session id"),
        (
            b'{"hook_event_name": "Stop", "session_id": "../hush"}',
            "the payload has no valid session id",
        ),
    ],
)
def test_a_payload_that_cannot_be_used_is_a_line_in_the_log_that_does_not_quote_it(
    home: Path, payload: bytes, reason: str
) -> None:
    _run(home, payload)
    [line] = _log(home).splitlines()
    assert reason in line
    assert "hush" not in line
    assert not (home / ".ccwire" / "sessions.json").exists()


def test_a_corrupt_map_is_set_aside_and_a_new_one_begun(home: Path) -> None:
    folder = home / ".ccwire"
    folder.mkdir()
    (folder / "sessions.json").write_text('{"sessions": [{"session_id": "pre')
    _run(home, _event("SessionStart"))
    assert [entry["session_id"] for entry in _map(home)] == ["aaa"]
    [aside] = folder.glob("sessions.json.corrupt-*")
    assert aside.read_text() == '{"sessions": [{"session_id": "pre'
    assert f"renamed to {aside.name}" in _log(home)


def test_a_linked_map_stays_a_link(home: Path, tmp_path: Path) -> None:
    (home / ".ccwire").mkdir()
    (home / ".ccwire" / "sessions.json").symlink_to(tmp_path / "real.json")
    _run(home, _event("SessionStart"))
    assert (home / ".ccwire" / "sessions.json").is_symlink()
    assert _map(home)[0]["session_id"] == "aaa"


@pytest.mark.parametrize("place", ["nowhere/home", "file"])
def test_without_a_usable_home_it_still_ends_at_once(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("not a folder")
    _run(tmp_path / place, _event("SessionStart"))
    assert _names(tmp_path) == ["file"]


def test_a_folder_that_cannot_be_written_to_still_ends_at_once(home: Path) -> None:
    # Instead of a read-only folder, because root ignores modes.
    (home / ".ccwire" / "sessions.json.tmp").mkdir(parents=True)
    _run(home, _event("SessionStart"))
    assert "Is a directory" in _log(home)


def test_a_lock_that_is_never_given_back_neither_hangs_the_client_nor_loses_its_event(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("addon.hooks.handle.LOCK_SECONDS", 0.02)
    path = home / "sessions.json"
    lock = Lock(str(path))
    assert lock.take()
    start = json.dumps(_event("SessionStart", prompt="hush")).encode()
    handle(start, ["--sessions", str(path)], {}, os.getpid())
    assert "the lock was held for 0.02 s" in (home / "hook.log").read_text()
    assert not path.exists()
    [left] = (home / "sessions.json.events").iterdir()
    assert "hush" not in left.read_text()
    lock.give_back()
    _run(home, _event("Stop", "bbb"), "--sessions", str(path))
    sessions = json.loads(path.read_text())["sessions"]
    assert [entry["session_id"] for entry in sessions] == ["aaa", "bbb"]
    assert _names(home / "sessions.json.events") == []


def test_an_event_that_no_hook_has_written_holds_up_no_other(home: Path) -> None:
    (home / ".ccwire" / "sessions.json.events").mkdir(parents=True)
    (home / ".ccwire" / "sessions.json.events" / "1-1").write_text('{"payload": "hush')
    _run(home, _event("SessionStart"))
    assert [entry["session_id"] for entry in _map(home)] == ["aaa"]
    assert "skipped 1-1" in _log(home)
    assert "hush" not in _log(home)
    assert _names(home / ".ccwire" / "sessions.json.events") == []


def test_a_hundred_hooks_at_once_lose_no_entry(home: Path) -> None:
    hooks = []
    for number in range(100):
        payload = home / f"{number}.json"
        payload.write_text(json.dumps(_event("Stop", f"session-{number}")))
        with payload.open() as stdin:
            hooks.append(subprocess.Popen(HOOK, stdin=stdin, env={"HOME": str(home)}))
    assert [hook.wait() for hook in hooks] == [0] * 100
    assert {e["session_id"] for e in _map(home)} == {f"session-{n}" for n in range(100)}


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "loop", "huge"])
def test_a_transcript_that_is_no_usual_file_does_not_stop_it(home: Path, kind: str) -> None:
    path = home / "transcript.jsonl"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path = Path("/dev/zero")
        case "folder":
            path.mkdir()
        case "loop":
            path.symlink_to(path)
        case "huge":
            with path.open("wb") as file:
                file.truncate(1 << 40)
    _run(home, _event("SessionStart", transcript_path=str(path)))
    document = json.loads((home / ".ccwire" / "sessions.json").read_text())
    assert document["sessions"][0]["transcript_path"] == str(path)
    assert not (home / ".ccwire" / "hook.log").exists()


@pytest.mark.parametrize("name", ["sessions.json.tmp", "hook.log", "sessions.json.lock"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_a_planted_pipe_or_link_is_not_used(home: Path, name: str, kind: str) -> None:
    (home / ".ccwire").mkdir()
    outside = home / "precious"
    outside.write_bytes(b"precious")
    if kind == "pipe":
        os.mkfifo(home / ".ccwire" / name)
    else:
        (home / ".ccwire" / name).symlink_to(outside)
    _run(home, _event("SessionStart"))
    _run(home, b"not JSON")
    assert outside.read_bytes() == b"precious"


def test_a_pipe_among_the_waiting_events_does_not_block_the_others(home: Path) -> None:
    (home / ".ccwire" / "sessions.json.events" / "1-folder").mkdir(parents=True)
    os.mkfifo(home / ".ccwire" / "sessions.json.events" / "0-pipe")
    _run(home, _event("SessionStart"))
    document = json.loads((home / ".ccwire" / "sessions.json").read_text())
    assert [entry["session_id"] for entry in document["sessions"]] == ["aaa"]


def test_a_payload_without_end_is_given_up(home: Path) -> None:
    _run(home, b" " * ((32 << 20) + 1))
    assert "Larger than the hook reads: input" in (home / ".ccwire" / "hook.log").read_text()


def test_a_payload_that_never_arrives_is_given_up(home: Path) -> None:
    reading, writing = os.pipe()
    program = "import addon.hooks.handle as h; h._SECONDS = 0.2; h.receive(0, [], {}, 1)"
    command = [sys.executable, "-c", f"import os; os.environ['HOME'] = {str(home)!r}; {program}"]
    ended = subprocess.run(command, stdin=reading, capture_output=True)
    os.close(reading)
    os.close(writing)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    assert "gave up after 0.2 s" in (home / ".ccwire" / "hook.log").read_text()
