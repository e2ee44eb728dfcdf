"""`ccwire prune` lists what it would delete, and deletes it with --yes."""

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len

from addon.storage.registry import register
from ccwire.cli import main
from lab.made_session import MadeSession

DAY = 86_400.0
OLD, MIDDLE, NEW = (f"{digit * 8}-0000-4000-8000-000000000000" for digit in "123")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three sessions: of 40 days, 10 days and 1 day ago."""
    monkeypatch.setenv("CCWIRE_SESSIONS", str(tmp_path / "sessions.json"))
    for session, days, cwd in (
        (OLD, 40, "/projects/shop"),
        (MIDDLE, 10, "/projects/ledger"),
        (NEW, 1, "/projects/shop"),
    ):
        write(tmp_path, session, days, cwd)
    (tmp_path / "captures" / "traffic.log").write_text("blocks\n")
    return tmp_path


def write(place: Path, session: str, days: float, cwd: str = "/projects/shop") -> Path:
    at = time.time() - days * DAY
    made = MadeSession(session, cwd=cwd, now=at)
    made.prompt(f"prompt of {session[:8]}")
    made.call(output=9)
    made.write(place / "claude", place / "captures")
    folder = place / "captures" / session
    manifest = orjson.loads((folder / "manifest.json").read_bytes())
    (folder / "manifest.json").write_bytes(orjson.dumps(manifest | {"last_seen": at}))
    (folder / "0001_req_v1_messages.json").write_bytes(b"x" * 100_000)
    age(folder)
    return folder


def age(folder: Path) -> None:
    for path in folder.iterdir():
        os.utime(path, (1.8e9 - 1e9, 1.8e9 - 1e9), follow_symlinks=False)


def prune(place: Path, *arguments: str, width: int = 160) -> Result:
    where = ["--captures", str(place / "captures"), "--claude-dir", str(place / "claude")]
    runner = CliRunner(env={"COLUMNS": str(width)})
    return runner.invoke(main, ["prune", *arguments, *where])


def pruned(place: Path, *arguments: str) -> dict[str, Any]:
    ran = prune(place, *arguments, "--json")
    assert ran.exit_code == 0, ran.output
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def left(place: Path) -> set[str]:
    return {path.name for path in (place / "captures").iterdir()}


def test_nothing_is_deleted_without_yes(place: Path) -> None:
    before = left(place)
    ran = prune(place, "--older", "30d")
    assert ran.exit_code == 0
    lines = ran.stdout.splitlines()
    assert lines[0].split() == ["session", "last", "used", "project", "size", "because", "title"]
    assert lines[1].startswith(OLD[:8])
    assert lines[1].endswith(f"old      prompt of {OLD[:8]}")
    assert lines[2] == "1 session, 102 kB; nothing is deleted yet. To delete:"
    where = f"--captures {place}/captures --claude-dir {place}/claude"
    assert lines[3] == f"  ccwire prune --yes --older 30d {where}"
    assert left(place) == before


def test_the_printed_command_is_one_after_two_dashes_too(place: Path) -> None:
    ran = CliRunner(env={"CCWIRE_CAPTURES": str(place / "captures")}).invoke(
        main, ["prune", "--older", "30d", "--claude-dir", str(place / "claude"), "--", NEW[:8]]
    )
    command = ran.stdout.splitlines()[-1]
    assert command.startswith("  ccwire prune --yes --older 30d")
    assert command.endswith(f" -- {NEW[:8]}")


def test_a_folder_of_others_is_no_session(place: Path) -> None:
    foreign = place / "captures" / "dataset-1"
    foreign.mkdir()
    for name in ("2024_pack.jpg", "image.png", "0001_req_mine.json"):
        (foreign / name).write_text("precious")
    (foreign / "manifest.json").write_text('{"manifest_version": 3}')
    age(foreign)
    before = sorted(path.name for path in foreign.iterdir())
    found = pruned(place, "--older", "1h", "--yes")
    assert {session["session_id"] for session in found["sessions"]} == {OLD, MIDDLE, NEW}
    assert sorted(path.name for path in foreign.iterdir()) == before
    (foreign / "exchanges.jsonl").write_text("not a line of ours\n")
    age(foreign)
    ran = prune(place, "--older", "1h", "--yes")
    assert ran.exit_code == 2
    assert "it has no manifest or index of a capture" in ran.output
    assert (foreign / "image.png").exists() and (foreign / "2024_pack.jpg").exists()


def test_a_session_in_two_folders_is_kept_as_one(
    place: Path, ccwire_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(place / "captures" / NEW, ccwire_home / "captures" / NEW)
    register(place / "captures", ccwire_home)
    monkeypatch.chdir(place / "claude")
    ran = CliRunner(env={"COLUMNS": "160"}).invoke(
        main, ["prune", "--keep", "2", "--json", "--claude-dir", str(place / "claude")]
    )
    assert [s["session_id"] for s in json.loads(ran.stdout)["sessions"]] == [OLD]


def test_the_client_of_a_session_without_hooks_may_run(place: Path) -> None:
    path = place / "captures" / OLD / "manifest.json"
    manifest = orjson.loads(path.read_bytes())
    path.write_bytes(orjson.dumps(manifest | {"pids": [os.getpid()], "last_seen": time.time()}))
    age(path.parent)
    found = pruned(place, OLD)
    assert found["sessions"] == []
    assert found["kept"] == [{"session_id": OLD, "why": "its client is running"}]


def test_the_pages_of_a_session_go_with_it(place: Path, ccwire_home: Path) -> None:
    reports = ccwire_home / "reports"
    reports.mkdir(parents=True)
    names = [f"{OLD}.html", f"{OLD}-{NEW[:8]}.html", f"{NEW}-{OLD[:8]}.html", f"{NEW}.html"]
    for name in names:
        (reports / name).write_text("page")
    assert len(pruned(place, OLD)["reports"]) == 3
    assert len(list(reports.iterdir())) == 4
    pruned(place, OLD, "--yes")
    assert [path.name for path in reports.iterdir()] == [f"{NEW}.html"]


def test_what_is_too_large_and_in_use_is_named(place: Path) -> None:
    (place / "captures" / OLD / "exchanges.jsonl").touch()
    found = pruned(place, "--larger-than", "1kB")
    assert {s["session_id"] for s in found["sessions"]} == {MIDDLE, NEW}
    assert [kept["session_id"] for kept in found["kept"]] == [OLD]


def test_the_printed_command_deletes(place: Path) -> None:
    command = prune(place, "--older", "30d").stdout.splitlines()[-1]
    ran = CliRunner().invoke(main, command.split()[1:])
    assert ran.exit_code == 0
    assert "Deleted 1 session, 102 kB." in ran.stdout
    assert left(place) == {MIDDLE, NEW, "traffic.log"}


@pytest.mark.parametrize(
    ("arguments", "deleted"),
    [
        (["--older", "5d"], {OLD, MIDDLE}),
        (["--larger-than", "250kB"], {OLD}),
        (["--keep", "1"], {OLD, MIDDLE}),
        (["--keep", "2", "--older", "0h"], {OLD}),
        (["--older", "0h", "--project", "ledger"], {MIDDLE}),
        (["--keep", "1", "--project", "shop"], {OLD}),
        (["--larger-than", "150kB", "--project", "shop"], {OLD}),
        ([NEW[:8], OLD], {NEW, OLD}),
        (["latest"], {NEW}),
        (["--older", "400d"], set()),
    ],
)
def test_conditions_choose(place: Path, arguments: list[str], deleted: set[str]) -> None:
    os.utime(place / "captures" / NEW / "exchanges.jsonl", (1e9, 1e9))  # the latest by its index
    planned = pruned(place, *arguments)
    assert {session["session_id"] for session in planned["sessions"]} == deleted
    assert not any(session["deleted"] for session in planned["sessions"])
    done = pruned(place, *arguments, "--yes")
    assert {s["session_id"] for s in done["sessions"] if s["deleted"]} == deleted
    assert left(place) == {OLD, MIDDLE, NEW, "traffic.log"} - deleted


def running(place: Path) -> str:
    live = place / "claude" / "sessions"
    live.mkdir()
    record = {"pid": os.getpid(), "sessionId": OLD, "startedAt": time.time() * 1000}
    (live / f"{os.getpid()}.json").write_text(json.dumps(record))
    return "its client is running"


def hooked(place: Path) -> str:
    entry = {"session_id": OLD, "state": "active", "metadata": {"claude_pid": os.getpid()}}
    (place / "sessions.json").write_text(json.dumps({"version": 1, "sessions": [entry]}))
    return "its client is running"


def written(place: Path) -> str:
    (place / "captures" / OLD / "exchanges.jsonl").touch()
    return "it was written to in the last 2 minutes"


@pytest.mark.parametrize("use", [running, hooked, written])
@pytest.mark.parametrize("asked", [["--older", "30d"], [OLD], ["--keep", "0"]])
def test_a_session_in_use_is_kept_and_named(
    place: Path, use: Callable[[Path], str], asked: list[str]
) -> None:
    why = use(place)
    found = pruned(place, *asked, "--yes")
    assert found["kept"] == [{"session_id": OLD, "why": why}]
    assert OLD in left(place)
    assert f"kept: {OLD[:8]}, {why}" in prune(place, *asked).stdout


def test_a_session_whose_client_is_gone_is_deleted(place: Path) -> None:
    metadata = {"claude_pid": 2**22 + 7, "process_created_at": 5.0}
    entry = {"session_id": OLD, "state": "active", "metadata": metadata}
    (place / "sessions.json").write_text(json.dumps({"version": 1, "sessions": [entry]}))
    pruned(place, OLD, "--yes")
    assert OLD not in left(place)


def test_files_of_others_are_left_with_their_folder(place: Path) -> None:
    folder = place / "captures" / OLD
    (folder / "notes.txt").write_text("mine")
    age(folder)
    ran = prune(place, OLD, "--yes")
    assert ran.exit_code == 0
    assert f"left in {folder}, not written by ccwire: notes.txt" in ran.stdout
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_the_log_is_deleted_with_the_last_session(place: Path) -> None:
    assert pruned(place, "--keep", "1", "--yes")["traffic_log_deleted"] is False
    ran = prune(place, "--keep", "0", "--yes")
    assert "Deleted traffic.log too" in ran.stdout
    assert left(place) == set()


def test_unknown_is_deleted_by_name_or_age(place: Path) -> None:
    write(place, OLD, 50)
    unknown = place / "captures" / "unknown"
    (place / "captures" / OLD).rename(unknown)
    assert pruned(place, "--keep", "0")["sessions"][0]["session_id"] == MIDDLE
    assert [s["session_id"] for s in pruned(place, "--older", "45d")["sessions"]] == ["unknown"]
    pruned(place, "unknown", "--yes")
    assert not unknown.exists()


def test_an_interrupted_deletion_is_completed(place: Path) -> None:
    (place / "captures" / OLD).rename(place / "captures" / f".pruned-{OLD}-0123abcd")
    ran = prune(place, "--older", "400d")
    assert "1 interrupted deletion; nothing is deleted yet" in ran.stdout
    prune(place, "--older", "400d", "--yes")
    assert left(place) == {MIDDLE, NEW, "traffic.log"}


def test_what_cannot_be_deleted_does_not_keep_the_others(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.rename

    def refused(path: Path, target: Path) -> Path:
        if path.name == OLD:
            raise PermissionError(13, "Permission denied")
        return real(path, target)

    monkeypatch.setattr(Path, "rename", refused)
    ran = prune(place, "--older", "5d", "--yes")
    assert ran.exit_code == 2
    assert ran.stderr == (
        f"ccwire: 1 session could not be deleted; {place}/captures/{OLD}: Permission denied.\n"
    )
    assert left(place) == {OLD, NEW, "traffic.log"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give --older AGE"),
        (("--yes",), "give --older AGE"),
        (("--older", "30"), "--older '30': expected an age"),
        (("--larger-than", "much"), "--larger-than 'much': expected a number of bytes"),
        ((OLD, "--project", "shop"), "not both"),
        (("nope",), "no session 'nope'"),
        (("unknown",), "there is no unknown"),
    ],
)
def test_wrong_use_is_one_sentence_and_exit_code_2(
    place: Path, arguments: tuple[str, ...], said: str
) -> None:
    ran = prune(place, *arguments)
    assert ran.exit_code == 2
    assert said in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert {OLD, MIDDLE, NEW} <= left(place)


def test_a_session_without_a_capture_has_nothing_to_delete(place: Path) -> None:
    other = MadeSession("44444444-0000-4000-8000-000000000000")
    other.prompt("go")
    other.write(place / "claude")
    assert "has no capture" in prune(place, "44444444").stderr


def test_an_empty_folder_has_nothing_to_delete(tmp_path: Path) -> None:
    assert "captures is not a folder; give another" in prune(tmp_path, "--keep", "0").output
    (tmp_path / "captures").mkdir()
    assert prune(tmp_path, "--older", "30d", "--yes").stdout == "Nothing to delete.\n"


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_each_session_is_one_line(place: Path, width: int) -> None:
    write(place, OLD, 40, "/projects/" + "長い" * 30)
    lines = prune(place, "--keep", "0", width=width).stdout.splitlines()
    assert [line[:8] for line in lines[1:4]] == [OLD[:8], MIDDLE[:8], NEW[:8]]
    assert max(cell_len(line) for line in lines[:4]) <= width
