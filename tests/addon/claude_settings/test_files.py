import json
from pathlib import Path

import pytest

from addon.claude_settings.files import (
    SettingsError,
    disabled_by,
    installed_scopes,
    read_settings,
    scope_checks,
    scope_statuses,
    settings_path,
)
from addon.claude_settings.hooks_text import hook_command, hook_settings

GONE = "/nowhere/python -I -S /nowhere/hook.py 2>/dev/null || true # ccwire"


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    folder = tmp_path / "claude"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".claude").mkdir(parents=True)
    return folder


def test_each_scope_has_its_file(claude: Path, project: Path) -> None:
    assert settings_path("user", claude, project) == claude / "settings.json"
    assert settings_path("project", claude, project) == project / ".claude" / "settings.json"
    assert settings_path("local", claude, project) == project / ".claude" / "settings.local.json"


def test_a_missing_file_is_none_and_one_that_is_not_utf_8_is_an_error_with_its_place(
    claude: Path,
) -> None:
    path = claude / "settings.json"
    assert read_settings(path) is None
    path.write_bytes(b'{\n "a": "\xff"}')
    with pytest.raises(SettingsError, match=r"settings\.json, line 2, column 8: not UTF-8"):
        read_settings(path)
    with pytest.raises(SettingsError, match="Is a directory"):
        read_settings(claude)


def test_only_scopes_whose_command_still_exists_count_as_installed(
    claude: Path, project: Path
) -> None:
    assert installed_scopes(claude, project) == []
    (claude / "settings.json").write_text(json.dumps(hook_settings(GONE)))
    assert installed_scopes(claude, project) == []
    local = project / ".claude" / "settings.local.json"
    local.write_text(json.dumps(hook_settings(hook_command())))
    assert installed_scopes(claude, project) == ["local"]


def test_the_status_contains_drift_missing_files_and_errors(claude: Path, project: Path) -> None:
    (claude / "settings.json").write_text(json.dumps(hook_settings(GONE, ["Stop"])))
    (project / ".claude" / "settings.json").write_text('{"hooks": oops}')
    user, shared, local = scope_statuses(claude, project)
    assert (user.exists, user.hooks.commands, user.error) == (True, {"Stop": (GONE,)}, None)
    assert user.drift == (
        "missing: SessionStart, SessionEnd, UserPromptSubmit, SubagentStop",
        "the command belongs to another installation",
        "/nowhere/python does not exist",
        "/nowhere/hook.py does not exist",
    )
    assert shared.error is not None
    assert "line 1, column 11: expected a value" in shared.error
    assert (local.exists, local.hooks.commands, local.drift) == (False, {}, ())


def test_the_strongest_scope_that_speaks_decides_whether_hooks_run(
    claude: Path, project: Path, tmp_path: Path
) -> None:
    managed = tmp_path / "managed.json"

    def found() -> str | None:
        return disabled_by(scope_statuses(claude, project), managed)

    assert found() is None
    (claude / "settings.json").write_text('{"disableAllHooks": true}')
    assert found() == f"disableAllHooks in {claude / 'settings.json'}"
    (project / ".claude" / "settings.json").write_text('{"disableAllHooks": false}')
    assert found() is None
    (project / ".claude" / "settings.json").write_text('{"disableAllHooks": true} // ignored')
    (claude / "settings.json").write_text("{}")
    assert found() is None
    managed.write_text('{"allowManagedHooksOnly": true}')
    assert found() == f"allowManagedHooksOnly in {managed}"
    managed.write_text("not JSON")
    assert found() is None


def test_a_check_contains_what_to_do(claude: Path, project: Path) -> None:
    assert list(scope_checks(claude, project)) == [
        ("hooks", "not installed; `ccwire run` adds its own", None)
    ]
    (claude / "settings.json").write_text(json.dumps(hook_settings(hook_command())))
    (project / ".claude" / "settings.json").write_text(json.dumps(hook_settings(GONE)))
    local = project / ".claude" / "settings.local.json"
    local.write_text('{"disableAllHooks": true}')
    user, shared, off = scope_checks(claude, project)
    assert user == ("hooks", "user: installed, 5 events", None)
    assert shared[1].startswith("project: the command belongs to another installation; /nowhere")
    assert shared[2] == "run `ccwire hooks install --scope project`"
    assert off[1] == "switched off"
    assert str(local) in (off[2] or "")


def test_hooks_in_a_file_that_the_client_ignores_are_not_installed(
    claude: Path, project: Path
) -> None:
    settings = claude / "settings.json"
    settings.write_text("\ufeff" + json.dumps(hook_settings(hook_command())))
    assert installed_scopes(claude, project) == []
    assert installed_scopes(claude, project, (2, 0, 67)) == []
    assert installed_scopes(claude, project, (2, 0, 69)) == ["user"]
    [(_, found, todo)] = scope_checks(claude, project, (2, 0, 67))
    assert found == f"user: {settings}"
    assert todo == (
        "Claude Code 2.0.67 ignores this file, because it starts with a byte order mark; "
        "save it without the mark, or use `ccwire run`, which brings its own hooks"
    )
    [(_, found, todo)] = scope_checks(claude, project, (2, 1, 0))
    assert (found, todo) == ("user: installed, 5 events", None)
