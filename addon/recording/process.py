"""The writer process: a recorder outside the proxy, so that parsing and writing do not delay it.

Theory of operation. The proxy's side, `RemoteSink`, collects jobs and sends them over a pipe, one
pickled batch at a time; `main`, the process, passes each job to its recorder. A full pipe blocks
only the sending thread, never the event loop; the queue in front of it is bounded. The process
reports back over a second pipe: first that it is running, then its log lines.

Shutdown. When the proxy stops or is killed, the pipe closes and the process finishes its files.
When the process is killed, exchanges in flight are recovered from their part files, the batch being
sent is lost and recorded as lost, and a new process is started. If no process can be started, the
recorder runs in the proxy process.
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
from collections.abc import Sequence
from typing import IO, Any, NoReturn, get_args

from addon.recording.jobs import (
    Begun,
    Chunk,
    Failed,
    Job,
    Lost,
    handle_safely,
    safely,
)
from addon.recording.recorder import Recorder
from addon.recording.start import CapturePaths, prepare, recorder_for
from addon.storage.files import write_all
from ccwire.import_path import python_command

logger = logging.getLogger("ccwire")

Batches = queue.Queue[list[Job] | Exception | None]

_PROGRAM = """\
from addon.recording.process import main
main(int(sys.argv[1]), sys.argv[2:])
"""
_KINDS: tuple[type[Job], ...] = get_args(Job)
_SIZE = struct.Struct("!Q")
_BATCH_BYTES = 1 << 20
_OVERHEAD = 200  # estimated bytes per job, without its body
_IDLE_SECONDS = 0.5
_SETTLE_SECONDS = 0.1  # at least this long between index writes: a burst of calls shares one
_CLOSING_SECONDS = 14.0
_RESTART_SECONDS = 1.0
_HELLO_SECONDS = 15.0


def is_possible() -> bool:
    """Return whether a Python process can be started with pipes to it."""
    return os.name == "posix" and bool(sys.executable) and not getattr(sys, "frozen", False)


class RemoteSink:
    """The proxy's end of the pipe; called by the queue's thread only."""

    def __init__(self, paths: CapturePaths) -> None:
        self._paths = paths
        self._batch: list[Job] = []
        self._size = 0
        self._local: Recorder | None = None  # the fallback in this process
        self._start()

    def handle(self, job: Job) -> None:
        if isinstance(job, Failed):
            job = Failed(job.flow_id, _for_the_pipe(job.error))
        if self._local is not None:
            self._local.handle(job)
            return
        self._batch.append(job)
        self._size += _OVERHEAD + _body_size(job)
        if self._size > _BATCH_BYTES:
            self._send()

    def settle(self) -> None:
        if self._batch:
            self._send()
        if self._local is not None:
            self._local.settle()

    def idle(self) -> None:
        """Forward to a local recorder; the writer process detects idleness itself."""
        if self._local is not None:
            self._local.idle()

    def close(self) -> None:
        self.settle()
        if self._local is not None:
            self._local.close()
            return
        with contextlib.suppress(OSError):
            self._pipe.close()
        try:
            code = self._process.wait(_CLOSING_SECONDS)
        except subprocess.TimeoutExpired:  # it continues on its own and exits when done
            logger.warning("ccwire: the capture folder is too slow; still writing the last files")
            return
        self._listener.join(1)
        if code:
            logger.warning(f"ccwire: the writer process exited early with code {code}")
            prepare(self._paths)

    def _start(self) -> None:
        """Start the process; raise OSError if that fails."""
        self._started = time.monotonic()
        reading, writing = os.pipe()
        try:
            self._process = subprocess.Popen(
                python_command(_PROGRAM, str(writing), *map(str, self._paths)),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                bufsize=0,
                pass_fds=(writing,),
                start_new_session=True,  # Ctrl-C must reach only the proxy; this exits after it
            )
        except OSError:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        assert self._process.stdin is not None
        self._pipe = self._process.stdin
        self._listener = _Listener(os.fdopen(reading, "rb", buffering=0))
        self._listener.start()

    def _send(self) -> None:
        batch, self._batch, self._size = self._batch, [], 0
        try:
            if self._pipe.closed:
                raise BrokenPipeError
            if not self._listener.is_running():
                self._record_locally(batch)
                return
            _write(self._pipe, _dumped(batch))
        except OSError:
            self._start_again()
        except Exception as error:  # out of memory: every exchange in this batch is incomplete
            flows = dict.fromkeys(job.flow_id for job in batch)
            self._batch += [Lost(flow_id) for flow_id in flows if flow_id]
            self.handle(Failed("", error))

    def _start_again(self) -> None:
        """Restart a dead process: recover its part files, and record the batch as lost."""
        if not self._pipe.closed:
            with contextlib.suppress(OSError):
                self._pipe.close()
            code = self._process.wait()
            logger.warning(f"ccwire: the writer process exited with code {code}; restarting it")
        if time.monotonic() - self._started < _RESTART_SECONDS:
            return  # limit the restart rate; jobs are lost until then, and recorded as lost
        prepare(self._paths)
        try:
            self._start()
        except OSError:
            self._record_locally([])
        self.handle(Failed("", ChildProcessError(errno.ECHILD, "the writer process was ended")))

    def _record_locally(self, batch: list[Job]) -> None:
        """Switch to a recorder in this process, starting with the unsent batch."""
        logger.warning("ccwire: could not start the writer process; writing in the proxy process")
        with contextlib.suppress(OSError):
            self._pipe.close()
        self._local = recorder_for(self._paths)
        for job in batch:
            handle_safely(self._local, job)


def main(log_pipe: int, paths: list[str]) -> None:
    """Run the writer process: handle batches until the pipe closes, then finish open exchanges."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # the proxy handles these
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    log = _PipeLog(os.fdopen(log_pipe, "wb", buffering=0))
    log.send()  # the first message means that the process is running
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[log])
    recorder = recorder_for(CapturePaths.from_arguments(paths))
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
        for job in batch:
            handle_safely(recorder, job)
        is_due = time.monotonic() - settled < _SETTLE_SECONDS
        if is_due:
            safely(recorder, recorder.write_parts)
        else:
            safely(recorder, recorder.settle)
            log.flush()
            settled = time.monotonic()
        if is_idle:
            safely(recorder, recorder.idle)
            log.flush()
    if batch is not None:
        recorder.handle(Failed("", batch))
    safely(recorder, recorder.close)
    log.flush()


