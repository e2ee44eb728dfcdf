"""Each example runs as a user runs it, and prints what is in the captures it is given."""

import subprocess
import sys
from pathlib import Path

from lab.made_session import MadeSession, made_usage
from tests.recorded import Recorded

ROOT = Path(__file__).parent.parent


def run(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "examples" / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_example_is_tested() -> None:
    tested = {"tokens_per_model.py", "slowest_calls.py", "unexplained.py"}
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == tested


def test_tokens_per_model(recorded: Recorded) -> None:
    ran = run("tokens_per_model.py", recorded.captures, "--claude-dir", recorded.claude_dir)
    assert (ran.stderr, ran.returncode) == ("", 0)
    assert [line.split() for line in ran.stdout.splitlines()] == [
        ["claude-sonnet-4-5-20250929", "134,911", "in", "22,385", "out", "$0.4700"],
        ["claude-haiku-4-5-20251001", "31,660", "in", "3,899", "out", "$0.0300"],
    ]


def test_slowest_calls(tmp_path: Path) -> None:
    session = MadeSession("aaaabbbb-cccc")
    for seconds in (1.5, 9.25, 4.0):
        session.call(ended=session.now + 2.0 + seconds, first_byte_ms=500.0)
    session.call(ended=session.now + 99.0, complete=False)
    session.write(tmp_path / "claude", tmp_path / "captures")
    ran = run("slowest_calls.py", tmp_path / "captures", "--count", "2")
    assert (ran.stderr, ran.returncode) == ("", 0)
    assert [line.split() for line in ran.stdout.splitlines()] == [
        ["9.25", "s", "first", "byte", "0.50", "s", "aaaabbbb", "#2", "claude-opus-5-5"],
        ["4.00", "s", "first", "byte", "0.50", "s", "aaaabbbb", "#3", "claude-opus-5-5"],
    ]


def test_unexplained(tmp_path: Path) -> None:
    session = MadeSession("aaaabbbb-cccc")
    session.prompt("Please go ahead.")
    call = session.call(output=100)
    session.lines[-1]["message"]["usage"] = made_usage(1, 9000)
    session.write(tmp_path / "claude", tmp_path / "captures")
    ran = run("unexplained.py", tmp_path / "captures", "--claude-dir", tmp_path / "claude")
    assert (ran.stderr, ran.returncode) == ("", 1)
    assert ran.stdout.splitlines() == [
        f"aaaabbbb-cccc  call {call.sequence}: differs (main)",
        "    joined by request_id",
        "    output_tokens: wire 100, transcript 9000",
        "1 unexplained",
    ]


def test_nothing_is_unexplained_in_the_recorded_session(recorded: Recorded) -> None:
    ran = run("unexplained.py", recorded.captures, "--claude-dir", recorded.claude_dir)
    assert (ran.stdout, ran.returncode) == ("0 unexplained\n", 0)
