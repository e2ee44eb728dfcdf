"""What docs/api.md does not show: errors, order, and a session without a transcript."""

from pathlib import Path

import pytest

from correlate import open_captures
from lab.made_session import MadeSession


def made(tmp_path: Path, name: str, now: float) -> None:
    session = MadeSession(name, now=now)
    session.prompt("Please go ahead.")
    session.call(output=100)
    session.write(tmp_path / "claude", tmp_path / "captures")


def test_sessions_come_in_the_order_in_which_they_were_seen(tmp_path: Path) -> None:
    for name, now in (("aaaa-2", 2000.0), ("aaaa-1", 3000.0), ("bbbb", 1000.0)):
        made(tmp_path, name, now)
    captures = open_captures(tmp_path / "captures", tmp_path / "claude")
    assert [session.id for session in captures] == ["bbbb", "aaaa-2", "aaaa-1"]


def test_a_session_is_found_by_an_unambiguous_prefix(tmp_path: Path) -> None:
    for name in ("aaaa", "aaaa-1", "bbbb"):
        made(tmp_path, name, 1000.0)
    captures = open_captures(tmp_path / "captures", tmp_path / "claude")
    assert captures.session("b").id == "bbbb"
    assert captures.session("aaaa").id == "aaaa"
    with pytest.raises(LookupError, match=r"2 sessions .* 'a'"):
        captures.session("a")
    with pytest.raises(LookupError, match=r"no session .* 'c'"):
        captures.session("c")


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="capture folder"):
        open_captures(tmp_path / "nowhere")


def test_the_clients_folder_is_the_environments_unless_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path, "aaaa", 1000.0)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    (session,) = open_captures(tmp_path / "captures").sessions()
    assert len(session.transcript().turns) == 1
    (session,) = open_captures(tmp_path / "captures", tmp_path / "other").sessions()
    assert session.transcript().turns == ()
    assert not session.transcript_files().exists


def test_content_that_was_not_kept_is_a_missing_file(tmp_path: Path) -> None:
    made(tmp_path, "aaaa", 1000.0)
    (session,) = open_captures(tmp_path / "captures", tmp_path / "claude").sessions()
    with pytest.raises(FileNotFoundError):
        session.request(1)
    with pytest.raises(FileNotFoundError):
        session.response(1)