class _PipeLog(logging.Handler):
    """A log handler that sends lines to the proxy, which writes them to its own log."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self._stream = stream
        self._unsent: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._unsent.append((record.levelno, self.format(record)))

    def flush(self) -> None:
        if self._unsent:
            self.send()
            self._unsent.clear()

    def send(self) -> None:
        with contextlib.suppress(OSError):  # the proxy has exited
            _write(self._stream, pickle.dumps(self._unsent, 5))


class _Listener(threading.Thread):
    """A thread that copies the process's log lines into the proxy's log.

    The first message means that the process is running.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(name="ccwire-listener", daemon=True)
        self._stream = stream
        self._has_started = False
        self._is_known = threading.Event()

    def is_running(self) -> bool:
        """Return whether the process is running; wait for its first message or its end."""
        self._is_known.wait(_HELLO_SECONDS)
        return self._has_started

    def run(self) -> None:
        try:
            with self._stream, contextlib.suppress(EOFError):  # killed while sending
                while (lines := _read(self._stream)) is not None:
                    self._has_started = True
                    self._is_known.set()
                    for level, text in lines:
                        logger.log(level, text)
        finally:
            self._is_known.set()


def _read_batches(stream: IO[bytes], batches: Batches) -> None:
    """Queue batches until the pipe closes, then None, or the error that ended reading."""
    try:
        while (batch := _read(stream)) is not None:
            batches.put(_loaded(*batch))
    except EOFError:
        batches.put(OSError(errno.EPIPE, "the proxy was killed while it was sending an exchange"))
    except Exception as error:
        batches.put(RuntimeError(type(error).__name__))
    else:
        batches.put(None)


def _dumped(batch: Sequence[Job]) -> bytes:
    """Pickle the jobs as their kinds and their plain tuples: five times faster than as they are."""
    return pickle.dumps(([_KINDS.index(type(job)) for job in batch], list(map(tuple, batch))), 5)


def _loaded(kinds: Sequence[int], fields: Sequence[tuple[Any, ...]]) -> list[Job]:
    return [tuple.__new__(_KINDS[kind], job) for kind, job in zip(kinds, fields, strict=True)]


def _write(stream: IO[bytes], data: bytes) -> None:
    for part in (_SIZE.pack(len(data)), data):
        write_all(stream, part)


def _read(stream: IO[bytes]) -> Any:
    """Return the next object, or None at the end; raise EOFError if an object is cut off."""
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


def _body_size(job: Job) -> int:
    if isinstance(job, Chunk):
        return len(job.data)
    return len(job.request.body) if isinstance(job, Begun) else 0


def _for_the_pipe(error: Exception) -> Exception:
    """Return an error that can be pickled; anything but an OSError may not be."""
    return error if isinstance(error, OSError) else RuntimeError(type(error).__name__)
