"""The queue between the proxy and the disk: a bounded buffer and the thread that drains it.

The proxy's event loop only appends to memory. A thread takes jobs out in batches, adds the client's
process to each request, and passes the jobs to a sink in order. The queue is bounded in bytes
(`LIMIT`): when the disk cannot keep up, bodies are dropped and the loss is recorded; the client
never waits.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from addon.identity.processes import ClientProcess
from addon.recording.jobs import (
    CROWDED,
    LIMIT,
    Begun,
    Chunk,
    Ended,
    Job,
    Lost,
    Sink,
    handle_safely,
    safely,
)

logger = logging.getLogger("ccwire")

# The thread shares the interpreter lock with the event loop: it works in batches, and first lets
# the loop forward what has just arrived.
_BATCH_SECONDS = 0.02
_IDLE_SECONDS = 0.5
_OVERHEAD = 200  # estimated bytes per chunk, without its data

ProcessOf = Callable[[str], ClientProcess | None]  # takes a connection id; may block


def _unknown_process(connection_id: str) -> None:
    return None


class JobQueue:
    """Owns the queue and its thread."""

    def __init__(
        self, sink: Sink, process_of: ProcessOf = _unknown_process, *, limit: int = LIMIT
    ) -> None:
        self._sink = sink
        self._process_of = process_of
        self._limit = limit
        self._jobs: deque[Job] = deque()
        self._queued = 0  # bytes; written by the event loop only
        self._done = 0  # bytes; written by the thread only
        self._lossy: set[str] = set()
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="ccwire-queue", daemon=True)
        self._thread.start()

    @property
    def read(self) -> int:
        """The bytes that the recorder has handled."""
        return self._done

    @property
    def unread(self) -> int:
        """The bytes that wait for the recorder."""
        return self._queued - self._done

    def put(self, job: Job) -> None:
        if isinstance(job, Begun):
            self._begin(job)
        else:
            self._jobs.append(job)
        if not self._wake.is_set():
            self._wake.set()

    def tee(
        self, flow_id: str, crowded: Callable[[], None] | None = None
    ) -> Callable[[bytes], bytes]:
        """Return a callable that queues a copy of each chunk and returns it unchanged."""
        append = self._jobs.append
        wake = self._wake
        now = time.time

        def through(data: bytes) -> bytes:
            if data:
                size = len(data) + _OVERHEAD
                if self._queued - self._done + size > self._limit:
                    self._drop(flow_id)
                    return data
                self._queued += size
                append(Chunk(flow_id, now(), data))
                if not wake.is_set():
                    wake.set()
                if crowded is not None and self._queued - self._done > CROWDED:
                    crowded()
            return data

        return through

    def close(self, timeout: float = 15.0) -> None:
        """Handle everything that is queued, then stop the thread."""
        self._closing = True
        self._wake.set()
        self._thread.join(timeout)
        if self._thread.is_alive():
            logger.error(
                "ccwire: the capture folder is too slow; the last exchanges are incomplete"
            )

    def _begin(self, job: Begun) -> None:
        size = len(job.request.body)
        waiting = self._queued - self._done
        if waiting and waiting + size > self._limit:
            self._jobs.append(Begun(replace(job.request, body=b"")))
            self._drop(job.flow_id)
            return
        self._queued += size
        self._jobs.append(job)

    def _drop(self, flow_id: str) -> None:
        if flow_id not in self._lossy:
            self._lossy.add(flow_id)
            self._jobs.append(Lost(flow_id))

    def _run(self) -> None:
        sink = self._sink
        while True:
            woken = self._wake.wait(_IDLE_SECONDS)
            if woken and not self._closing:
                time.sleep(_BATCH_SECONDS)
            self._wake.clear()
            closing = self._closing
            for _ in range(len(self._jobs)):  # jobs that arrive meanwhile belong to the next batch
                self._handle(self._jobs.popleft())
            safely(sink, sink.settle)
            if not woken:
                safely(sink, sink.idle)
            if closing and not self._jobs:
                safely(sink, sink.close)
                return

    def _handle(self, job: Job) -> None:
        if isinstance(job, Chunk):  # by far the most frequent
            handle_safely(self._sink, job)
            self._done += len(job.data) + _OVERHEAD
        elif isinstance(job, Begun):
            handle_safely(self._sink, Begun(job.request, self._process(job)))
            self._done += len(job.request.body)
        else:
            handle_safely(self._sink, job)
            if isinstance(job, Ended):
                self._lossy.discard(job.flow_id)

    def _process(self, job: Begun) -> ClientProcess | None:
        try:
            return self._process_of(job.request.connection_id)
        except Exception as error:  # the exchange is recorded without its process
            logger.warning(f"ccwire: could not look up a client process ({type(error).__name__})")
            return None
