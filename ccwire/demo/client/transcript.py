"""The simulated client's transcript files and lines, per release.

Field names and their order are the real client's; all text is made up.
"""

import json
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ccwire.demo.client.connection import Reply
from ccwire.demo.client.profiles import Profile
from correlate.transcript.locate import slug_of


@dataclass(frozen=True, slots=True)
class SimulatedAgent:
    """A subagent: its id, as in headers and file names, and how it was started."""

    id: str
    type: str
    description: str
    tool_use_id: str | None = None


class TranscriptWriter:
    """Writes the files of one session; nothing if `persist` is off."""

    def __init__(
        self,
        profile: Profile,
        config_dir: Path,
        cwd: Path,
        session_id: str,
        *,
        entrypoint: str,
        persist: bool = True,
    ) -> None:
        self._profile = profile
        self._folder = config_dir / "projects" / slug_of(str(cwd))
        self._cwd = cwd
        self._entrypoint = entrypoint
        self._persist = persist
        self._lock = threading.Lock()
        self._last: dict[str | None, str | None] = {}  # per agent: the next line's parentUuid
        self.session_id = session_id
        self.prompt_id = ""

    @property
    def path(self) -> Path:
        return self._folder / f"{self.session_id}.jsonl"

    def agent_path(self, agent: SimulatedAgent) -> Path:
        match self._profile.subagents:
            case "inline":
                return self.path
            case "beside":
                return self._folder / f"agent-{agent.id}.jsonl"
        return self._folder / self.session_id / "subagents" / f"agent-{agent.id}.jsonl"

    def last_uuid(self, agent: SimulatedAgent | None = None) -> str | None:
        return self._last.get(agent.id if agent else None)

    def user(self, content: Any, agent: SimulatedAgent | None = None, **extra: Any) -> str:
        """Write a user line: a prompt, or a tool's result."""
        prompt = {"promptId": self.prompt_id} if self._profile.release >= (2, 1, 78) else {}
        fields = {**prompt, **extra}
        return self._line("user", agent, fields, message={"role": "user", "content": content})

    def assistant(
        self,
        reply: Reply,
        agent: SimulatedAgent | None = None,
        request_ref: str | None = None,
        **extra: Any,
    ) -> str:
        """Write a reply, as one line per block or one line in total; return the last uuid."""
        message = reply.message or {}
        blocks = message.get("content", [])
        groups = [blocks] if self._profile.line_a_call else [[block] for block in blocks]
        line = ""
        for index, group in enumerate(groups):
            final = self._has_final_usage(agent, last=index == len(groups) - 1)
            final = final and reply.complete
            stop_reason = message.get("stop_reason") if self._profile.stop_reason else None
            details = {"stop_details": None} if self._profile.release >= (2, 1, 168) else {}
            written = {
                **message,
                **details,
                "content": group,
                "stop_reason": stop_reason if final else None,
                "usage": self._usage(reply.usage) if final else reply.start_usage,
            }
            fields: dict[str, Any] = {}
            if self._profile.line_a_call:
                fields |= {"costUSD": 0.0, "durationMs": 1}
            if self._profile.release >= (2, 1, 274):
                fields |= {"apiBlockIndex": index, "effort": "medium", "perTurnEffort": None}
            if self._profile.request_id and reply.request_id:
                fields["requestId"] = reply.request_id
            if request_ref is not None:
                fields |= {"requestRef": request_ref, "requestedModel": message.get("model")}
            if agent is not None and self._profile.release >= (2, 1, 139):
                fields["attributionAgent"] = agent.type
            line = self._line("assistant", agent, {**fields, **extra}, message=written)
        return line

    def synthetic(self, text: str) -> None:
        """Write an assistant line that the client made up itself, such as an error text."""
        usage = {
            "input_tokens": 0,
            "output_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        }
        message = {
            "id": str(uuid.uuid4()),
            "model": "<synthetic>",
            "role": "assistant",
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "type": "message",
            "usage": usage,
            "content": [{"type": "text", "text": text}],
        }
        self._line("assistant", None, {"isApiErrorMessage": True}, message=message)

    def system(self, subtype: str, agent: SimulatedAgent | None = None, **fields: Any) -> str:
        return self._line("system", agent, {"subtype": subtype, **fields})

    def attachment(self, agent: SimulatedAgent | None = None) -> None:
        """Write an attachment line, as newer clients do with a prompt."""
        if self._profile.release >= (2, 1, 98):
            note = {"type": "lab_note", "content": "There is nothing to know."}
            self._line("attachment", agent, {"attachment": note})

    def record(self, kind: str, agent: SimulatedAgent | None = None, **fields: Any) -> None:
        """Write a line outside the conversation, without uuid and parentUuid."""
        path = self.agent_path(agent) if agent else self.path
        self._write(path, {"type": kind, **fields, "sessionId": self.session_id})

    def agent_meta(self, agent: SimulatedAgent) -> None:
        if not (self._profile.agent_meta and self._persist):
            return
        meta: dict[str, Any] = {"agentType": agent.type, "description": agent.description}
        if self._profile.release >= (2, 1, 168):
            meta["toolUseId"] = agent.tool_use_id
        path = self.agent_path(agent).with_suffix(".meta.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(meta))

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines of the session's main file."""
        if not self.path.is_file():
            return []
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def take_over(self, lines: list[dict[str, Any]], *, copy: bool) -> None:
        """Continue another session's lines; `copy` also writes them under this session's id."""
        for line in lines:
            if copy:
                renamed = {"sessionId": self.session_id} if "sessionId" in line else {}
                self._write(self.path, {**line, **renamed})
            if not line.get("isSidechain") and line.get("uuid"):
                self._last[None] = line["uuid"]

    def _line(
        self,
        kind: str,
        agent: SimulatedAgent | None,
        fields: Mapping[str, Any],
        message: Mapping[str, Any] | None = None,
    ) -> str:
        release = self._profile.release
        line = str(uuid.uuid4())
        with self._lock:
            key = agent.id if agent else None
            parent, self._last[key] = self._last.get(key), line
        record: dict[str, Any] = {"parentUuid": parent, "isSidechain": agent is not None}
        if agent is not None and release >= (2, 0, 0):
            record["agentId"] = agent.id
        record["type"] = kind
        if message is not None:
            record["message"] = message
        record |= {**fields, "uuid": line, "timestamp": now(), "userType": "external"}
        if release >= (2, 1, 78):
            record["entrypoint"] = self._entrypoint
        record |= {
            "cwd": str(self._cwd),
            "sessionId": self.session_id,
            "version": self._profile.version,
        }
        if release >= (1, 0, 100):
            record["gitBranch"] = ""
        self._write(self.agent_path(agent) if agent else self.path, record)
        return line

    def _has_final_usage(self, agent: SimulatedAgent | None, *, last: bool) -> bool:
        match self._profile.usage:
            case "final":
                return True
            case "sidechain":
                return agent is not None
            case "last":
                return last
        return False

    def _usage(self, usage: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the final usage with the fields that newer clients add."""
        filled = dict(usage or {})
        if self._profile.release >= (2, 1, 78):
            searches = {"web_search_requests": 0, "web_fetch_requests": 0}
            filled["server_tool_use"] = {**searches, **filled.get("server_tool_use", {})}
            filled |= {"iterations": filled.get("iterations", []), "speed": "standard"}
        if self._profile.release >= (2, 1, 274):
            filled.setdefault("output_tokens_details", {"thinking_tokens": 0})
        if self._profile.cost_state:
            filled["fallback_credit"] = None
        return filled

    def _write(self, path: Path, record: Mapping[str, Any]) -> None:
        if not self._persist:
            return
        with self._lock:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                file.write(json.dumps(record) + "\n")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
