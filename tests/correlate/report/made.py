"""A made-up session with everything a report shows, including request and response files."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from ccwire.wire.format import Exchange, file_name
from ccwire.wire.vocabulary import DIRECTIONS
from correlate.reconcile.result import Reconciliation
from correlate.reconcile.session import SessionReconciler, TranscriptWait
from correlate.report.source import Source, read_source
from correlate.transcript.locate import ClaudeDir
from lab.made_session import MadeSession

SESSION = "6f1c2d3e-0000-4000-8000-000000000001"
TOOLS = [
    {"name": "Bash", "description": "Runs a made-up command.", "input_schema": {"type": "object"}},
    {"name": "mcp__lamp__on", "description": "Switches it on.", "input_schema": {"type": "object"}},
]
NO_WAITING = TranscriptWait(tries=0)


class ReportSession(MadeSession):
    """A `MadeSession` that also writes the content of its calls as a capture."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.said: dict[str | None, list[dict[str, Any]]] = {}
        self.files: dict[int, tuple[dict[str, Any], dict[str, Any] | None]] = {}
        self.system_text = f"You are a made-up assistant of {self.session_id[:8]}."
        self.tools: list[dict[str, Any]] = TOOLS

    def prompt(self, text: str, agent_id: str | None = None) -> None:
        super().prompt(text, agent_id)
        self._say(agent_id, "user", [{"type": "text", "text": text}])

    def tool_result(self, text: str, agent_id: str | None = None, **more: Any) -> None:
        super().tool_result(text, agent_id, **more)
        tool = f"toolu_{self._key(len(self.exchanges))}"
        self._say(agent_id, "user", [{"type": "tool_result", "tool_use_id": tool, "content": text}])

    def call(self, blocks: tuple[str, ...] = ("text",), **given: Any) -> Exchange:
        """Add a call; `wire` and `answer` replace the content from the transcript's lines."""
        wire: list[dict[str, Any]] | None = given.pop("wire", None)
        plain: Any = given.pop("answer", None)
        agent = given.get("agent_id")
        lines = self.lines if agent is None else self.agent_lines.setdefault(agent, [])
        before = len(lines)
        given.setdefault("first_byte_ms", 400.0)
        made = super().call(blocks, **given)
        if plain is not None:
            made = replace(made, usage=None, usage_at_start=None, message_id=None, stop_reason=None)
            self.exchanges[-1] = made
        told = [block for line in lines[before:] for block in line["message"]["content"]]
        content = wire if wire is not None else told or [{"type": "text", "text": "Said aside."}]
        self.files[made.sequence] = (self._request(made), _response(made, content, plain))
        if plain is None and given.get("in_transcript", True):
            self._say(agent, "assistant", content)
        return made

    def write_capture(self, captures: Path) -> Path:
        folder = super().write_capture(captures)
        for exchange in self.exchanges:
            for direction, file in zip(DIRECTIONS, self.files[exchange.sequence], strict=True):
                name = file_name(exchange.sequence, direction, exchange.path)
                (folder / name).write_text(json.dumps(file))
        return folder

    def reconcile(self, root: Path) -> Reconciliation:
        """Write the session under `root` and reconcile it."""
        self.write(root / "claude", root / "captures")
        reconciler = SessionReconciler(root / "captures", ClaudeDir(root / "claude"), NO_WAITING)
        return reconciler.reconcile(root / "captures" / self.session_id)

    def source(self, root: Path) -> Source:
        session = self.reconcile(root)
        return read_source(root / "captures" / self.session_id, session, ClaudeDir(root / "claude"))

    def _say(self, agent_id: str | None, role: str, content: list[dict[str, Any]]) -> None:
        self.said.setdefault(agent_id, []).append({"role": role, "content": content})

    def _request(self, made: Exchange) -> dict[str, Any]:
        data = {
            "model": made.model,
            "max_tokens": made.max_tokens,
            "system": [{"type": "text", "text": self.system_text}],
            "tools": self.tools,
            "messages": copy.deepcopy(self.said.get(made.agent_id, [])),
            "stream": True,
        }
        headers = {"anthropic-beta": "made-up-2026-01-01"}
        return {"headers": headers, "body": {"type": "json", "size": 0, "data": data}}


def _response(made: Exchange, content: list[dict[str, Any]], plain: Any) -> dict[str, Any]:
    if plain is not None:
        return {"message": None, "body": {"type": "json", "size": 0, "data": plain}}
    message = {"id": made.message_id, "role": "assistant", "content": content}
    return {"message": message, "body": {"type": "sse", "size": 0, "events": []}}


def small_session(**given: Any) -> ReportSession:
    """A prompt, a command, a subagent, a side call, a retry: six calls."""
    made = ReportSession(SESSION, **given)
    made.prompt("Please look at the file.")
    made.call(
        answer={"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        in_transcript=False,
        status=529,
        complete=True,
        ended_by="http_end",
        error="overloaded_error: Overloaded",
        request_sha256="a" * 64,
    )
    made.call(("thinking", "text", "tool_use"), output=249, request_sha256="a" * 64)
    made.tool_result("some output")
    made.prompt("Go and see.", "a1b2c3d4e5")
    made.call(("text", "tool_use"), output=75, agent_id="a1b2c3d4e5")
    made.tool_result("seen", "a1b2c3d4e5")
    made.call(("text",), output=31, agent_id="a1b2c3d4e5")
    made.call(in_transcript=False, model="claude-haiku-4-5", request_class="auxiliary", tools=0)
    made.call(("text",), output=512)
    return made


def long_session(calls: int, agents: int = 6, remembered: int = 6) -> ReportSession:
    """Return a session with this many calls, alternating between threads with restarts."""
    made = ReportSession("6f1c2d3e-0000-4000-8000-00000000ffff", final=False)
    words = "amber basin cedar delta ember fjord grove harbor island juniper kettle lantern "
    for number in range(calls):
        agent = None if number % 3 else f"agent{number // 3 % agents:04d}"
        if len(made.said.get(agent, [])) > remembered:
            made.said[agent] = []
        made.prompt(f"Step {number}: {words * (number % 7 + 1)}", agent)
        aside = number % 17 == 0
        made.call(
            ("text", "tool_use"),
            output=50 + number % 900,
            agent_id=agent,
            texts=(words * (number % 5 + 1), f"echo {number}"),
            in_transcript=not aside,
            request_class="auxiliary" if aside else "main",
            first_byte_ms=200.0 + number % 900,
        )
        made.tool_result(words * (number % 23 + 1), agent)
    return made
