import os
from pathlib import Path

import pytest

from ccwire.options import UserError
from ccwire.session_argument import captured_session, find_session
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
    return find_session(text, captures, captures.parent / "claude").session_id


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
        captured_session("33", captures, captures.parent / "claude")


def test_a_session_without_a_folder_may_have_its_calls_among_the_unknown(captures: Path) -> None:
    unknown = captures / "unknown"
    unknown.mkdir()
    (unknown / "exchanges.jsonl").write_text("")
    assert captured_session("33", captures, captures.parent / "claude").capture == unknown


def test_nothing_at_all_says_where_to_begin(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="ccwire demo"):
        find_session("latest", tmp_path, tmp_path)
