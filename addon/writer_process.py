"""The writer in a process of its own: what it parses and writes takes no time from the proxy.

The proxy's side (`RemoteDesk`) stands where the filing desk does and sends what it is told over a
pipe, a batch at a time. The pipe holds it up when the disk is slow. When the proxy is killed, the
pipe ends and the process finishes its files.
"""

import contextlib
import errno
import logging
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

from addon.desk import Places, desk, prepare
from addon.processes import ClientProcess, ProcessResolver
from addon.record import RequestSeen, ResponseSeen
from addon.writer import safely

logger = logging.getLogger("ccwire")

Told = tuple[Any, ...]  # the desk's method, and what it is given

_ROOT = Path(__file__).resolve().parent.parent
_PROGRAM = """\
import sys
sys.path.insert(0, sys.argv[1])
from addon.writer_process import main
main(sys.argv[2:])
"""
_SIZE = struct.Struct("!Q")
_BATCH_BYTES = 1 << 20
_IDLE_SECONDS = 0.5
_SETTLE_SECONDS = 0.1  # books are written no more often: a burst of calls shares them
_CLOSING_SECONDS = 14.0
_RESTART_SECONDS = 1.0


class RemoteDesk:
    """Stands for the desk in the proxy's process; called by the writer thread only."""

    def __init__(self, places: Places, resolver: ProcessResolver) -> None:
        self._places = places
        self._resolver = resolver
        self._batch: list[Told] = []
        self._size = 0
        self._start()

    def begin(self, seen: RequestSeen) -> None:
        self._tell(len(seen.body), "begin", seen, self._resolver.process(seen.connection_id))

    def answered(self, flow_id: str, response: ResponseSeen) -> None:
        self._tell(0, "answered", flow_id, response)

    def chunk(self, flow_id: str, at: float, data: bytes) -> None:
        self._tell(len(data), "chunk", flow_id, at, data)

    def lost(self, flow_id: str) -> None:
        self._tell(0, "lost", flow_id)

    def end(self, flow_id: str, at: float, ended_by: str, error: str | None) -> None:
        self._tell(0, "end", flow_id, at, ended_by, error)

    def failed(self, flow_id: str | None, error: Exception) -> None:
        if not isinstance(error, OSError):  # which may hold what passes through no pipe
            error = RuntimeError(type(error).__name__)
        self._tell(0, "failed", flow_id, error)

    def settle(self) -> None:
        if self._batch:
            self._send()

    def idle(self) -> None:
        """The other side knows by itself when it has nothing to do."""

    def close(self) -> None:
        self.settle()
        with contextlib.suppress(OSError):
            self._pipe.close()
        try:
            self._process.wait(_CLOSING_SECONDS)
        except subprocess.TimeoutExpired:
            return  # it goes on by itself, and ends when all is written
        self._listener.join(1)

    def _start(self) -> None:
        """Raises OSError where no process can be started."""
        self._started = time.monotonic()
        command = [sys.executable, "-c", _PROGRAM, str(_ROOT), *map(str, self._places)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is for the proxy: this ends after it
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._pipe = self._process.stdin
        self._listener = threading.Thread(
            target=_repeat_what_it_says, args=(self._process.stdout,), daemon=True
        )
        self._listener.start()

    def _tell(self, size: int, *what: Any) -> None:
        self._batch.append(what)
        self._size += size
        if self._size > _BATCH_BYTES:
            self._send()

    def _send(self) -> None:
        batch, self._batch, self._size = self._batch, [], 0
        try:
            _write(self._pipe, pickle.dumps(batch, 5))
        except OSError:
            self._start_again()

    def _start_again(self) -> None:
        """Somebody ended it: what it had in flight is found by its parts, the batch is lost."""
        with contextlib.suppress(OSError):
            self._pipe.close()
        if time.monotonic() - self._started < _RESTART_SECONDS:
            return  # one that cannot live is not started over and over
        self._process.wait()
        prepare(self._places)
        self._start()
        self.failed("", OSError(errno.ECHILD, "the writing process was ended"))


def main(places: list[str]) -> None:
    """The process: takes batches until the pipe ends, then finishes what is open."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # the proxy's to hear
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    saying = _Saying(sys.stdout.buffer)
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[saying])
    processes = _Processes()
    filing = desk(Places(*map(Path, places)), processes)
    batches: queue.Queue[list[Told] | None] = queue.Queue(1)
    threading.Thread(target=_read_batches, args=(sys.stdin.buffer, batches), daemon=True).start()
    settled, is_due = time.monotonic(), False
    while True:
        is_idle = False
        try:
            batch = batches.get(timeout=_SETTLE_SECONDS if is_due else _IDLE_SECONDS)
        except queue.Empty:
            batch, is_idle = [], not is_due
        if batch is None:
            break
        for name, *given in batch:
            if name == "begin":
                processes.are(given[0], given.pop())
            safely(filing, getattr(filing, name), _flow_id(given[0]), given)
        is_due = time.monotonic() - settled < _SETTLE_SECONDS
        if is_due:
            safely(filing, filing.note)
        else:
            safely(filing, filing.settle)
            saying.flush()
            settled = time.monotonic()
        if is_idle:
            safely(filing, filing.idle)
            saying.flush()
    safely(filing, filing.close)
    saying.flush()


class _Processes:
    """What the proxy found out about each request's process, until it is asked."""

    def __init__(self) -> None:
        self._found: dict[str, ClientProcess | None] = {}

    def are(self, seen: RequestSeen, process: ClientProcess | None) -> None:
        self._found = {seen.connection_id: process}

    def process(self, connection_id: str) -> ClientProcess | None:
        return self._found.get(connection_id)


class _Saying(logging.Handler):
    """Sends what is logged back to the proxy, which says it in its own log."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self._stream = stream
        self._unsaid: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._unsaid.append((record.levelno, self.format(record)))

    def flush(self) -> None:
        if self._unsaid:
            with contextlib.suppress(OSError):  # the proxy is gone
                _write(self._stream, pickle.dumps(self._unsaid, 5))
            self._unsaid.clear()


def _repeat_what_it_says(stream: IO[bytes]) -> None:
    with stream:
        while (said := _read(stream)) is not None:
            for level, text in said:
                logger.log(level, text)


def _read_batches(stream: IO[bytes], batches: "queue.Queue[list[Told] | None]") -> None:
    while (batch := _read(stream)) is not None:
        batches.put(batch)
    batches.put(None)


def _write(stream: IO[bytes], data: bytes) -> None:
    left = memoryview(_SIZE.pack(len(data)) + data)
    while left:
        left = left[stream.write(left) :]
    stream.flush()


def _read(stream: IO[bytes]) -> Any:
    """The next thing; None at the end, also one in the middle of it."""
    head = _exactly(stream, _SIZE.size)
    data = _exactly(stream, _SIZE.unpack(head)[0]) if head else None
    return pickle.loads(data) if data else None


def _exactly(stream: IO[bytes], size: int) -> bytes | None:
    pieces = []
    while size:
        piece = stream.read(size)
        if not piece:
            return None
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _flow_id(first: object) -> str | None:
    return first.flow_id if isinstance(first, RequestSeen) else str(first)
