"""Which folders are searched for captured sessions, and what is found in them."""

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from addon.storage.registry import REGISTRY, register, registered
from ccwire.capture_folders import CaptureFolders, find_capture_folders
from ccwire.cli import main
from ccwire.commands.watch import FolderTail
from lab.made_session import MadeSession

ONE = "11111111-2222-4333-8444-555555555555"
TWO = "22222222-2222-4333-8444-555555555555"
THREE = "33333333-2222-4333-8444-555555555555"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which has no captures, and a client's folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    return folder


def capture(captures: Path, session: str, claude: Path, at: float = 1e9) -> Path:
    """Write a session of one call, and its transcript."""
    made = MadeSession(session, cwd=f"/home/lab/{session[:8]}")
    made.call()
    made.write(claude, captures)
    for file in (captures / session).iterdir():
        os.utime(file, (at, at))
    return captures


@pytest.fixture
def three(here: Path, tmp_path: Path, ccwire_home: Path) -> Path:
    """A session in the home, one in a registered folder, and one, the latest, in `./captures`."""
    claude = tmp_path / "claude"
    capture(ccwire_home / "captures", ONE, claude, at=1e9)
    register(capture(tmp_path / "project" / "captures", TWO, claude, at=1e9 - 5), ccwire_home)
    capture(here / "captures", THREE, claude, at=1e9 + 5)
    return tmp_path


def invoke(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "160"}).invoke(main, arguments)


def searched() -> CaptureFolders:
    return find_capture_folders(None, os.environ)


def test_all_known_folders_are_searched(three: Path, ccwire_home: Path) -> None:
    expected = (ccwire_home / "captures", three / "project" / "captures", Path("captures"))
    assert searched() == CaptureFolders(expected)
    assert list(searched().sessions) == [ONE, TWO, THREE]
    assert str(searched()) == "the 3 capture folders"


