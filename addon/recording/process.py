"""The writer process: a recorder outside of the proxy, so that parsing and writing cost it no time.

Theory of operation. The proxy's side, `RemoteSink`, collects jobs and sends them over a pipe, one
pickled batch at a time; `main`, the process, passes each job to its recorder. A full pipe holds the
sending thread up, never the event loop: the queue in front of it is what is bounded. The process
reports back over a second pipe: first that it runs, then its log lines.

Ends. When the proxy stops or is killed, the pipe ends, and the process finishes its files. When the
process is killed, what it had in flight is found by its part files, the batch being sent is lost
and recorded as lost, and a new process is started. Where no process can run, the recorder runs in
the proxy's own.
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

from addon.recording.jobs import Begun, Chunk, Failed, Job, Lost, handle_safely, safely
from addon.recording.recorder import Recorder
from addon.recording.start import CapturePaths, prepare, recorder_for
from addon.storage.files import write_all
from ccwire.import_path import python_command, python_environment

logger = logging.getLogger("ccwire")

Batches = queue.Queue[list[Job] | Exception | None]

_PROGRAM = """\
from addon.recording.process import main
main(int(sys.argv[1]), sys.argv[2:])
"""
_SIZE = struct.Struct("!Q")
_BATCH_BYTES = 1 << 20
_OVERHEAD = 200  # bytes that a job takes besides its body
_IDLE_SECONDS = 0.5
_SETTLE_SECONDS = 0.1  # the index is written no more often: a burst of calls shares one write
_CLOSING_SECONDS = 14.0
_RESTART_SECONDS = 1.0
_HELLO_SECONDS = 15.0


def is_possible() -> bool:
    """Whether there is a Python to start, and a way to hear from it."""
    return os.name == "posix" and bool(sys.executable) and not getattr(sys, "frozen", False)


class RemoteSink:
    """The proxy's end of the pipe; called by the queue's thread only."""

    def __init__(self, paths: CapturePaths) -> None:
        self._paths = paths
        self._batch: list[Job] = []
        self._size = 0
        self._local: Recorder | None = None  # in this process, where no other one can run
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
        """Another process knows by itself when it has nothing to do."""
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
        except subprocess.TimeoutExpired:  # it goes on by itself, and ends when all is written
            logger.warning("ccwire: the capture folder is slow: the last files are still written")
            return
        self._listener.join(1)
        if code:
            logger.warning(f"ccwire: the writer process ended with {code} before all was written")
            prepare(self._paths)

    def _start(self) -> None:
        """Raises OSError where no process can be started."""
        self._started = time.monotonic()
        reading, writing = os.pipe()
        try:
            self._process = subprocess.Popen(
                python_command(_PROGRAM, str(writing), *map(str, self._paths)),
                env=python_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                bufsize=0,
                pass_fds=(writing,),
                start_new_session=True,  # Ctrl-C is for the proxy: this ends after it
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
            _write(self._pipe, pickle.dumps(batch, 5))
        except OSError:
            self._start_again()
        except Exception as error:  # no memory: every exchange in this batch is incomplete
            flows = dict.fromkeys(job.flow_id for job in batch)
            self._batch += [Lost(flow_id) for flow_id in flows if flow_id]
            self.handle(Failed("", error))

    def _start_again(self) -> None:
        """Somebody ended it: what it had in flight is found by its parts, the batch is lost."""
        if not self._pipe.closed:
            with contextlib.suppress(OSError):
                self._pipe.close()
            code = self._process.wait()
            logger.warning(f"ccwire: the writer process ended with {code} and is started again")
        if time.monotonic() - self._started < _RESTART_SECONDS:
            return  # not over and over: what comes meanwhile is lost, and recorded as lost
        prepare(self._paths)
        try:
            self._start()
        except OSError:
            self._record_locally([])
        self.handle(Failed("", ChildProcessError(errno.ECHILD, "the writer process was ended")))

    def _record_locally(self, batch: list[Job]) -> None:
        """No other process can be had: this one does it, and nothing is lost by that."""
        logger.warning("ccwire: could not start the writer process; writing in the proxy process")
        with contextlib.suppress(OSError):
            self._pipe.close()
        self._local = recorder_for(self._paths)
        for job in batch:
            handle_safely(self._local, job)


def main(log_pipe: int, paths: list[str]) -> None:
    """The process: takes batches until the pipe ends, then finishes what is open."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # these are for the proxy
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    log = _PipeLog(os.fdopen(log_pipe, "wb", buffering=0))
    log.send()  # the first message: the process runs
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[log])
    recorder = recorder_for(CapturePaths(*map(Path, paths)))
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
    """Sends log lines back to the proxy, which writes them to its own log."""

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
        with contextlib.suppress(OSError):  # the proxy is gone
            _write(self._stream, pickle.dumps(self._unsent, 5))


class _Listener(threading.Thread):
    """Copies the process's log lines into the proxy's log; the first message means that it runs."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(name="ccwire-listener", daemon=True)
        self._stream = stream
        self._has_started = False
        self._is_known = threading.Event()

    def is_running(self) -> bool:
        """Whether the process has started to run; waits until that is known."""
        self._is_known.wait(_HELLO_SECONDS)
        return self._has_started

    def run(self) -> None:
        try:
            with self._stream, contextlib.suppress(EOFError):  # killed while it was sending
                while (lines := _read(self._stream)) is not None:
                    self._has_started = True
                    self._is_known.set()
                    for level, text in lines:
                        logger.log(level, text)
        finally:
            self._is_known.set()


def _read_batches(stream: IO[bytes], batches: Batches) -> None:
    """Ends with None, or with what went wrong: the process must never wait for more then."""
    try:
        while (batch := _read(stream)) is not None:
            batches.put(batch)
    except EOFError:
        batches.put(OSError(errno.EPIPE, "the proxy was killed while it was sending an exchange"))
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


def _body_size(job: Job) -> int:
    if isinstance(job, Chunk):
        return len(job.data)
    return len(job.request.body) if isinstance(job, Begun) else 0


def _for_the_pipe(error: Exception) -> Exception:
    """An error that can be pickled: others than OSError may hold what cannot."""
    return error if isinstance(error, OSError) else RuntimeError(type(error).__name__)
