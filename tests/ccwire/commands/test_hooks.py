import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from addon.claude_settings.hooks_text import hook_command
from ccwire.cli import main

COMMENTED = """{
   // odd indentation, a comment, no newline at the end
   "model": "opus", /* mine */
   "hooks": {
      "Stop": [
         { "hooks": [ { "type": "command", "command": "say done" } ] }
      ]
   }
}"""

IGNORED = (
    "They will not run: Claude Code (1.0.62 to 2.1.325) ignores this file, because it contains "
    "comments; remove the comments, or use `ccwire run`, which brings its own hooks.\n"
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("ccwire.commands.hooks.version_on_path", lambda: None)
    monkeypatch.setattr("addon.claude_settings.files.MANAGED", tmp_path / "managed.json")
    (tmp_path / "claude").mkdir()
    return folder


@pytest.fixture
def user_settings(project: Path) -> Path:
    return project.parent / "claude" / "settings.json"


def _hooks(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["hooks", *arguments])


def test_install_status_and_uninstall_of_settings_with_comments_and_other_hooks(
    user_settings: Path,
) -> None:
    user_settings.write_text(COMMENTED)
    done = _hooks("install")
    assert done.exit_code == 0
    assert done.stdout == (
        "The previous version is saved as settings.json.before-ccwire.\n"
        f"Installed the hooks in {user_settings}.\n"
        f"{IGNORED}"
    )
    command = json.dumps(hook_command())
    text = user_settings.read_text()
    assert text.startswith(
        """{
   // odd indentation, a comment, no newline at the end
   "model": "opus", /* mine */
   "hooks": {
      "Stop": [
         { "hooks": [ { "type": "command", "command": "say done" } ] },
         {
            "hooks": [
               {
                  "type": "command",
                  "command": """
        + command
        + """,
                  "timeout": 10
               }
            ]
         }
      ],
      "SessionStart": [
"""
    )
    assert not text.endswith("\n")
    shown = _hooks("status")
    assert shown.exit_code == 1
    assert "ignored, 5 of 5 events" in shown.stdout
    assert "user: Stop, SessionStart, SessionEnd, UserPromptSubmit, SubagentStop" in shown.stdout
    assert f"  {hook_command()}\n" in shown.stdout
    assert _hooks("install").stdout == (
        f"The hooks are already installed in {user_settings}; nothing changed.\n{IGNORED}"
    )
    assert _hooks("uninstall").stdout == f"Removed the hooks from {user_settings}.\n"
    assert user_settings.read_text() == COMMENTED
    assert _hooks("uninstall").stdout == (
        f"{user_settings} contains no hooks of ccwire; nothing changed.\n"
    )


def test_project_and_local_settings_are_made_and_removed_again(project: Path) -> None:
    done = _hooks("install", "--scope", "project")
    assert "use `--scope local`" in done.stdout
    assert "`--scope local`" not in _hooks("install", "--scope", "local").stdout
    names = sorted(file.name for file in (project / ".claude").iterdir())
    assert names == ["settings.json", "settings.local.json"]
    for scope in ("project", "local"):
        assert "which contained nothing else" in _hooks("uninstall", "--scope", scope).stdout
    assert list((project / ".claude").iterdir()) == []


def test_print_shows_the_settings_and_writes_nothing(user_settings: Path) -> None:
    shown = _hooks("install", "--print")
    assert list(json.loads(shown.stdout)["hooks"]) == [
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "Stop",
        "SubagentStop",
    ]
    assert not user_settings.exists()
    user_settings.write_text(COMMENTED)
    _hooks("install")
    installed = user_settings.read_text()
    assert _hooks("uninstall", "--print").stdout == COMMENTED
    assert user_settings.read_text() == installed


def test_invalid_settings_are_an_error_with_file_line_and_column(
    user_settings: Path,
) -> None:
    user_settings.write_text('{\n  "a": 1,\n  b: 2\n}')
    for arguments in (["install"], ["install", "--force"], ["uninstall"], ["install", "--print"]):
        done = _hooks(*arguments)
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr == (
            f"ccwire: {user_settings}, line 3, column 3: expected a name in double quotes or `}}`; "
            "nothing was written.\n"
        )
    assert user_settings.read_text() == '{\n  "a": 1,\n  b: 2\n}'
    shown = _hooks("status")
    assert shown.exit_code == 1
    assert "line 3, column 3" in shown.stdout


def test_comments_inside_our_hooks_need_force(user_settings: Path) -> None:
    _hooks("install")
    text = user_settings.read_text().replace('"timeout"', '/* patient */ "timeout"', 1)
    user_settings.write_text(text)
    refused = _hooks("uninstall")
    assert refused.exit_code == 2
    assert "contains comments, which would be lost; move them, or add --force." in refused.stderr
    assert user_settings.read_text() == text
    done = _hooks("uninstall", "--force")
    assert "The previous version is saved as settings.json.before-ccwire." in done.stdout
    assert user_settings.read_text() == "{}\n"


def test_status_as_json_has_scopes_events_and_drift(user_settings: Path) -> None:
    stale = "/nowhere/python -I -S /nowhere/hook.py # ccwire"
    hook = {"type": "command", "command": stale}
    user_settings.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}}))
    shown = _hooks("status", "--json", "--scope", "user")
    assert shown.exit_code == 1
    assert json.loads(shown.stdout) == {
        "scopes": [
            {
                "scope": "user",
                "path": str(user_settings),
                "exists": True,
                "events": ["Stop"],
                "commands": [stale],
                "drift": [
                    "missing: SessionStart, SessionEnd, UserPromptSubmit, SubagentStop",
                    "the command belongs to another installation",
                    "/nowhere/python does not exist",
                    "/nowhere/hook.py does not exist",
                ],
                "disable_all_hooks": None,
                "error": None,
                "ignored": None,
            }
        ],
        "disabled_by": None,
    }
    words = _hooks("status").stdout
    assert "drifted, 1 of 5 events" in words
    assert "Run `ccwire hooks install --scope user` to repair it." in words
    _hooks("install")
    assert _hooks("status").exit_code == 0


