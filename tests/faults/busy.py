"""A busy capture without a proxy: feeds generated exchanges to the writer until it is killed.

The content of an exchange depends on its flow id alone, so that a test knows what to expect.
"""

import json
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import addon.storage.packing.rolling
from addon.hooks.sessions import SessionsMap
from addon.identity.lookup import SessionLookup
from addon.identity.processes import ClientProcess
from addon.recording.jobs import Answered, Begun, Chunk, Ended, Job, RequestSeen, ResponseSeen
from addon.recording.queue import JobQueue
from addon.recording.recorder import Recorder
from addon.recording.recovery import recover
from addon.redaction.redactor import Redactor
from addon.storage.folder import CaptureStore

SESSIONS = tuple(f"{n:08d}-1111-4000-8000-000000000000" for n in range(3))
AT_ONCE = 6  # exchanges in flight at any moment


def process_of(connection_id: str) -> ClientProcess | None:
    """Return the process of a connection: the connection id is its pid."""
    pid = int(connection_id) if connection_id else 0
    return ClientProcess(pid, 1_700_000_000.0) if pid else None


class BusyRecorder(Recorder):
    """A recorder that waits for `started` and counts ended exchanges."""

    def __init__(self, captures: Path, keep_open: int | None = None) -> None:
        self.started = threading.Event()
        sessions = SessionsMap(captures.with_name("no-sessions.json"))
        lookup = SessionLookup(sessions, captures.with_name("no-claude"))
        super().__init__(CaptureStore(captures), Redactor(b"k" * 32), lookup, keep_open)
        self.ended = 0

    def handle(self, job: Job) -> None:
        self.started.wait()
        try:
            super().handle(job)
        finally:
            self.ended += isinstance(job, Ended)


def request(flow_id: str, session: str | None, *, process: int = 0, size: int = 200) -> RequestSeen:
    body = {
        "model": "claude-sonnet-4-5",
        "stream": True,
        "messages": [{"role": "user", "content": f"asks {flow_id} " + "x" * size}],
    }
    named = [("x-claude-code-session-id", session)] if session else []
    now = time.time()
    return RequestSeen(
        flow_id=flow_id,
        started=now,
        ended=now,
        method="POST",
        scheme="https",
        host="api.anthropic.com",
        port=443,
        target="/v1/messages?beta=true",
        http_version="HTTP/1.1",
        headers=[("content-type", "application/json"), *named],
        body=json.dumps(body).encode(),
        client_address=("127.0.0.1", 50000),
        connection_id=str(process or ""),
    )


def response() -> ResponseSeen:
    return ResponseSeen(
        at=time.time(),
        status=200,
        reason="OK",
        http_version="HTTP/1.1",
        headers=[("content-type", "text/event-stream"), ("request-id", "req_busy")],
    )


def text_of(flow_id: str) -> str:
    return f"answers {flow_id}"


def events(flow_id: str) -> list[bytes]:
    """Return the events of a response that streams `text_of(flow_id)` word by word."""
    usage = {"input_tokens": 7, "output_tokens": 2}
    start = {"id": f"msg_{flow_id}", "role": "assistant", "content": [], "usage": usage}
    block = {"index": 0, "content_block": {"type": "text", "text": ""}}
    words = text_of(flow_id).partition(" ")
    pieces = [{"index": 0, "delta": {"type": "text_delta", "text": word}} for word in words]
    end = {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 41}}
    return [
        _event("message_start", {"message": start}),
        _event("content_block_start", block),
        *(_event("content_block_delta", piece) for piece in pieces),
        _event("content_block_stop", {"index": 0}),
        _event("message_delta", end),
        _event("message_stop", {}),
    ]


def jobs(flow_id: str, session: str | None, *, process: int = 0, size: int = 200) -> list[Job]:
    """Return the jobs that a proxy sends for one exchange, in order."""
    now = time.time()
    return [
        Begun(request(flow_id, session, process=process, size=size)),
        Answered(flow_id, response()),
        *(Chunk(flow_id, now, event) for event in events(flow_id)),
        Ended(flow_id, time.time(), "http_end", None),
    ]


def run_packing(captures: str) -> None:
    """Capture until killed, as `run` does, and pack every exchange but the newest at once."""
    addon.storage.packing.rolling._MOST_WAITING = 0
    run(captures, keep_open=1)


def run(captures: str, keep_open: int | None = None) -> None:
    """Recover, then capture until killed; some exchanges are moved out of `unknown`."""
    store = CaptureStore(Path(captures))
    store.prepare()
    recover(store)
    recorder = BusyRecorder(Path(captures), keep_open)
    recorder.started.set()
    writer = JobQueue(recorder, process_of)
    under_way = [_endless(n) for n in range(AT_ONCE)]
    while True:
        for stream in under_way:
            writer.put(next(stream))
        time.sleep(0.001)


def _endless(number: int) -> Iterator[Job]:
    """Simulate one client: each session in turn, whose first requests carry no session id."""
    while True:
        process, session = 100_000 + uuid.uuid4().int % 100_000, SESSIONS[number % len(SESSIONS)]
        for name in (None, session, session):
            yield from jobs(uuid.uuid4().hex, name, process=process)


def _event(name: str, fields: dict[str, Any]) -> bytes:
    data = json.dumps({"type": name, **fields}, separators=(",", ":"))
    return f"event: {name}\ndata: {data}\n\n".encode()
