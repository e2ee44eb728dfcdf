"""The writer in a process of its own: what it parses and writes takes no time from the proxy.

The proxy's side (`RemoteDesk`) stands where the filing desk does and sends what it is told over a
pipe, a batch at a time. The pipe holds it up when the disk is slow. When the proxy is killed, the
pipe ends and the process finishes its files.
"""

import contextlib
import errno
import logging
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any, NoReturn

from addon.desk import Places, desk, prepare
from addon.filing import Filing
from addon.processes import ClientProcess, ProcessResolver
from addon.record import RequestSeen, ResponseSeen
from addon.store import write_all
from addon.writer import safely

logger = logging.getLogger("ccwire")

Told = tuple[Any, ...]  # the desk's method, and what it is given
Batches = queue.Queue[list[Told] | Exception | None]

_ROOT = str(Path(__file__).resolve().parent.parent)
_PROGRAM = """\
import sys
sys.path[:0] = sys.argv[5:]
from addon.writer_process import main
main(int(sys.argv[1]), sys.argv[2:5])
"""
_SIZE = struct.Struct("!Q")
_BATCH_BYTES = 1 << 20
_OVERHEAD = 200  # bytes that a thing told takes besides its data
_IDLE_SECONDS = 0.5
_SETTLE_SECONDS = 0.1  # books are written no more often: a burst of calls shares them
_CLOSING_SECONDS = 14.0
_RESTART_SECONDS = 1.0
_HELLO_SECONDS = 15.0


def is_possible() -> bool:
    """Whether there is a Python to start, and a way to hear from it."""
    return os.name == "posix" and bool(sys.executable) and not getattr(sys, "frozen", False)


class RemoteDesk:
    """Stands for the desk in the proxy's process; called by the writer thread only."""

    def __init__(self, places: Places, resolver: ProcessResolver) -> None:
        self._places = places
        self._resolver = resolver
        self._batch: list[Told] = []
        self._size = 0
        self._here: Filing | None = None  # a desk in this process, where no other one lives
        self._start()

    def begin(self, seen: RequestSeen) -> None:
        if self._here is not None:
            self._here.begin(seen)
        else:
            process = self._resolver.process(seen.connection_id)
            self._tell(len(seen.body), "begin", seen, process)

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
        if self._here is not None:
            self._here.settle()

    def idle(self) -> None:
        """Another process knows by itself when it has nothing to do."""
        if self._here is not None:
            self._here.idle()

    def close(self) -> None:
        self.settle()
        if self._here is not None:
            self._here.close()
            return
        with contextlib.suppress(OSError):
            self._pipe.close()
        try:
            code = self._process.wait(_CLOSING_SECONDS)
        except subprocess.TimeoutExpired:  # it goes on by itself, and ends when all is written
            logger.warning("ccwire: the capture folder is slow: the last files are still written")
            return
        self._listener.join(1)
        if code:
            logger.warning(f"ccwire: the writing process ended with {code} before all was written")
            prepare(self._places)

    def _start(self) -> None:
        """Raises OSError where no process can be started."""
        self._started = time.monotonic()
        hearing, saying = os.pipe()
        # Our own search path and never the current folder, whose modules are somebody else's.
        path = [_ROOT, *(entry for entry in sys.path if entry)]
        command = [sys.executable, "-P", "-c", _PROGRAM, str(saying), *map(str, self._places)]
        try:
            self._process = subprocess.Popen(
                [*command, *path],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                bufsize=0,
                pass_fds=(saying,),
                start_new_session=True,  # Ctrl-C is for the proxy: this ends after it
            )
        except OSError:
            os.close(hearing)
            raise
        finally:
            os.close(saying)
        assert self._process.stdin is not None
        self._pipe = self._process.stdin
        self._listener = _Listener(os.fdopen(hearing, "rb", buffering=0))
        self._listener.start()

    def _tell(self, size: int, name: str, *given: Any) -> None:
        if self._here is not None:
            getattr(self._here, name)(*given)
            return
        self._batch.append((name, *given))
        self._size += size + _OVERHEAD
        if self._size > _BATCH_BYTES:
            self._send()

    def _send(self) -> None:
        batch, self._batch, self._size = self._batch, [], 0
        try:
            if self._pipe.closed:
                raise BrokenPipeError
            if not self._listener.hears():
                self._write_here(batch)
                return
            _write(self._pipe, pickle.dumps(batch, 5))
        except OSError:
            self._start_again()
        except Exception as error:  # no memory: who had something in this batch is not whole
            for flow_id in dict.fromkeys(_flow_id(given[0]) for _, *given in batch):
                self._batch.append(("lost", flow_id))
            self.failed("", error)

    def _start_again(self) -> None:
        """Somebody ended it: what it had in flight is found by its parts, the batch is lost."""
        if not self._pipe.closed:
            with contextlib.suppress(OSError):
                self._pipe.close()
            code = self._process.wait()
            logger.warning(f"ccwire: the writing process ended with {code} and is started again")
        if time.monotonic() - self._started < _RESTART_SECONDS:
            return  # not over and over: what comes meanwhile is lost, and told as lost
        prepare(self._places)
        try:
            self._start()
        except OSError:
            self._write_here([])
        self.failed("", ChildProcessError(errno.ECHILD, "the writing process was ended"))

    def _write_here(self, batch: list[Told]) -> None:
        """No other process can be had: this one does it, and nothing is lost by that."""
        logger.warning("ccwire: no process to write in could be started: the proxy's own does it")
        with contextlib.suppress(OSError):
            self._pipe.close()
        self._here = desk(self._places, self._resolver)
        for name, *given in batch:
            told = given[:1] if name == "begin" else given
            safely(self._here, getattr(self._here, name), _flow_id(given[0]), told)


