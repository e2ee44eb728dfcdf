"""Generate a session: transcript lines in the client's format, and the matching exchanges.

    made = MadeSession("6f1c…", cwd="/home/lab/project")
    made.prompt("Please look at the file.")
    made.call(("text", "tool_use"), output=249)
    made.tool_result("some output")
    made.write(claude_dir, captures)

All text is made up. For tests and benchmarks of the transcript reader; for the real client see
`ccwire.demo.real.run`.
"""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from ccwire.wire.format import EXCHANGES, MANIFEST, Exchange, Manifest
from correlate.transcript.locate import slug_of

PLACEHOLDER_OUTPUT = 2


@dataclass
class MadeSession:
    """A session under construction: `lines` of the main transcript, `agent_lines` per subagent."""

    session_id: str
    cwd: str = "/home/lab/project"
    version: str = "2.1.325"
    model: str = "claude-opus-5-5"
    now: float = 1_794_000_000.0
    final: bool = True  # whether transcript lines contain the final usage or message_start's

    def __post_init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.agent_lines: dict[str, list[dict[str, Any]]] = {}
        self.exchanges: list[Exchange] = []
        self.left_out: set[int] = set()  # calls that are not in the capture
        self._uuids = 0
        self._last: dict[str | None, str] = {}

    def prompt(self, text: str, agent_id: str | None = None) -> None:
        self._user(text, agent_id)

    def tool_result(self, text: str, agent_id: str | None = None, **more: Any) -> None:
        """Add a tool's result, which the client writes twice in one line."""
        block = {
            "tool_use_id": f"toolu_{self._key(len(self.exchanges))}",
            "type": "tool_result",
            "content": text,
            "is_error": False,
        }
        result = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False, **more}
        self._user([block], agent_id, toolUseResult=result)

    def call(
        self,
        blocks: tuple[str, ...] = ("text",),
        *,
        output: int = 100,
        usage: dict[str, Any] | None = None,
        agent_id: str | None = None,
        texts: tuple[str, ...] = (),
        in_transcript: bool = True,
        captured: bool = True,
        placeholder: bool | None = None,
        **exchange: Any,
    ) -> Exchange:
        """Add a call, with one line per content block, and return its exchange."""
        number = len(self.exchanges) + 1
        self.now += 2.0
        final = usage or made_usage(number, output)
        start = {**final, "output_tokens": min(PLACEHOLDER_OUTPUT, final["output_tokens"])}
        stop = "tool_use" if "tool_use" in blocks else "end_turn"
        fields: dict[str, Any] = {
            "sequence": number,
            "flow_id": f"flow-{number}",
            "started": self.now,
            "ended": self.now + 1.5,
            "method": "POST",
            "host": "api.anthropic.com",
            "path": "/v1/messages",
            "status": 200,
            "kind": "messages",
            "agent_id": agent_id,
            "request_class": "subagent" if agent_id else "main",
            "model": self.model,
            "stream": True,
            "max_tokens": 32000,
            "messages": 2 * number - 1,
            "tools": 12,
            "request_id": f"req_{self._key(number)}",
            "message_id": f"msg_{self._key(number)}",
            "stop_reason": stop,
            "blocks": {kind: blocks.count(kind) for kind in blocks},
            "usage_at_start": start,
            "usage": final,
            "complete": True,
            "ended_by": "message_stop",
            "request_sha256": f"{number:064x}",
            "identified_by": "header",
            "claude_version": self.version,
            "pid": 4242,
        }
        made = Exchange.from_json({**fields, **exchange})
        self.exchanges.append(made)
        is_placeholder = not self.final if placeholder is None else placeholder
        if in_transcript:
            for index, kind in enumerate(blocks):
                text = texts[index] if index < len(texts) else f"Made-up text {number}."
                self._assistant(made, index, kind, text, start if is_placeholder else final)
        if not captured:
            self.left_out.add(made.sequence)
        return made

    def cost_state(self, total_usd: float, model_usage: dict[str, Any]) -> None:
        self.lines.append(
            {
                "type": "cost-state",
                "sessionId": self.session_id,
                "totalCostUSD": total_usd,
                "modelUsage": model_usage,
            }
        )

    def system(self, subtype: str, **fields: Any) -> None:
        self.now += 0.1
        self.lines.append(self._envelope({"type": "system", "subtype": subtype, **fields}, None))

    def write(self, claude_dir: Path, captures: Path | None = None) -> Path:
        """Write the transcript and return its path; also write the capture if a folder is given."""
        folder = claude_dir / "projects" / slug_of(self.cwd)
        folder.mkdir(parents=True, exist_ok=True)
        main = folder / f"{self.session_id}.jsonl"
        write_lines(main, self.lines)
        for agent_id, lines in self.agent_lines.items():
            agents = folder / self.session_id / "subagents"
            agents.mkdir(parents=True, exist_ok=True)
            write_lines(agents / f"agent-{agent_id}.jsonl", lines)
        if captures is not None:
            self.write_capture(captures)
        return main

    def write_capture(self, captures: Path) -> Path:
        kept = [exchange for exchange in self.exchanges if exchange.sequence not in self.left_out]
        folder = captures / self.session_id
        folder.mkdir(parents=True, exist_ok=True)
        write_lines(folder / EXCHANGES, [exchange.to_json() for exchange in kept])
        manifest = Manifest(
            session_id=self.session_id,
            first_seen=min((exchange.started for exchange in kept), default=None),
            claude_versions=[self.version],
            cwd=self.cwd,
        )
        (folder / MANIFEST).write_bytes(orjson.dumps(manifest.to_json()))
        return folder

    def _assistant(
        self, call: Exchange, index: int, kind: str, text: str, usage: dict[str, Any]
    ) -> None:
        final = usage["output_tokens"] != PLACEHOLDER_OUTPUT
        message = {
            "id": call.message_id,
            "type": "message",
            "role": "assistant",
            "model": call.model,
            "content": [_block(kind, text, self._key(call.sequence))],
            "stop_reason": call.stop_reason if final else None,
            "stop_sequence": None,
            "usage": usage,
        }
        fields = {
            "message": message,
            "apiBlockIndex": index,
            "requestId": call.request_id,
            "requestRef": str(uuid.UUID(int=call.sequence)),
            "type": "assistant",
        }
        self._append(self._envelope(fields, call.agent_id), call.agent_id)

    def _user(self, content: Any, agent_id: str | None, **more: Any) -> None:
        self.now += 0.2
        fields = {"type": "user", "message": {"role": "user", "content": content}, **more}
        self._append(self._envelope(fields, agent_id), agent_id)

    def _append(self, line: dict[str, Any], agent_id: str | None) -> None:
        if agent_id is None:
            self.lines.append(line)
        else:
            self.agent_lines.setdefault(agent_id, []).append(line)

    def _envelope(self, fields: dict[str, Any], agent_id: str | None) -> dict[str, Any]:
        self._uuids += 1
        own = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.session_id}/{self._uuids}"))
        head: dict[str, Any] = {
            "parentUuid": self._last.get(agent_id),
            "isSidechain": agent_id is not None,
        }
        if agent_id is not None:
            head["agentId"] = agent_id
        self._last[agent_id] = own
        return {
            **head,
            **fields,
            "uuid": own,
            "timestamp": iso(self.now + 1.4),
            "userType": "external",
            "entrypoint": "sdk-cli",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": self.version,
            "gitBranch": "HEAD",
        }

    def _key(self, number: int) -> str:
        return f"{self.session_id[:8]}{number:06d}"


def made_usage(number: int, output: int) -> dict[str, Any]:
    """Return a usage object, distinct per call, in the newest client's format."""
    return {
        "input_tokens": 3 + number,
        "cache_creation_input_tokens": 700 + number,
        "cache_read_input_tokens": 12_000 + 700 * number,
        "output_tokens": output,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": {
            "ephemeral_1h_input_tokens": 200,
            "ephemeral_5m_input_tokens": 500 + number,
        },
        "inference_geo": "",
        "iterations": [],
        "speed": "standard",
    }


def write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _block(kind: str, text: str, key: str) -> dict[str, Any]:
    if kind == "tool_use":
        given = {"command": text, "description": "A made-up command"}
        return {"type": "tool_use", "id": f"toolu_{key}", "name": "Bash", "input": given}
    if kind == "thinking":
        return {"type": "thinking", "thinking": text, "signature": "bWFkZSB1cA=="}
    return {"type": "text", "text": text}
