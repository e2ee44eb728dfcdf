"""`ccwire scrub` writes a complete copy to the given folder, or none."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ccwire.cli import main
from lab.made_session import MadeSession

SESSION = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = MadeSession(SESSION, cwd="/home/lab/zebra")
    made.prompt("Feed the zebra.")
    made.call(("text", "tool_use"), output=249)
    made.call(in_transcript=False, request_class="auxiliary", output=11)
    made.call(agent_id="a1b2c3d4e5", output=40)
    made.write(tmp_path / "claude", tmp_path / "captures")
    return tmp_path


def run(folder: Path, *arguments: str, copy: Path | None = None) -> Result:
    root = copy or folder
    where = ["--captures", str(root / "captures"), "--claude-dir", str(root / "claude")]
    return CliRunner(env={"COLUMNS": "120"}).invoke(main, [*arguments, *where])


def test_the_copy_is_reconciled_as_it_says(folder: Path) -> None:
    target = folder / "copy"
    result = run(folder, "scrub", "1111", "-o", str(target))
    assert result.exit_code == 0, result.output
    session = result.output.split()[1]
    assert session != SESSION
    assert f"ccwire reconcile {session} --captures" in result.output
    assert "words were kept" in result.output
    ours = json.loads(run(folder, "reconcile", SESSION, "--json").output)
    theirs = json.loads(run(folder, "reconcile", session, "--json", copy=target).output)
    assert theirs["verdicts"] == ours["verdicts"] == {"match": 2, "wire-only: auxiliary": 1}
    assert theirs["totals"] == ours["totals"]
    assert sorted(path.name for path in target.iterdir()) == [
        *("captures", "claude", "kept-words.txt"),
    ]
    assert target.stat().st_mode & 0o777 == 0o700
    everything = b"".join(path.read_bytes() for path in target.rglob("*") if path.is_file())
    assert b"zebra" not in everything
    assert SESSION.encode() not in everything


def test_json_contains_the_same(folder: Path) -> None:
    told = json.loads(run(folder, "scrub", SESSION, "-o", str(folder / "copy"), "--json").output)
    assert told["path"] == str(folder / "copy")
    assert (told["files"], told["other_sessions"]) == (4, [])
    assert (folder / "copy" / "captures" / told["session_id"]).is_dir()


def test_two_copies_have_nothing_in_common(folder: Path) -> None:
    one = json.loads(run(folder, "scrub", SESSION, "-o", str(folder / "one"), "--json").output)
    two = json.loads(run(folder, "scrub", SESSION, "-o", str(folder / "two"), "--json").output)
    assert one["session_id"] != two["session_id"]


def test_an_empty_folder_is_taken_and_a_full_one_is_not(folder: Path) -> None:
    (folder / "copy").mkdir()
    assert run(folder, "scrub", SESSION, "-o", str(folder / "copy")).exit_code == 0
    again = run(folder, "scrub", SESSION, "-o", str(folder / "copy"))
    assert again.exit_code == 2
    assert "is not an empty folder" in again.output


def test_a_copy_that_fails_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, ns: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("correlate.scrub.copy.os.utime", full)
    result = run(folder, "scrub", SESSION, "-o", str(folder / "copy"))
    assert result.exit_code == 2
    assert "No space left on device" in result.output
    assert sorted(path.name for path in folder.iterdir()) == ["captures", "claude"]


def test_an_unknown_session_is_an_error(folder: Path) -> None:
    result = run(folder, "scrub", "nope", "-o", str(folder / "copy"))
    assert result.exit_code == 2
    assert "no session 'nope'" in result.output
    assert not (folder / "copy").exists()