def test_disabled_hooks_are_reported(user_settings: Path) -> None:
    user_settings.write_text('{"disableAllHooks": true}')
    assert _hooks("status").exit_code == 0
    assert "the hooks will not run" in _hooks("install").stdout
    shown = _hooks("status")
    assert shown.exit_code == 1
    assert f"The client runs no hooks here: disableAllHooks in {user_settings}." in shown.stdout


def test_another_claude_folder_can_be_named(project: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    _hooks("install", "--claude-dir", str(tmp_path / "other"))
    assert (tmp_path / "other" / "settings.json").exists()
    refused = _hooks("install", "--claude-dir", str(tmp_path / "no" / "such"))
    assert refused.exit_code == 2
    assert "No such file or directory; nothing was written." in refused.stderr


def test_status_names_the_installed_client_that_ignores_the_file(
    user_settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_settings.write_text("\ufeff{}\n")
    _hooks("install")
    monkeypatch.setattr("ccwire.commands.hooks.version_on_path", lambda: (2, 0, 67))
    shown = _hooks("status", "--scope", "user")
    assert shown.exit_code == 1
    assert "ignored, 5 of 5 events" in shown.stdout
    assert (
        "user: Claude Code 2.0.67 ignores this file, because it starts with a byte order mark; "
        "save it without the mark, or use `ccwire run`, which brings its own hooks.\n"
    ) in shown.stdout
    (scope,) = json.loads(_hooks("status", "--scope", "user", "--json").stdout)["scopes"]
    assert scope["ignored"] == (
        "Claude Code 2.0.67 ignores this file, because it starts with a byte order mark"
    )
    monkeypatch.setattr("ccwire.commands.hooks.version_on_path", lambda: (2, 1, 325))
    shown = _hooks("status", "--scope", "user")
    assert shown.exit_code == 0
    assert "installed, 5 of 5 events" in shown.stdout


def test_a_file_without_our_hooks_may_have_comments(user_settings: Path) -> None:
    user_settings.write_text(COMMENTED)
    shown = _hooks("status", "--scope", "user")
    assert (shown.exit_code, "ignores" in shown.stdout) == (0, False)
