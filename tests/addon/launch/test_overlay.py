"""The settings of one run: when our hooks are added, and to what."""

import json
from pathlib import Path

import pytest

from addon.claude_settings.hooks_text import hook_command, hook_settings
from addon.launch.client_settings import settings_text
from addon.launch.overlay import OverlayError, settings_value, with_overlay


def client(folder: Path, version: str) -> str:
    program = folder / "claude"
    program.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize(
    ("version", "flaw", "adds"),
    [
        ("2.1.325", "", False),
        ("2.1.325", "// a comment\n", True),
        ("2.0.67", "\ufeff", True),
        ("2.0.69", "\ufeff", False),
        ("1.0.84", "", True),  # it does not know SessionEnd
    ],
)
def test_our_hooks_are_added_if_the_client_ignores_the_installed_ones(
    tmp_path: Path, version: str, flaw: str, adds: bool
) -> None:
    installed = json.dumps(hook_settings(hook_command()))
    (tmp_path / "settings.json").write_text(flaw + installed)
    command = [client(tmp_path, version), "-p", "hello"]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    got = with_overlay(command, tmp_path, tmp_path, scratch)
    if not adds:
        assert got == command
        return
    assert got == [command[0], "--settings", got[2], "-p", "hello"]
    assert "SessionStart" in json.loads(settings_text(got[2]))["hooks"]


@pytest.mark.parametrize(
    ("version", "own", "variables", "in_file"),
    [
        ("2.1.325", False, {}, False),
        ("2.1.138", False, {}, True),  # these leave a file of their own for each JSON
        ("2.1.325", True, {}, True),  # it may contain a key
        ("2.1.325", False, {"HTTPS_PROXY": "http://ccwire:secret@127.0.0.1:1"}, True),
    ],
)
def test_only_hooks_are_given_without_a_file(
    tmp_path: Path, version: str, own: bool, variables: dict[str, str], in_file: bool
) -> None:
    """A session in the background is restarted with them when the run's files are gone."""
    (tmp_path / "own.json").write_text('{"model": "m"}')
    given = ["--settings", str(tmp_path / "own.json")] if own else []
    command = [client(tmp_path, version), "-p", "hello", *given]
    got = with_overlay(command, tmp_path / "none", tmp_path, tmp_path, variables)
    assert got[1] == "--settings"
    assert (got[2] == str(tmp_path / "settings.json")) == in_file
    assert "SessionStart" in json.loads(settings_text(got[2]))["hooks"]


def test_a_session_for_the_background_gets_nothing_that_it_would_keep(tmp_path: Path) -> None:
    command = [client(tmp_path, "2.1.325"), "--bg", "Explain this project."]
    variables = {"HTTPS_PROXY": "http://127.0.0.1:1"}
    assert with_overlay(command, tmp_path, tmp_path, tmp_path, variables) == command


def test_settings_given_as_json_are_written_to_no_file(tmp_path: Path) -> None:
    own = '{"env": {"ANTHROPIC_AUTH_TOKEN": "made-up"}}'
    command = [client(tmp_path, "2.1.325"), "--settings", own, "-p", "hello"]
    got = with_overlay(command, tmp_path, tmp_path, tmp_path / "scratch")
    settings = json.loads(got[2])
    assert got == [command[0], "--settings", got[2], "-p", "hello"]
    assert settings["env"] == {"ANTHROPIC_AUTH_TOKEN": "made-up"}
    assert "SessionStart" in settings["hooks"]


def test_a_settings_file_may_start_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text('\ufeff{"model": "opus"}')
    assert settings_value(str(tmp_path / "own.json")) == {"model": "opus"}


def test_a_settings_file_that_is_not_json_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text("{,}")
    with pytest.raises(OverlayError, match="not valid JSON"):
        settings_value(str(tmp_path / "own.json"))


def test_an_error_in_given_json_repeats_nothing_of_it() -> None:
    with pytest.raises(OverlayError, match=r"^--settings: not valid JSON") as raised:
        settings_value('{"env": {"ANTHROPIC_AUTH_TOKEN": "made-up-secret"}')
    assert "made-up" not in str(raised.value)
