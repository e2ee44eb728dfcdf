"""The ledger: a record of every call that the stand-in served, which tests compare results with.

ledger.calls()      every call, in order of arrival
ledger.messages()   the calls to /v1/messages
ledger.wait()       wait until no call is in progress
ledger.to_json()    every call as JSON values
"""

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ccwire.demo.stand_in.request import Request
from ccwire.wire.vocabulary import EndpointKind

HEADERS_OF_INTEREST = (
    "host",
    "user-agent",
    "x-app",
    "x-claude-code-session-id",
    "x-claude-code-agent-id",
    "x-claude-code-parent-agent-id",
    "x-claude-code-agent-type",
    "x-claude-code-request-class",
    "x-claude-code-prompt-id",
    "x-client-request-id",
    "x-stainless-retry-count",
    "anthropic-beta",
    "accept-encoding",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One call as it was answered.

    `ended`: complete, dropped (by the scenario), error_event, client_gone, failed (an HTTP error),
    or other_body (no message, although the status is 200). `usage` is what the API would bill, or
    None; if no message_delta was sent, the client received `start_usage` only. `events` counts the
    SSE events that were sent completely.
    """

    order: int
    attempt: int
    started: float
    ended_at: float
    method: str
    path: str
    kind: EndpointKind
    headers: Mapping[str, str]
    session_id: str | None
    agent_id: str | None
    body_sha256: str
    body_bytes: int
    model: str | None
    stream: bool
    messages: int
    tools: int
    status: int
    request_id: str
    message_id: str | None = None
    stop_reason: str | None = None
    start_usage: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] | None = None
    encoding: str | None = None
    events: int = 0
    event_bytes: tuple[bytes, ...] = ()
    ended: str = "complete"


@dataclass(slots=True)
class Sent:
    """What has been sent of one answer so far; becomes a `Served` at its end."""

    order: int
    attempt: int
    started: float
    request: Request
    request_id: str
    status: int = 200
    message_id: str | None = None
    stop_reason: str | None = None
    start_usage: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] | None = None
    encoding: str | None = None
    events: int = 0
    kept: list[bytes] | None = None
    ended: str = "client_gone"

    def event(self, data: bytes) -> None:
        self.events += 1
        if self.kept is not None:
            self.kept.append(data)

    def served(self, ended_at: float) -> Served:
        request = self.request
        return Served(
            order=self.order,
            attempt=self.attempt,
            started=self.started,
            ended_at=ended_at,
            method=request.method,
            path=request.path,
            kind=request.kind,
            headers={
                name: request.headers[name]
                for name in HEADERS_OF_INTEREST
                if name in request.headers
            },
            session_id=request.session_id,
            agent_id=request.headers.get("x-claude-code-agent-id"),
            body_sha256=request.body_sha256,
            body_bytes=request.body_bytes,
            model=request.model or None,
            stream=request.stream,
            messages=request.messages,
            tools=len(request.tools),
            status=self.status,
            request_id=self.request_id,
            message_id=self.message_id,
            stop_reason=self.stop_reason,
            start_usage=self.start_usage,
            usage=self.usage,
            encoding=self.encoding,
            events=self.events,
            event_bytes=tuple(self.kept or ()),
            ended=self.ended,
        )


class Ledger:
    """Written by the stand-in's thread, read from any other."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._served: list[Served] = []
        self._under_way = 0
        self._orders = 0
        self._attempts: dict[str, int] = {}

    def calls(self) -> list[Served]:
        with self._changed:
            return sorted(self._served, key=lambda served: served.order)

    def messages(self, session_id: str | None = None) -> list[Served]:
        """Return the calls to /v1/messages, or those of one session."""
        return [
            served
            for served in self.calls()
            if served.kind == "messages" and session_id in (None, served.session_id)
        ]

    def count_tokens(self) -> list[Served]:
        return [served for served in self.calls() if served.kind == "count_tokens"]

    def sessions(self) -> list[str]:
        """Return the session ids seen in requests, in order of their first call."""
        return list(dict.fromkeys(s.session_id for s in self.calls() if s.session_id))

    def wait(self, timeout: float = 5.0) -> bool:
        """Wait until no call is in progress; return False after `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._under_way == 0, timeout)

    def to_json(self) -> list[dict[str, Any]]:
        rows = [asdict(served) for served in self.calls()]
        for row in rows:
            row["event_bytes"] = [data.decode("utf-8", "replace") for data in row["event_bytes"]]
        return rows

    def dump(self) -> str:
        return json.dumps(self.to_json(), indent=1)

    def open(self, request: Request) -> tuple[int, int]:
        """Register a call; return its order, from 1, and its attempt, from 0."""
        with self._changed:
            self._under_way += 1
            self._orders += 1
            key = request.same_call()
            attempt = self._attempts.get(key, 0)
            self._attempts[key] = attempt + 1
            return self._orders, attempt

    def close(self, served: Served) -> None:
        with self._changed:
            self._served.append(served)
            self._under_way -= 1
            self._changed.notify_all()
