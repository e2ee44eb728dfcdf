"""The writer thread: takes what the proxy saw, in order, and hands it to the desk.

The proxy's side only appends to memory. The queue is bounded in bytes: when the disk cannot keep
up, exchanges lose their bodies and say so; the client never waits.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from addon.record import RequestSeen, ResponseSeen

logger = logging.getLogger(__name__)

# The writer shares the interpreter with the event loop: it works in batches, and lets the loop
# send what has just arrived before it looks at it.
_BATCH_SECONDS = 0.02
_IDLE_SECONDS = 0.5
_OVERHEAD = 200  # bytes that a chunk takes besides its own


@dataclass(frozen=True, slots=True)
class Begun:
    request: RequestSeen


@dataclass(frozen=True, slots=True)
class Answered:
    flow_id: str
    response: ResponseSeen


class Chunk(NamedTuple):  # made for each event of each stream: no other kind is made so fast
    flow_id: str
    at: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Lost:
    flow_id: str


@dataclass(frozen=True, slots=True)
class Ended:
    flow_id: str
    at: float
    ended_by: str
    error: str | None


Job = Begun | Answered | Chunk | Lost | Ended


class Desk(Protocol):
    """Whoever files what the proxy saw: here, or at the other end of a pipe."""

    def begin(self, seen: RequestSeen) -> None: ...

    def answered(self, flow_id: str, response: ResponseSeen) -> None: ...

    def chunk(self, flow_id: str, at: float, data: bytes) -> None: ...

    def lost(self, flow_id: str) -> None: ...

    def end(self, flow_id: str, at: float, ended_by: str, error: str | None) -> None: ...

    def settle(self) -> None: ...

    def idle(self) -> None: ...

    def close(self) -> None: ...

    def failed(self, flow_id: str | None, error: Exception) -> None: ...


class Writer:
    """Owns the thread and the queue."""

    def __init__(self, desk: Desk, *, limit: int = 256 * 1024 * 1024) -> None:
        self._desk = desk
        self._limit = limit
        self._jobs: deque[Job] = deque()
        self._handed = 0  # bytes, counted by the loop's side only
        self._done = 0  # bytes, counted by the thread only
        self._lossy: set[str] = set()
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="ccwire-writer", daemon=True)
        self._thread.start()

    def put(self, job: Job) -> None:
        if isinstance(job, Begun):
            self._begin(job)
        else:
            self._jobs.append(job)
        if not self._wake.is_set():
            self._wake.set()

    def tee(self, flow_id: str) -> Callable[[bytes], bytes]:
        """The callable that a streamed answer goes through: returns each chunk as it came."""
        append = self._jobs.append
        wake = self._wake
        now = time.time

        def through(data: bytes) -> bytes:
            if data:
                size = len(data) + _OVERHEAD
                if self._handed - self._done + size > self._limit:
                    self._drop(flow_id)
                    return data
                self._handed += size
                append(Chunk(flow_id, now(), data))
                if not wake.is_set():
                    wake.set()
            return data

        return through

    def close(self, timeout: float = 15.0) -> None:
        """Writes what is queued, then ends the thread."""
        self._closing = True
        self._wake.set()
        self._thread.join(timeout)
        if self._thread.is_alive():
            logger.error("ccwire: the capture folder is too slow: the last exchanges are not whole")

    def _begin(self, job: Begun) -> None:
        size = len(job.request.body)
        waiting = self._handed - self._done
        if waiting and waiting + size > self._limit:
            self._jobs.append(Begun(replace(job.request, body=b"")))
            self._drop(job.request.flow_id)
            return
        self._handed += size
        self._jobs.append(job)

    def _drop(self, flow_id: str) -> None:
        if flow_id not in self._lossy:
            self._lossy.add(flow_id)
            self._jobs.append(Lost(flow_id))

    def _run(self) -> None:
        desk = self._desk
        while True:
            woken = self._wake.wait(_IDLE_SECONDS)
            if woken and not self._closing:
                time.sleep(_BATCH_SECONDS)
            self._wake.clear()
            closing = self._closing
            for _ in range(len(self._jobs)):  # what comes meanwhile is for the next batch
                self._one(self._jobs.popleft())
            safely(desk, desk.settle)
            if not woken:
                safely(desk, desk.idle)
            if closing and not self._jobs:
                safely(desk, desk.close)
                return

    def _one(self, job: Job) -> None:
        desk = self._desk
        if isinstance(job, Chunk):
            safely(desk, desk.chunk, job.flow_id, job)
            self._done += len(job.data) + _OVERHEAD
            return
        match job:
            case Begun(request):
                safely(desk, lambda: desk.begin(request), request.flow_id)
                self._done += len(request.body)
            case Answered(flow_id, response):
                safely(desk, lambda: desk.answered(flow_id, response), flow_id)
            case Ended(flow_id, at, ended_by, error):
                safely(desk, lambda: desk.end(flow_id, at, ended_by, error), flow_id)
                self._lossy.discard(flow_id)
            case Lost(flow_id):
                safely(desk, lambda: desk.lost(flow_id), flow_id)


def safely(
    desk: Desk, act: Callable[..., None], flow_id: str | None = None, given: Iterable[Any] = ()
) -> None:
    """Whatever goes wrong in capturing is recorded, and the next exchange is captured."""
    try:
        act(*given)
    except Exception as error:
        try:
            desk.failed(flow_id, error)
        except Exception:
            logger.exception("ccwire: a loss could not be recorded")
