"""Verdicts are kept for the state that was judged, and never make a command fail."""

import os
from pathlib import Path

import pytest

from ccwire.verdict_cache import VERDICTS, VerdictCache
from correlate.reconcile.result import Reconciliation
from correlate.reconcile.session import SessionReconciler
from correlate.transcript.locate import ClaudeDir
from lab.made_session import MadeSession

SESSION = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = MadeSession(SESSION)
    made.prompt("go")
    made.call(agent_id="a1")
    made.call()
    made.write(tmp_path / "claude", tmp_path / "captures")
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def cache(home: Path) -> VerdictCache:
    return VerdictCache(ClaudeDir(home.parent / "claude"), {"CCWIRE_HOME": str(home)})


def capture(home: Path) -> Path:
    return home.parent / "captures" / SESSION


def judged(home: Path) -> Reconciliation:
    claude = ClaudeDir(home.parent / "claude")
    return SessionReconciler(home.parent / "captures", claude).reconcile(capture(home))


def keep(home: Path) -> None:
    verdicts = cache(home)
    verdicts.note(capture(home), verdicts.state(capture(home)), judged(home))
    verdicts.save()


def test_a_verdict_is_found_again(home: Path) -> None:
    assert cache(home).unexplained(capture(home)) is None
    keep(home)
    assert cache(home).unexplained(capture(home)) == 0
    assert (home / VERDICTS).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("changed", ["exchanges.jsonl", f"{SESSION}.jsonl", "agent-a1.jsonl"])
def test_a_session_that_has_changed_has_no_verdict(home: Path, changed: str) -> None:
    keep(home)
    (path,) = home.parent.rglob(changed)
    path.write_bytes(path.read_bytes() + b"\n")
    assert cache(home).unexplained(capture(home)) is None


def test_a_folder_that_is_gone_is_dropped(home: Path) -> None:
    keep(home)
    capture(home).rename(home.parent / "captures" / "moved")
    verdicts = cache(home)
    moved = home.parent / "captures" / "moved"
    verdicts.note(moved, verdicts.state(moved), Reconciliation(
        session_id="moved", claude_versions=(), calls=(), turns_without_call=()
    ))  # fmt: skip
    verdicts.save()
    text = (home / VERDICTS).read_text()
    assert "moved" in text
    assert SESSION not in text


def test_a_home_that_does_not_exist_is_not_created(home: Path) -> None:
    home.rmdir()
    keep(home)
    assert not home.exists()
    assert cache(home).unexplained(capture(home)) is None


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"verdicts": 3}', b'{"verdicts": {"/x": {"unexplained": -1}}}']
)
def test_a_damaged_file_has_no_verdicts_and_is_replaced(home: Path, content: bytes) -> None:
    (home / VERDICTS).write_bytes(content)
    assert cache(home).unexplained(capture(home)) is None
    keep(home)
    assert cache(home).unexplained(capture(home)) == 0


def test_a_file_that_cannot_be_written_costs_nothing(home: Path) -> None:
    os.mkfifo(home / ".lock")  # no regular file, so it cannot be locked
    keep(home)
    assert not (home / VERDICTS).exists()
