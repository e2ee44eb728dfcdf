"""A recorder on an empty folder, and the jobs that a proxy would send to it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from addon.hooks.sessions import SessionsMap
from addon.identity.lookup import SessionLookup
from addon.identity.processes import ClientProcess
from addon.recording.jobs import Answered, Begun, Chunk, Ended, RequestSeen, ResponseSeen
from addon.recording.recorder import Recorder
from addon.redaction.redactor import Redactor
from addon.storage.folder import CaptureStore
from ccwire.wire.json_text import parse_json
from ccwire.wire.vocabulary import EndedBy

START = b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","usage":{"output_tokens":2}}}\n\n'  # noqa: E501
STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
STREAM = [("content-type", "text/event-stream"), ("request-id", "req_1")]


class RecorderRig:
    """A recorder whose exchanges all come from one process, which may be in sessions.json."""

    def __init__(
        self, root: Path, process: ClientProcess | None = None, run: str | None = None
    ) -> None:
        self.root = root
        self.store = CaptureStore(root / "captures")
        self._map = root / "sessions.json"
        self.process = process
        self.lookup = SessionLookup(SessionsMap(self._map), root / "claude", run)
        self.recorder = Recorder(self.store, Redactor(b"key"), self.lookup)

    def folder(self, session: str | None) -> Path:
        return self.store.root / (session or "unknown")

    def hooked(self, session: str, process: ClientProcess) -> None:
        """Record the session of the process in sessions.json, as the client's hook does."""
        metadata = {"claude_pid": process.pid, "process_created_at": process.created}
        entry = {
            "session_id": session,
            "state": "active",
            "project_dir": "/p",
            "transcript_path": "/t.jsonl",
            "metadata": metadata,
        }
        self._map.write_text(json.dumps({"version": 1, "sessions": [entry]}))

    def begin(self, flow: str, session: str | None = None, **changes: Any) -> None:
        headers = [("x-claude-code-session-id", session)] if session else []
        fields: dict[str, Any] = {
            "flow_id": flow,
            "started": 1000.0,
            "ended": 1000.5,
            "method": "POST",
            "scheme": "https",
            "host": "api.anthropic.com",
            "port": 443,
            "target": "/v1/messages",
            "http_version": "HTTP/1.1",
            "headers": headers,
            "body": b'{"model":"m","stream":true}',
            "client_address": ("127.0.0.1", 5000),
            "connection_id": "c",
        }
        self.recorder.handle(Begun(RequestSeen(**{**fields, **changes}), self.process))

    def answer(self, flow: str, *chunks: bytes, **changes: Any) -> None:
        fields: dict[str, Any] = {
            "at": 1001.0,
            "status": 200,
            "reason": "OK",
            "http_version": "HTTP/1.1",
            "headers": STREAM,
        }
        self.recorder.handle(Answered(flow, ResponseSeen(**{**fields, **changes})))
        for number, chunk in enumerate(chunks):
            self.recorder.handle(Chunk(flow, 1001.0 + number, chunk))

    def end(
        self,
        flow: str,
        ended_by: EndedBy = "http_end",
        error: str | None = None,
        at: float = 1010.0,
    ) -> None:
        self.recorder.handle(Ended(flow, at, ended_by, error))

    def whole(
        self, flow: str, session: str | None = None, at: float = 1010.0, **changes: Any
    ) -> None:
        """Record a complete exchange and settle."""
        self.begin(flow, session, **changes)
        self.answer(flow, START, STOP)
        self.end(flow, at=at)
        self.recorder.settle()

    def lines(self, session: str | None) -> list[dict[str, Any]]:
        path = self.folder(session) / "exchanges.jsonl"
        return (
            [parse_json(line) for line in path.read_bytes().splitlines()] if path.exists() else []
        )

    def manifest(self, session: str | None) -> dict[str, Any]:
        value: dict[str, Any] = parse_json((self.folder(session) / "manifest.json").read_bytes())
        return value

    def names(self, session: str | None) -> list[str]:
        """Return the file names of a session, without the locks."""
        folder = self.folder(session)
        found = folder.iterdir() if folder.exists() else []
        return sorted(path.name for path in found if path.name not in (".lock", ".recorders"))

    def file(self, session: str | None, name: str) -> dict[str, Any]:
        value: dict[str, Any] = parse_json((self.folder(session) / name).read_bytes())
        return value


@contextmanager
def open_rig(
    root: Path, process: ClientProcess | None = None, run: str | None = None
) -> Iterator[RecorderRig]:
    yield RecorderRig(root, process, run)
