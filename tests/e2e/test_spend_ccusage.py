"""`ccwire spend` counts as the newest ccusage does, where transcripts have the final usage."""

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from ccwire.demo.real.npm import NpmUnreachable, npm_install
from lab.made_session import MadeSession, write_lines

pytestmark = pytest.mark.real

_SESSIONS = 200
_RELEASES = ("1.0.128", "2.0.77", "2.1.207", "2.1.325")


def test_totals_equal_those_of_ccusage_to_the_token(tmp_path: Path) -> None:
    claude_dir = tmp_path / "claude"
    write_sessions(claude_dir, _SESSIONS, final=True)
    ours = _ours(tmp_path, claude_dir)
    assert _counts(ours) == _of_ccusage(tmp_path, claude_dir)
    assert ours["total"]["lower_bound_calls"] == 0


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Auckland", "America/New_York"])
def test_each_day_equals_that_of_ccusage_in_any_time_zone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    claude_dir = tmp_path / "claude"
    write_sessions(claude_dir, _SESSIONS, final=True)
    rows = _ours(tmp_path, claude_dir)["rows"]
    theirs = _ccusage(tmp_path, claude_dir)["daily"]
    assert [(row["day"], row["tokens"]["output"]) for row in rows] == [
        (day["date"], day["outputTokens"]) for day in theirs
    ]
    assert [row["usd"] for row in rows] == pytest.approx([day["totalCost"] for day in theirs])


def test_placeholders_are_lower_bounds_where_ccusage_reports_counts(tmp_path: Path) -> None:
    claude_dir = tmp_path / "claude"
    write_sessions(claude_dir, 20, final=False)
    ours = _ours(tmp_path, claude_dir)
    assert _counts(ours) == _of_ccusage(tmp_path, claude_dir)
    assert ours["total"]["exact_calls"] == 0
    assert "output tokens are at least these" in ours["notes"][0]


def write_sessions(claude_dir: Path, sessions: int, *, final: bool) -> None:
    """Write sessions of several releases, each with a subagent; every fifth has a fork."""
    for number in range(sessions):
        made = MadeSession(
            str(uuid.uuid5(uuid.NAMESPACE_URL, f"session {number}")),
            cwd=f"/home/lab/project-{number % 7}",
            version=_RELEASES[number % len(_RELEASES)],
            model=("claude-opus-4-5", "claude-sonnet-4-5")[number % 2],
            now=1_794_000_000.0 + 7_200 * number,
            final=final,
        )
        made.prompt("Please look at the file.")
        for call in range(3 + number % 5):
            made.call(("text", "tool_use"), output=50 + 7 * call + number)
            made.tool_result("some output")
        made.call(output=90 + number, agent_id=f"a{number}")
        path = made.write(claude_dir)
        if number % 5 == 0:
            fork = str(uuid.uuid5(uuid.NAMESPACE_URL, f"fork {number}"))
            copied = [{**line, "sessionId": fork} for line in made.lines]
            write_lines(path.with_name(f"{fork}.jsonl"), copied)


def _ours(tmp_path: Path, claude_dir: Path) -> dict[str, Any]:
    captures = tmp_path / "captures"
    captures.mkdir()
    command = [sys.executable, "-m", "ccwire", "spend", "--json"]
    command += ["--claude-dir", str(claude_dir), "--captures", str(captures)]
    found: dict[str, Any] = json.loads(_output(command, tmp_path, claude_dir))
    return found


def _counts(found: dict[str, Any]) -> dict[str, int]:
    tokens = found["total"]["tokens"]
    return {
        "inputTokens": tokens["input"],
        "outputTokens": tokens["output"],
        "cacheCreationTokens": tokens["cache_write_5m"] + tokens["cache_write_1h"],
        "cacheReadTokens": tokens["cache_read"],
    }


def _of_ccusage(tmp_path: Path, claude_dir: Path) -> dict[str, int]:
    totals = _ccusage(tmp_path, claude_dir)["totals"]
    names = ("inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens")
    return {name: totals[name] for name in names}


def _ccusage(tmp_path: Path, claude_dir: Path) -> dict[str, Any]:
    machine = "arm64" if os.uname().machine in ("arm64", "aarch64") else "x64"
    package = f"@ccusage/ccusage-{sys.platform}-{machine}"
    try:
        npm_install(tmp_path / "npm", package, timeout=120.0)
    except NpmUnreachable as error:
        pytest.skip(str(error))
    program = tmp_path / "npm" / "node_modules" / package / "bin" / "ccusage"
    program.chmod(0o700)
    command = [str(program), "claude", "daily", "--offline", "--json"]
    found: dict[str, Any] = json.loads(_output(command, tmp_path, claude_dir))
    return found


def _output(command: list[str], home: Path, claude_dir: Path) -> bytes:
    environment = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(claude_dir),
        "TZ": os.environ.get("TZ", "UTC"),
    }
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout
