import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from addon.claude_settings.files import SettingsError
from addon.claude_settings.hooks_text import CommentsAtStake
from addon.claude_settings.install import (
    SettingsChange,
    backups,
    make_change,
    plan_install,
    plan_uninstall,
)
from tests.addon.claude_settings.texts import settings_texts

OURS = "python hook.py # ccwire"
NOTED = '{"hooks": {"Stop": [{"hooks": [{"command": "hook.py # ccwire" /* noted */}]}]}}'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings.json"


def _install(path: Path, command: str = OURS, *, force: bool = False) -> Path | None:
    return make_change(plan_install(path, command, force=force))


def _uninstall(path: Path, *, force: bool = False) -> Path | None:
    return make_change(plan_uninstall(path, force=force))


def _names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(settings_texts())
def test_install_then_uninstall_leaves_the_bytes_and_the_folder_as_they_were(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(text.encode())
    _install(path)
    _install(path)
    assert path.read_bytes() != text.encode()
    _uninstall(path)
    assert path.read_bytes() == text.encode()
    assert _names(tmp_path) == ["settings.json"]


def test_a_file_that_was_ours_alone_goes_again(tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "settings.json"
    assert _install(path) is None
    assert path.exists()
    assert _uninstall(path) is None
    assert _names(tmp_path / ".claude") == []
    assert plan_uninstall(path) == SettingsChange(path, None, None)
    assert _uninstall(path) is None


def test_a_file_that_was_empty_braces_comes_back(path: Path) -> None:
    path.write_text("{}\n")
    _install(path)
    _uninstall(path)
    assert path.read_text() == "{}\n"


def test_a_second_run_writes_nothing_and_keeps_the_first_backup(path: Path) -> None:
    path.write_text('{"a": 1}')
    backup = _install(path)
    assert backup == path.with_name("settings.json.before-ccwire")
    assert backup is not None
    written = path.stat()
    assert _install(path) is None
    assert path.stat().st_mtime_ns == written.st_mtime_ns
    assert path.stat().st_ino == written.st_ino
    assert _install(path, "new hook.py # ccwire") is None
    assert backup.read_text() == '{"a": 1}'
    assert backups(path) == [backup]


def test_a_backup_of_another_time_is_never_written_over(path: Path) -> None:
    for text in ('{"a": 1}', '{"a": 2}', '{"a": 3}'):
        path.write_text(text)
        _install(path)
        path.write_text(path.read_text().replace('{"a"', '{"changed": true, "a"'))
        _uninstall(path)
        assert path.read_text() == text.replace("{", '{"changed": true, ')
    assert [backup.read_text() for backup in backups(path)] == ['{"a": 3}', '{"a": 2}', '{"a": 1}']


def test_the_mode_is_kept_also_by_the_backup(path: Path) -> None:
    path.write_text("{}")
    path.chmod(0o640)
    backup = _install(path)
    assert backup is not None
    assert [file.stat().st_mode & 0o777 for file in (path, backup)] == [0o640, 0o640]
    assert _names(path.parent) == ["settings.json", "settings.json.before-ccwire"]


@pytest.mark.parametrize("text", ['{"a": 1}', None])
def test_a_link_is_followed_and_stays_a_link(tmp_path: Path, path: Path, text: str | None) -> None:
    target = tmp_path / "dotfiles" / "claude.json"
    target.parent.mkdir()
    if text is not None:
        target.write_text(text)
    path.symlink_to(target)
    _install(path)
    assert path.is_symlink()
    assert "ccwire" in target.read_text()
    _uninstall(path)
    assert path.is_symlink()
    assert (target.read_text() if target.exists() else None) == text


def test_comments_go_only_by_force_and_are_kept_in_a_backup(path: Path) -> None:
    path.write_text(NOTED)
    with pytest.raises(CommentsAtStake):
        _uninstall(path)
    assert path.read_text() == NOTED
    backup = _uninstall(path, force=True)
    assert path.read_text() == "{}"
    assert backup is not None
    assert backup.read_text() == NOTED


@pytest.mark.parametrize("text", ["", "{", '{"hooks": []}'])
def test_settings_that_are_not_valid_are_left_alone(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"settings\.json, line 1, column"):
        _install(path)
    assert path.read_text() == text
    assert _names(path.parent) == ["settings.json"]


def test_what_another_wrote_meanwhile_is_not_lost(path: Path) -> None:
    path.write_text('{"a": 1}')
    change = plan_install(path, OURS)
    path.write_text('{"a": 2}')
    with pytest.raises(SettingsError, match="was changed by another program"):
        make_change(change)
    assert path.read_text() == '{"a": 2}'


def test_a_folder_above_the_settings_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file or directory"):
        _install(tmp_path / "mistyped" / "deeper" / "settings.json")
    assert _names(tmp_path) == []


def test_a_write_that_fails_leaves_the_file_and_no_rubbish(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text('{"a": 1}')

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    change = plan_install(path, OURS)
    with pytest.raises(SettingsError, match="No space left on device"):
        make_change(change)
    assert path.read_text() == '{"a": 1}'
    assert _names(path.parent) == ["settings.json"]
