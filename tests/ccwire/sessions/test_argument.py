import os
import shutil
from pathlib import Path

import pytest

from ccwire.capture_folders import CaptureFolders
from ccwire.options import UserError
from ccwire.sessions.argument import captured_session, find_session, session_and_call
from lab.made_session import MadeSession

ONE = "11111111-2222-4333-8444-555555555555"
TWO = "11112222-2222-4333-8444-555555555555"


@pytest.fixture
def captures(tmp_path: Path) -> Path:
    """Two captured sessions, the first one newer, and one that has only a transcript."""
    for age, session in ((10, ONE), (20, TWO)):
        made = MadeSession(session, cwd=f"/home/lab/{session[:8]}")
        made.call()
        made.write(tmp_path / "claude", tmp_path / "captures")
        for file in (tmp_path / "captures" / session).iterdir():
            os.utime(file, (1e9 - age, 1e9 - age))
    MadeSession("33333333-2222-4333-8444-555555555555").write(tmp_path / "claude")
    return tmp_path / "captures"


def find(captures: Path, text: str) -> str:
    return find_session(text, CaptureFolders.of(captures), captures.parent / "claude").session_id


@pytest.mark.parametrize("text", [ONE, "11111", "latest", "/home/lab/11111111"])
def test_a_session_is_named_in_many_ways(captures: Path, text: str) -> None:
    assert find(captures, text) == ONE


def test_a_session_that_only_has_a_transcript_is_found(captures: Path) -> None:
    assert find(captures, "33").startswith("33333333")


def test_a_prefix_of_two_sessions_is_an_error_that_names_them(captures: Path) -> None:
    with pytest.raises(UserError, match=f"matches 2 sessions .*{ONE}"):
        find(captures, "1111")


@pytest.mark.parametrize("text", ["nope", "", "/home/lab/nowhere"])
def test_an_unknown_session_is_an_error(captures: Path, text: str) -> None:
    with pytest.raises(UserError, match="ccwire sessions"):
        find(captures, text)


def test_a_session_without_a_capture_says_how_to_get_one(captures: Path) -> None:
    with pytest.raises(UserError, match="ccwire run"):
        captured_session("33", CaptureFolders.of(captures), captures.parent / "claude")


def test_a_session_without_a_capture_is_named_in_the_command_that_shows_it(captures: Path) -> None:
    with pytest.raises(UserError, match=r"`ccwire reconcile 33333333-[0-9a-f-]+` lists its turns"):
        captured_session("33", CaptureFolders.of(captures), captures.parent / "claude")


def test_a_session_without_a_folder_may_have_its_calls_among_the_unknown(captures: Path) -> None:
    unknown = captures / "unknown"
    unknown.mkdir()
    (unknown / "exchanges.jsonl").write_text("")
    folders = CaptureFolders.of(captures)
    assert captured_session("33", folders, captures.parent / "claude").capture == unknown


def test_among_several_unknown_folders_the_one_with_its_calls_is_used(tmp_path: Path) -> None:
    made, claude = MadeSession(ONE), tmp_path / "claude"
    made.call()
    other = MadeSession(TWO)
    other.call(request_id="req_other", message_id="msg_other")
    made.write(claude)
    for name, session in (("a", other), ("b", made), ("c", other)):
        session.write_capture(tmp_path / name).rename(tmp_path / name / "unknown")
    folders = CaptureFolders(tuple(tmp_path / name for name in "abc"))
    assert captured_session(ONE, folders, claude).capture == tmp_path / "b" / "unknown"


def test_a_session_without_a_capture_may_be_in_a_folder_that_is_away(
    captures: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folders = CaptureFolders((captures, captures.parent / "more"), away=(Path("/mnt/usb/x"),))
    for text in ("33", "nope"):
        caplog.clear()
        with pytest.raises(UserError, match="in the 2 capture folders"):
            captured_session(text, folders, captures.parent / "claude")
        (said,) = caplog.messages
        assert said.endswith("or its disk is not mounted: /mnt/usb/x")


def test_calls_of_others_do_not_hide_that_a_folder_is_away(
    captures: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (captures / TWO).rename(captures / "unknown")
    folders = CaptureFolders((captures,), away=(Path("/mnt/usb/x"),))
    claude = captures.parent / "claude"
    assert captured_session(TWO, folders, claude).capture == captures / "unknown"
    assert caplog.messages == []
    captured_session("33", folders, claude)
    assert [message.endswith(": /mnt/usb/x") for message in caplog.messages] == [True]


def test_a_session_in_two_folders_is_the_one_written_last(
    captures: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = captures.parent / "other"
    shutil.copytree(captures, other)  # with the times of its files
    os.utime(other / ONE / "exchanges.jsonl")
    folders = CaptureFolders((captures, other))
    for text in (ONE, "latest", "/home/lab/11111111"):
        caplog.clear()
        found = find_session(text, folders, captures.parent / "claude")
        assert (found.session_id, found.folder) == (ONE, other / ONE)
        assert caplog.messages == [
            f"ccwire: {other / ONE} was written last; the session is also in {captures / ONE}"
        ]


@pytest.mark.parametrize(
    ("session", "number", "expected"),
    [
        (None, None, ("latest", None)),
        ("7", None, ("latest", 7)),
        ("111", None, ("latest", 111)),  # also if it is the start of a session's id
        ("1111", None, ("1111", None)),  # the start of a session's id
        ("4321", None, ("latest", 4321)),
        ("11111", None, ("11111", None)),
        ("1111", 7, ("1111", 7)),
        ("7a", None, ("7a", None)),
        ("42", None, ("42", None)),  # a session's whole id
        ("latest", 7, ("latest", 7)),
    ],
)
def test_a_small_number_alone_is_a_call_of_the_latest_session(
    captures: Path,
    session: str | None,
    number: int | None,
    expected: tuple[str, int | None],
) -> None:
    MadeSession("42").write_capture(captures)
    assert session_and_call(session, number, CaptureFolders.of(captures)) == expected


def test_nothing_at_all_says_where_to_begin(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="ccwire demo"):
        find_session("latest", CaptureFolders.of(tmp_path), tmp_path)


def talk(root: Path, session: str, age: float, cwd: str = "/home/lab/project") -> None:
    """Write a transcript of one answer, that old."""
    made = MadeSession(session, cwd=cwd)
    made.prompt("Hello?")
    made.call()
    os.utime(made.write(root / "claude"), (1e9 - age, 1e9 - age))


@pytest.mark.parametrize("text", ["latest", "/home/lab/project"])
def test_the_latest_session_has_a_message(tmp_path: Path, text: str) -> None:
    talk(tmp_path, ONE, 20)
    folder = tmp_path / "claude/projects/-home-lab-project"
    (folder / f"{TWO}.jsonl").write_text('{"type":"summary","summary":"A title","leafUuid":"u"}\n')
    (tmp_path / "captures").mkdir()
    assert find(tmp_path / "captures", text) == ONE
    (folder / f"{ONE}.jsonl").unlink()
    assert find(tmp_path / "captures", text) == TWO


def test_the_latest_session_may_be_in_any_of_its_files(tmp_path: Path) -> None:
    for session, age, cwd in ((ONE, 30, "/home/a"), (TWO, 20, "/home/m"), (ONE, 10, "/home/z")):
        talk(tmp_path, session, age, cwd)
    (tmp_path / "captures").mkdir()
    assert find(tmp_path / "captures", "latest") == ONE
    assert find(tmp_path / "captures", "/home/a") == ONE
