from pathlib import Path

import pytest

from ccwire.capture_folders import CaptureFolders
from ccwire.output.hints import folder_options, session_command

SESSION = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    return tmp_path


def test_folders_that_are_searched_anyway_are_not_named(claude: Path) -> None:
    assert folder_options(None, claude) == ""
    known = CaptureFolders((Path("one"), Path("two")))
    assert session_command("show", SESSION, known, claude, "N") == "ccwire show 11111111 N"


def test_a_folder_is_quoted_for_the_shell(claude: Path) -> None:
    assert folder_options(Path("my captures"), claude) == " --captures 'my captures'"
    assert folder_options(None, claude / "a b") == f" --claude-dir '{claude}/a b'"


def test_a_folder_of_the_environment_is_not_named(
    claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = CaptureFolders.of(Path("there"))
    named = "ccwire reconcile unknown --captures there"
    assert session_command("reconcile", "unknown", given, claude) == named
    monkeypatch.setenv("CCWIRE_CAPTURES", "there")
    assert session_command("reconcile", "unknown", given, claude) == "ccwire reconcile unknown"


def test_an_id_whose_start_is_not_enough_is_named_whole() -> None:
    known = CaptureFolders(())
    claude = Path("claude")
    for session_id, named in (("conversation-1", "conversation-1"), ("my session", "'my session'")):
        command = session_command("show", session_id, known, claude)
        assert command.startswith(f"ccwire show {named}")
