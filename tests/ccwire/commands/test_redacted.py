"""What a command shows of a transcript is redacted, unless it is given --raw."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ccwire.cli import main
from tests.correlate.report.made import SESSION, ReportSession

SECRET = "sk-ant-" + "api03-" + "Z9y8X7w6" * 8
TOKEN = "8f3bQ9xzz7!wombatvalue"  # a secret only because of the name of its field
COMMANDS = (
    "sessions",
    "sessions --json",
    "reconcile {session} -v",
    "reconcile {session} --json",
    "reconcile --all --json",
    "show {session}",
    "show {session} --json",
    "show {session} 1",
    "show {session} 1 --full",
    "show {session} 1 --json",
    "show {session} 1 --message 1",
    "show {session} 2",
    "show {session} --full",
    "show {session} --markdown",
    "search use --limit all",
    "search use --limit all --json",
    "search wombat --json",
    "diff {session}",
    "diff {session} --json",
    "watch --once --all",
    "watch --once --all --json",
)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session whose transcript and captured error contain a secret."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CCWIRE_CAPTURES", str(tmp_path / "captures"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CCWIRE_SESSIONS", str(tmp_path / "home" / "sessions.json"))
    monkeypatch.setenv("COLUMNS", "400")
    made = ReportSession(SESSION)
    made.prompt(f"My key is {SECRET}, please use it.")
    made.call(
        ("text", "tool_use"),
        texts=(f"I will use {SECRET}.", f"export KEY={SECRET}"),
        wire=[{"type": "text", "text": "I will use it."}],
    )
    made.lines[-1]["message"]["content"][0]["input"] = {"env": {"GITHUB_TOKEN": TOKEN}}
    made.tool_result(f"KEY={SECRET}")
    made.call(in_transcript=False, status=401, error=f"invalid key {SECRET}", ended_by="http_end")
    made.write(tmp_path / "claude", tmp_path / "captures")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_shows_a_secret(tree: Path, command: str) -> None:
    ran = CliRunner().invoke(main, command.format(session=SESSION).split())
    assert ran.exit_code in (0, 1), ran.output
    assert SECRET[:20] not in ran.output
    assert "wombatvalue" not in ran.output


@pytest.mark.parametrize("command", [c for c in COMMANDS if "--json" in c])
def test_redacted_json_is_json(tree: Path, command: str) -> None:
    json.loads(CliRunner().invoke(main, command.format(session=SESSION).split()).stdout)


@pytest.mark.parametrize(
    "command", ["sessions --json", "reconcile {session} -v", "diff {session} --json"]
)
def test_raw_shows_it(tree: Path, command: str) -> None:
    ran = CliRunner().invoke(main, [*command.format(session=SESSION).split(), "--raw"])
    assert SECRET in ran.output


def test_a_report_contains_a_secret_only_if_it_is_raw(tree: Path) -> None:
    page = tree / "page.html"
    CliRunner().invoke(main, ["report", SESSION, "-o", str(page)], catch_exceptions=False)
    assert SECRET[:20] not in page.read_text()
    assert "redacted:" in page.read_text()
    CliRunner().invoke(main, ["report", SESSION, "-o", str(page), "--raw"], catch_exceptions=False)
    assert SECRET in page.read_text()


def test_reading_creates_no_key(tree: Path) -> None:
    CliRunner().invoke(main, ["sessions"])
    assert not (tree / "home").exists()


def test_equal_secrets_have_the_mark_of_the_installation(tree: Path) -> None:
    (tree / "home").mkdir()
    (tree / "home" / "redaction.key").write_text("k" * 64)
    runs = [CliRunner().invoke(main, ["sessions", "--json"]).stdout for _ in range(2)]
    titles = [json.loads(run)["sessions"][0]["title"] for run in runs]
    assert titles[0] == titles[1]
    assert titles[0].startswith("My key is <redacted:")