def test_a_folder_that_is_given_is_the_only_one(
    three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = find_capture_folders(Path("x"), os.environ)
    assert (given.folders, given.is_given, str(given)) == ((Path("x"),), True, "x")
    monkeypatch.setenv("CCWIRE_CAPTURES", "y")
    assert searched().folders == (Path("y"),)
    assert find_capture_folders(Path("x"), os.environ).folders == (Path("x"),)


def test_a_folder_with_two_names_is_searched_once(three: Path, ccwire_home: Path) -> None:
    register(Path("captures"), ccwire_home)
    (three / "project" / "captures" / "x").mkdir()
    assert len(searched().folders) == 3
    shutil.rmtree("captures")
    Path("captures").symlink_to(three / "project" / "captures")
    assert [*searched().sessions] == [ONE, TWO]
    assert searched()._places[TWO] == [three / "project" / "captures" / TWO]


@pytest.mark.parametrize("home", ["~no-such-user", "/dev/null/home"])
def test_without_a_home_the_captures_here_are_searched(
    three: Path, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCWIRE_HOME", home)
    assert [*searched().sessions] == [THREE]
    assert invoke("reconcile", "--captures", str(three / "project" / "captures")).exit_code == 0
    shutil.rmtree("captures")
    assert [*searched().sessions] == []
    assert str(CaptureFolders(())) == "any capture folder"


def test_captures_here_without_a_session_are_not_named(three: Path) -> None:
    shutil.rmtree("captures")
    Path("captures").mkdir()
    assert len(searched().folders) == 2


@pytest.mark.parametrize("damage", ["{", '{"folders": [{"path": "relative"}]}', None])
def test_a_damaged_register_leaves_the_rest(
    three: Path, ccwire_home: Path, damage: str | None
) -> None:
    (ccwire_home / REGISTRY).unlink()
    if damage is None:
        (ccwire_home / REGISTRY).mkdir()
    else:
        (ccwire_home / REGISTRY).write_text(damage)
    assert [*searched().sessions] == [ONE, THREE]


def test_a_folder_that_is_gone_is_dropped_quietly(three: Path, ccwire_home: Path) -> None:
    shutil.rmtree(three / "project")
    result = invoke("sessions", "--captured", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert {row["session_id"] for row in json.loads(result.stdout)["sessions"]} == {ONE, THREE}
    assert registered(ccwire_home) == []


@pytest.fixture
def away(three: Path, ccwire_home: Path) -> str:
    """A registered folder on a disk that is not mounted."""
    listed = json.loads((ccwire_home / REGISTRY).read_text())
    path = "/no-such-mount/project/captures"
    entry = {"path": path, "mount_point": "/no-such-mount", "device": 9}
    listed["folders"].append(entry)
    (ccwire_home / REGISTRY).write_text(json.dumps(listed))
    return path


def test_a_folder_on_a_disk_that_is_not_mounted_is_kept_and_named_where_it_matters(
    away: str, ccwire_home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert searched().away == (Path(away),)
    assert str(registered(ccwire_home)[-1].path) == away
    for arguments in (["reconcile", "44444444"], ["sessions"], ["reconcile", "--all"]):
        caplog.clear()
        invoke(*arguments)
        assert [line for line in caplog.messages if line.endswith(f"not mounted: {away}")]
    caplog.clear()
    assert invoke("reconcile").exit_code == 0
    assert caplog.messages == []


def test_a_folder_that_may_not_be_read_is_named_and_does_not_stop_a_command(
    three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = three / "project" / "captures"
    monkeypatch.setattr(os, "access", lambda path, mode: path != locked)
    assert searched().away == (locked,)
    assert [*searched().sessions] == [ONE, THREE]


def test_a_folder_that_fails_while_it_is_read_is_skipped_unless_it_was_given(
    three: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken = three / "project" / "captures"
    fail_at(broken, monkeypatch)
    assert [*searched().sessions] == [ONE, THREE]
    assert caplog.messages == [f"ccwire: {broken} was not searched (Input/output error)"]
    with pytest.raises(OSError, match="Input"):
        _ = CaptureFolders.of(broken).sessions


@pytest.mark.parametrize("text", ["11111", "22222222", THREE, "/home/lab/22222222"])
def test_every_command_finds_a_session_in_any_folder(
    three: Path, text: str, ccwire_home: Path
) -> None:
    session = {"11111": ONE, THREE: THREE}.get(text, TWO)
    found = json.loads(invoke("reconcile", text, "--json").stdout)
    assert (found["session_id"], found["unexplained"]) == (session, 0)
    assert json.loads(invoke("diff", text, "--json").stdout)["session_id"] == session
    report = ccwire_home / "reports" / f"{session}.html"
    assert invoke("report", text).stdout.startswith(str(report))
    copied = json.loads(invoke("scrub", text, "-o", str(three / "copy"), "--json").stdout)
    assert copied["files"] == 3
    packed = json.loads(invoke("pack", text, "--json").stdout)["sessions"]
    assert [one["session_id"] for one in packed] == [session]


@pytest.mark.parametrize("command", [["reconcile"], ["diff"], ["reconcile", "latest"]])
def test_the_latest_session_of_all_folders_is_the_default(three: Path, command: list[str]) -> None:
    found = json.loads(invoke(*command, "--json").stdout)
    assert found["session_id"] == THREE


def test_a_copy_of_the_latest_session_needs_no_name(three: Path) -> None:
    assert invoke("scrub", "-o", str(three / "copy")).exit_code == 0
    (manifest,) = (three / "copy").glob("captures/*/manifest.json")
    assert manifest.stat().st_mtime == 1e9 + 5  # as in the original
    assert "name one session" in invoke("pack").stderr  # it changes files: only by name


def test_every_session_is_listed_and_reconciled_and_watched(three: Path) -> None:
    for arguments in (["sessions"], ["reconcile", "--all"], ["watch", "--once", "--all"]):
        listed = json.loads(invoke(*arguments, "--json").stdout)["sessions"]
        assert {session["session_id"] for session in listed} == {ONE, TWO, THREE}
    packed = json.loads(invoke("pack", "--all", "--json").stdout)["sessions"]
    assert [one["session_id"] for one in packed] == [ONE, TWO, THREE]


def test_a_folder_that_is_registered_while_it_is_watched_is_followed(
    three: Path, ccwire_home: Path
) -> None:
    tail, now = FolderTail(searched(), every=True), time.time()
    tail.look(now)
    assert {session.session_id for session in tail.sessions} == {ONE, TWO, THREE}
    four = f"4444{ONE[4:]}"
    register(capture(three / "more", four, three / "claude"), ccwire_home)
    tail.look(now + 5)
    assert {session.session_id for session in tail.sessions} == {ONE, TWO, THREE, four}


def test_watching_goes_on_when_a_folder_fails(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tail, now = FolderTail(searched(), every=False), time.time()
    tail.look(now)
    shutil.rmtree(three / "project")
    fail_at(three / "here" / "captures", monkeypatch)
    fail_at(Path("captures"), monkeypatch)
    assert tail.look(now + 1) == []
    result = invoke("watch", "--once", "--captures", "captures")
    assert (result.exit_code, result.stderr) == (
        2,
        "ccwire: reading or writing failed: Input/output error.\n",
    )


def fail_at(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a folder be unreadable, as on a disk that was pulled out."""
    listing = Path.iterdir

    def iterdir(path: Path) -> Iterator[Path]:
        if path == broken:
            raise OSError(5, "Input/output error")
        return listing(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)


def test_sessions_in_several_folders_are_named_a_few_at_a_time(
    three: Path, ccwire_home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    project = three / "project" / "captures"
    for number in range(5):
        session = f"{number:08d}-2222-4333-8444-555555555555"
        capture(project, session, three / "claude", at=2e9)
        capture(ccwire_home / "captures", session, three / "claude", at=1e9)
    assert invoke("sessions").exit_code == 0
    assert len(caplog.messages) == 4
    assert caplog.messages[-1] == "ccwire: 2 more sessions are in several folders"
    assert searched().sessions[session] == project / session
    assert len(searched().session_folders) == len(searched().sessions) + 5


def test_a_copied_turn_is_traced_to_a_session_in_another_folder(
    here: Path, tmp_path: Path, ccwire_home: Path
) -> None:
    """The original transcript is not there any more: only its capture proves where a turn is of."""
    claude, project = tmp_path / "claude", tmp_path / "project"
    first = MadeSession(ONE)
    first.call()
    register(first.write_capture(project).parent, ccwire_home)
    call = first.exchanges[0]
    request = {"headers": {"x-claude-code-session-id": ONE}, "body": {"type": "empty"}}
    (project / ONE / "0001_req_v1_messages.json").write_text(json.dumps(request))
    fork = MadeSession(TWO, now=call.started + 100)
    fork.lines = [{**line, "sessionId": TWO} for line in first.lines]
    fork.exchanges = [call]
    fork.left_out = {1}
    fork.call()
    fork.write(claude, ccwire_home / "captures")
    found = json.loads(invoke("reconcile", TWO, "--json").stdout)
    (turn,) = found["turns_without_call"]
    assert (turn["verdict"], turn["evidence"]) == (
        "inherited",
        [f"same ids as call 1 of session {ONE}", f"transcript {TWO}.jsonl:1"],
    )


def test_the_schema_of_all_captures_is_observed_without_a_path(recorded_home: str) -> None:
    facts = [
        json.loads(invoke("schema", "observe", *given, "-o", "s.json", "--json").stdout)
        for given in ([], ["latest"], [recorded_home])
    ]
    assert [fact["exchanges"] for fact in facts] == [facts[0]["exchanges"]] * 3
    assert facts[0]["exchanges"] > 0
    result = invoke("schema", "check", "no/where")
    assert (result.exit_code, result.stderr) == (
        2,
        "ccwire: no/where does not exist; give a file, a folder or a session.\n",
    )
    assert "no session 'nope' in" in invoke("schema", "diff", "nope", "latest").stderr


@pytest.fixture
def recorded_home(here: Path, ccwire_home: Path) -> str:
    """The home has a session with the files of its exchanges."""
    folder = capture(ccwire_home / "captures", ONE, here.parent / "claude") / ONE
    body = {"type": "json", "data": {"model": "claude-opus-5-5", "messages": []}}
    for direction in ("req", "resp"):
        head: dict[str, object] = {
            "format": 1,
            "direction": direction,
            "path": "/v1/messages",
            "headers": {},
        }
        text = json.dumps({**head, "method": "POST", "host": "api.anthropic.com", "body": body})
        (folder / f"0001_{direction}_v1_messages.json").write_text(text)
    return str(ccwire_home / "captures")


def test_nothing_captured_anywhere_is_a_sentence(here: Path, ccwire_home: Path) -> None:
    result = invoke("reconcile")
    assert result.exit_code == 2
    assert result.stderr.startswith(
        f"ccwire: there is no session in {ccwire_home}/captures or {here.parent}/claude yet; "
    )
    assert invoke("schema", "check").exit_code == 2
    assert invoke("sessions").exit_code == 0
    assert invoke("watch", "--once").exit_code == 2
    assert not ccwire_home.exists()
