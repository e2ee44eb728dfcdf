"""The last output of `spend` is printed again only if the same command would print the same."""

import io
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from ccwire import kept_output
from ccwire.cli import main
from ccwire.kept_output import KEPT, print_again
from lab.made_session import MadeSession

ONE = "1" * 8 + "-aaaa"


class Spend:
    """A user's folders, and the command in them."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.claude, self.captures = (root / n for n in ("home", "claude", "captures"))
        self._monkeypatch = monkeypatch
        made = MadeSession(ONE)
        made.call(output=100)
        self.transcript = made.write(self.claude, self.captures)

    def run(self, *more: str) -> str:
        """Run the command as if there were no output yet."""
        self.ask(*more)
        done = CliRunner().invoke(main, sys.argv[1:])
        assert done.exit_code == 0, done.output
        return done.stdout

    def ask(self, *more: str) -> None:
        given = ["--claude-dir", str(self.claude), "--captures", str(self.captures)]
        self._monkeypatch.setattr(sys, "argv", ["ccwire", "spend", *given, *more])


@pytest.fixture
def spend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Spend:
    monkeypatch.setenv("CCWIRE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(kept_output, "_SETTLED_NS", -(10**15))
    # `CliRunner` replaces stdout, whose encoding is part of the question.
    monkeypatch.setattr("ccwire.spend_cache.question", lambda: _question())
    monkeypatch.setattr(kept_output, "question", lambda: _question())
    return Spend(tmp_path, monkeypatch)


def _question() -> str:
    return "\n".join([*sys.argv[1:], os.environ.get("TZ", "")])


@pytest.mark.parametrize("more", [(), ("--json",), ("--csv", "--by", "model")])
def test_the_same_question_has_the_same_output(
    spend: Spend, capfd: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    printed = spend.run(*more)
    assert print_again()
    assert capfd.readouterr().out == printed
    assert (spend.home / KEPT).stat().st_mode & 0o777 == 0o600


def test_outputs_about_the_same_state_are_kept_together(spend: Spend) -> None:
    spend.run("--by", "day")
    spend.run("--by", "week")
    for key, is_kept in (("day", True), ("week", True), ("month", False)):
        spend.ask("--by", key)
        assert print_again() is is_kept


def _append(spend: Spend) -> None:
    with spend.transcript.open("ab") as file:
        file.write(b"{}\n")


def _change_the_time_zone(spend: Spend) -> None:
    os.environ["TZ"] = "Pacific/Auckland"


CHANGES: dict[str, Callable[[Spend], object]] = {
    "a longer transcript": _append,
    "a transcript gone": lambda spend: spend.transcript.unlink(),
    "another transcript": lambda spend: (spend.transcript.parent / "two.jsonl").touch(),
    "another project": lambda spend: (spend.claude / "projects" / "new").mkdir(),
    "an older layout": lambda spend: (spend.claude / "sessions").mkdir(),
    "statistics": lambda spend: (spend.claude / "stats-cache.json").touch(),
    "a call": lambda spend: (spend.captures / ONE / "exchanges.jsonl").write_bytes(b""),
    "a capture": lambda spend: (spend.captures / "unknown").mkdir(),
    "a capture folder": lambda spend: (spend.home / "captures.json").touch(),
    "time zone": _change_the_time_zone,
    "program": lambda spend: None,
}


@pytest.mark.parametrize("change", CHANGES)
def test_after_any_change_the_command_runs(
    spend: Spend, change: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    program = tmp_path / "program.py"
    program.touch()
    monkeypatch.setattr(kept_output, "modules", lambda: [str(program)])
    spend.run()
    CHANGES[change](spend)
    if change == "program":
        program.write_text("changed")
    assert not print_again()


def test_what_depends_on_the_time_or_may_change_unnoticed_is_not_kept(
    spend: Spend, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend.run("--since", "7d")
    spend.run("--project", str(spend.claude))  # may be a link
    spend.run("--no-cache")
    monkeypatch.setattr(kept_output, "_SETTLED_NS", 10**15)
    spend.run()
    assert not (spend.home / KEPT).exists()


@pytest.mark.parametrize("stdout", [None, io.TextIOWrapper(io.BytesIO(), "latin-1")])
def test_without_a_stdout_in_utf8_the_command_runs(
    spend: Spend, monkeypatch: pytest.MonkeyPatch, stdout: io.TextIOWrapper | None
) -> None:
    spend.run()
    monkeypatch.setattr(sys, "stdout", stdout)
    assert not print_again()


def test_what_cannot_be_written_is_left_to_the_command(
    spend: Spend, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend.run()
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdout", full)
        assert not print_again()
        monkeypatch.undo()


def test_a_damaged_file_is_as_none(spend: Spend) -> None:
    spend.run()
    data = (spend.home / KEPT).read_bytes()
    chance = random.Random(1)
    for _ in range(100):
        place = chance.randrange(len(data))
        (spend.home / KEPT).write_bytes(data[:place] + bytes([data[place] ^ 5]) + data[place + 1 :])
        assert not print_again()
    for damaged in (b"", b"\0", data[:50], data + b"x"):
        (spend.home / KEPT).write_bytes(damaged)
        assert not print_again()
    spend.run()
    assert print_again()


def test_a_home_that_cannot_be_written_changes_nothing(spend: Spend) -> None:
    spend.home.write_text("a file")
    assert "total" in spend.run()
    assert not print_again()


def test_the_question_has_arguments_folder_and_environment_without_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["ccwire", "spend", "--json"])
    monkeypatch.setenv("CCWIRE_CAPTURES", "/captures")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "made-up")
    lines = kept_output.question().splitlines()
    assert {"--json", "CCWIRE_CAPTURES=/captures", str(Path.cwd())} <= set(lines)
    assert not any("made-up" in line for line in lines)
