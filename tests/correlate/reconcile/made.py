"""Made-up sessions on disk, and their reconciliation."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from correlate.reconcile.result import Finding, Reconciliation
from correlate.reconcile.session import SessionReconciler, TranscriptWait
from correlate.transcript.locate import ClaudeDir
from lab.made_session import MadeSession, write_lines

SESSION = "11111111-2222-4333-8444-555555555555"
OTHER = "99999999-2222-4333-8444-555555555555"
IMPATIENT = TranscriptWait(tries=0)


def made_session(**more: Any) -> MadeSession:
    """A session with a prompt, a tool call, a subagent, a side call and an answer."""
    made = MadeSession(SESSION, **more)
    made.prompt("go")
    made.call(("text", "tool_use"), output=249)
    made.tool_result("a result")
    made.call(agent_id="a1", output=70)
    made.call(in_transcript=False, request_class="auxiliary", tools=0, output=11)
    made.call(output=30)
    return made


def reconcile(tmp_path: Path, session: str = SESSION) -> Reconciliation:
    captures = tmp_path / "captures"
    claude = ClaudeDir(tmp_path / "claude")
    return SessionReconciler(captures, claude, IMPATIENT).reconcile(captures / session)


def write(made: MadeSession, tmp_path: Path) -> Path:
    return made.write(tmp_path / "claude", tmp_path / "captures")


def unexplained(session: Reconciliation) -> list[Finding]:
    return [finding for finding in session.findings if not finding.explained]


def rewrite(path: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    change(lines)
    write_lines(path, lines)
