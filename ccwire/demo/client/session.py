"""One session of the simulated client: calls with retries, hooks, and the live record."""

import json
import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ccwire.demo.client.calls import headers, message_body
from ccwire.demo.client.connection import ApiConnection, Reply
from ccwire.demo.client.cost import Spent
from ccwire.demo.client.hooks import run_hooks
from ccwire.demo.client.profiles import Profile
from ccwire.demo.client.transcript import SimulatedAgent, TranscriptWriter, now

MESSAGES = "/v1/messages?beta=true"
COUNT_TOKENS = "/v1/messages/count_tokens?beta=true"
_MOST_TRIES = 10
_FIRST_WAIT_MS = 500
_RETRIED = (408, 409, 429)


class SimulatedSession:
    """The state that the conversations of a session share."""

    def __init__(
        self,
        profile: Profile,
        wire: ApiConnection,
        transcript: TranscriptWriter,
        *,
        config_dir: Path,
        cwd: Path,
        env: Mapping[str, str],
        settings: list[dict[str, Any]],
        entrypoint: str,
        spent: Spent,
        patience: float,
    ) -> None:
        """`patience` scales the delay between retries; 1 is the real client's delay."""
        self.profile = profile
        self.wire = wire
        self.transcript = transcript
        self.cwd = cwd
        self.entrypoint = entrypoint
        self.spent = spent
        self._settings = settings
        self._env = env
        self._patience = patience
        self._live = config_dir / "sessions" / f"{os.getpid()}.json"
        self._started = int(time.time() * 1000)

    @property
    def id(self) -> str:
        return self.transcript.session_id

    @property
    def tool_env(self) -> dict[str, str]:
        return {**self._env, "CLAUDECODE": "1"}

    def call(
        self,
        messages: list[dict[str, Any]],
        *,
        agent: SimulatedAgent | None = None,
        request_class: str = "main",
        interrupt_after: int | None = None,
    ) -> tuple[Reply, str | None]:
        """Make a call, with retries; return the last reply and its api-request record's id."""
        stream = True
        for attempt in range(1, _MOST_TRIES + 1):
            reference = self._request_record(agent)
            reply = self.wire.send(
                MESSAGES,
                body=message_body(self.profile, self.id, messages, agent=agent, stream=stream),
                headers=self._headers(request_class, agent),
                interrupt_after=interrupt_after,
            )
            failure = _failure(reply)
            if reply.complete:
                self.spent.add(self.profile.model, reply.usage)
            if failure is None:
                return reply, reference
            wait_ms = _FIRST_WAIT_MS * 2 ** (attempt - 1)
            if failure != "event" and self.profile.api_error_lines:
                self._api_error(reply, agent, attempt, wait_ms)
            stream = stream and failure in self.profile.streamed_retry
            time.sleep(wait_ms / 1000 * self._patience)
        return reply, reference

    def side_call(self, text: str) -> None:
        """Make an auxiliary call with the small model; it is not written to the transcript."""
        reply = self.wire.send(
            MESSAGES,
            body=message_body(
                self.profile, self.id, [{"role": "user", "content": text}], small=True
            ),
            headers=self._headers("auxiliary", None),
        )
        if reply.complete:
            self.spent.add(self.profile.small_model, reply.usage)

    def hook(self, event: str, **fields: Any) -> None:
        """Run the hooks for an event, if this release supports it."""
        if event not in self.profile.hooks:
            return
        payload: dict[str, Any] = {
            "session_id": self.id,
            "transcript_path": str(self.transcript.path),
            "cwd": str(self.cwd),
        }
        if self.profile.class_header and event != "SessionStart":
            payload["prompt_id"] = self.transcript.prompt_id
        if event not in ("SessionStart", "SessionEnd"):
            payload["permission_mode"] = "default"
        payload |= {"hook_event_name": event, **fields}
        run_hooks(self._settings, payload, cwd=self.cwd, env=self._hook_env())

    def write_live_record(self) -> None:
        if not self.profile.live_record:
            return
        record: dict[str, Any] = {
            "pid": os.getpid(),
            "sessionId": self.id,
            "cwd": str(self.cwd),
            "startedAt": self._started,
        }
        if self.profile.release >= (2, 1, 139):
            record |= {"procStart": _process_start(), "version": self.profile.version}
        record |= {"kind": "interactive", "entrypoint": self.entrypoint}
        if self.profile.class_header:
            record |= {"status": "idle", "updatedAt": int(time.time() * 1000)}
        self._live.parent.mkdir(parents=True, exist_ok=True)
        self._live.write_text(json.dumps(record))

    def remove_live_record(self) -> None:
        self._live.unlink(missing_ok=True)

    def _headers(self, request_class: str, agent: SimulatedAgent | None) -> dict[str, str]:
        return headers(
            self.profile,
            self.id,
            entrypoint=self.entrypoint,
            request_class=request_class,
            prompt_id=self.transcript.prompt_id,
            agent=agent,
        )

    def _hook_env(self) -> dict[str, str]:
        env = {
            **self._env,
            "CLAUDE_PROJECT_DIR": str(self.cwd),
            "CLAUDE_CODE_ENTRYPOINT": self.entrypoint,
        }
        if self.profile.release >= (2, 1, 168):
            env["CLAUDE_CODE_SESSION_ID"] = self.id
        if self.profile.release >= (2, 1, 274):
            env["CLAUDE_PID"] = str(os.getpid())
        return env

    def _request_record(self, agent: SimulatedAgent | None) -> str | None:
        if not self.profile.cost_state:
            return None
        reference = str(uuid.uuid4())
        named = {"agentId": agent.id} if agent else {}
        self.transcript.record(
            "api-request",
            agent,
            **named,
            id=reference,
            timestamp=now(),
            version=self.profile.version,
            querySource="lab",
            params={"model": self.profile.model},
        )
        return reference

    def _api_error(
        self, reply: Reply, agent: SimulatedAgent | None, attempt: int, wait_ms: int
    ) -> None:
        error = {
            "message": f"{reply.status} the lab's API has failed",
            "status": reply.status,
            "requestId": reply.request_id,
        }
        self.transcript.system(
            "api_error",
            agent,
            level="error",
            error=error,
            retryInMs=wait_ms,
            retryAttempt=attempt,
            maxRetries=_MOST_TRIES,
        )


def _failure(reply: Reply) -> str | None:
    """Return why a call must be retried: "status", "drop" or "event"; None if it succeeded."""
    if reply.interrupted:
        return None
    if reply.lost:
        return "drop"
    if reply.status is not None and (reply.status >= 500 or reply.status in _RETRIED):
        return "status"
    return "event" if reply.status == 200 and reply.error is not None else None


def _process_start() -> str:
    """Return this process's start time in clock ticks since boot; "0" if not on Linux."""
    stat = Path("/proc/self/stat")
    return stat.read_text().rpartition(")")[2].split()[19] if stat.exists() else "0"
