"""The `env` of the client's settings files, in the client's own order."""

import json
from pathlib import Path

import pytest

from addon.launch.client_settings import read_settings_env


class Machine:
    """A home, a project and an administrator's folder, with settings files in them."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.claude_dir = self.home / ".claude"
        self.managed = folder / "etc" / "managed-settings.json"

    def write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def levels(self, *arguments: str) -> list[tuple[str, dict[str, str]]]:
        found = read_settings_env(self.claude_dir, self.project, arguments, self.managed)
        return [(level.source, dict(level.env)) for level in found]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Machine(tmp_path)


def env(value: object) -> str:
    return json.dumps({"env": {"X": value}})


def test_the_levels_come_weakest_first(machine: Machine) -> None:
    machine.write(machine.home / ".claude.json", env("state"))
    machine.write(machine.claude_dir / "settings.json", env("user"))
    machine.write(machine.project / ".claude/settings.json", env("project"))
    machine.write(machine.project / ".claude/settings.local.json", env("local"))
    machine.write(machine.managed, env("managed"))
    machine.write(machine.managed.with_suffix(".d") / "20-b.json", env("second"))
    machine.write(machine.managed.with_suffix(".d") / "10-a.json", env("first"))
    folder = machine.managed.parent
    assert machine.levels("-p", "--settings", env("argument")) == [
        ("~/.claude.json", {"X": "state"}),
        ("~/.claude/settings.json", {"X": "user"}),
        (".claude/settings.json", {"X": "project"}),
        (".claude/settings.local.json", {"X": "local"}),
        ("--settings", {"X": "argument"}),
        (f"{folder}/managed-settings.json", {"X": "managed"}),
        (f"{folder}/managed-settings.d/10-a.json", {"X": "first"}),
        (f"{folder}/managed-settings.d/20-b.json", {"X": "second"}),
    ]


def test_only_the_administrators_settings_cannot_be_overridden(machine: Machine) -> None:
    machine.write(machine.claude_dir / "settings.json", env("user"))
    machine.write(machine.managed, env("managed"))
    found = read_settings_env(machine.claude_dir, machine.project, (), machine.managed)
    assert [level.overridable for level in found] == [True, False]


@pytest.mark.parametrize("form", [["--setting-sources", "user"], ["--setting-sources=user"]])
def test_setting_sources_leave_out_the_other_scopes(machine: Machine, form: list[str]) -> None:
    machine.write(machine.claude_dir / "settings.json", env("user"))
    machine.write(machine.project / ".claude/settings.json", env("project"))
    assert machine.levels(*form) == [("~/.claude/settings.json", {"X": "user"})]
    assert machine.levels("--setting-sources", "") == []
    assert len(machine.levels("--", "--setting-sources", "")) == 2


def test_a_file_given_as_settings_is_read(machine: Machine, tmp_path: Path) -> None:
    machine.write(tmp_path / "mine.json", env("mine"))
    assert machine.levels(f"--settings={tmp_path / 'mine.json'}") == [("--settings", {"X": "mine"})]
    assert machine.levels("--settings", str(tmp_path / "missing.json")) == []


def test_numbers_and_booleans_are_texts_and_other_values_nothing(machine: Machine) -> None:
    text = json.dumps({"env": {"A": 1, "B": True, "C": None, "D": {}, "E": "x"}})
    machine.write(machine.project / ".claude/settings.json", text)
    assert machine.levels() == [(".claude/settings.json", {"A": "1", "B": "true", "E": "x"})]


def test_a_file_with_comments_is_read_but_marked(machine: Machine) -> None:
    text = '{ // which gateway\n "env": {"X": "1"},\n}'
    machine.write(machine.project / ".claude/settings.json", text)
    (level,) = read_settings_env(machine.claude_dir, machine.project, (), machine.managed)
    assert (dict(level.env), level.ignored) == ({"X": "1"}, True)


def test_a_byte_order_mark_is_skipped(machine: Machine) -> None:
    machine.write(machine.project / ".claude/settings.json", "\ufeff" + env("1"))
    (level,) = read_settings_env(machine.claude_dir, machine.project, (), machine.managed)
    assert (dict(level.env), level.ignored) == ({"X": "1"}, False)


@pytest.mark.parametrize("value", ["http://a\0b:1", "\ud800", "x\udfff"])
def test_a_value_that_no_environment_can_contain_is_left_out(machine: Machine, value: str) -> None:
    text = json.dumps({"env": {"NO_PROXY": value, "X": "1"}})
    machine.write(machine.project / ".claude/settings.json", text)
    assert machine.levels() == [(".claude/settings.json", {"X": "1"})]


@pytest.mark.parametrize(
    "text", ["{broken", "[]", '{"env": []}', '"text"', "", "[" * 100_000, '{"a":' * 100_000]
)
def test_broken_files_are_left_out(machine: Machine, text: str) -> None:
    machine.write(machine.project / ".claude/settings.json", text)
    machine.write(machine.claude_dir / "settings.json", env("user"))
    assert machine.levels() == [("~/.claude/settings.json", {"X": "user"})]


def test_another_claude_folder_has_its_own_state(machine: Machine, tmp_path: Path) -> None:
    other = tmp_path / "other"
    machine.write(other / ".claude.json", env("state"))
    (level,) = read_settings_env(other, machine.project, (), machine.managed)
    assert level.source == str(other / ".claude.json")