def main(said: int, places: list[str]) -> None:
    """The process: takes batches until the pipe ends, then finishes what is open."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # the proxy's to hear
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    saying = _Saying(os.fdopen(said, "wb", buffering=0))
    saying.say()  # that it lives
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[saying])
    processes = _Processes()
    filing = desk(Places(*map(Path, places)), processes)
    batches: Batches = queue.Queue(1)
    threading.Thread(target=_read_batches, args=(sys.stdin.buffer, batches), daemon=True).start()
    settled, is_due = time.monotonic(), False
    while True:
        is_idle = False
        try:
            batch = batches.get(timeout=_SETTLE_SECONDS if is_due else _IDLE_SECONDS)
        except queue.Empty:
            batch, is_idle = [], not is_due
        if not isinstance(batch, list):
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
    if batch is not None:
        filing.failed("", batch)
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
            self.say()
            self._unsaid.clear()

    def say(self) -> None:
        with contextlib.suppress(OSError):  # the proxy is gone
            _write(self._stream, pickle.dumps(self._unsaid, 5))


class _Listener(threading.Thread):
    """Says in the proxy's log what the process says; what comes first means that it lives."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(name="ccwire-listener", daemon=True)
        self._stream = stream
        self._is_there = False
        self._is_known = threading.Event()

    def hears(self) -> bool:
        """Whether the process has come to life; waits until that is known."""
        self._is_known.wait(_HELLO_SECONDS)
        return self._is_there

    def run(self) -> None:
        try:
            with self._stream, contextlib.suppress(EOFError):  # killed while it spoke
                while (said := _read(self._stream)) is not None:
                    self._is_there = True
                    self._is_known.set()
                    for level, text in said:
                        logger.log(level, text)
        finally:
            self._is_known.set()


def _read_batches(stream: IO[bytes], batches: Batches) -> None:
    """Ends with None, or with what went wrong: the process must never wait for more then."""
    try:
        while (batch := _read(stream)) is not None:
            batches.put(batch)
    except EOFError:
        batches.put(OSError(errno.EPIPE, "the proxy was killed while it told of an exchange"))
    except Exception as error:
        batches.put(RuntimeError(type(error).__name__))
    else:
        batches.put(None)


def _write(stream: IO[bytes], data: bytes) -> None:
    for part in (_SIZE.pack(len(data)), data):
        write_all(stream, part)


def _read(stream: IO[bytes]) -> Any:
    """The next thing; None at the end. Raises EOFError where that is in the middle of one."""
    head = _exactly(stream, _SIZE.size)
    if not head:
        return None
    return pickle.loads(_exactly(stream, _SIZE.unpack(head)[0]) or _broken_off())


def _exactly(stream: IO[bytes], size: int) -> bytes:
    pieces = []
    while size and (piece := stream.read(size)):
        pieces.append(piece)
        size -= len(piece)
    if size and pieces:
        _broken_off()
    return b"".join(pieces)


def _broken_off() -> NoReturn:
    raise EOFError


def _flow_id(first: object) -> str | None:
    return first.flow_id if isinstance(first, RequestSeen) else str(first)
