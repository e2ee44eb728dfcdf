"""The writer process: a recorder outside the proxy, so that parsing and writing do not delay it.

Theory of operation. The proxy appends everything to a journal in memory (`addon.recording.journal`)
before the client can see it; the writer process reads it there. A byte in a pipe wakes the process;
the end of the pipe means that the proxy has stopped or was killed. The process reports back over a
second pipe: that it is running, its log lines, and how far it has read.

Kills. The journal outlives both processes. When the process is killed, the proxy starts another,
which replays the exchanges that are not in the index yet. When the proxy is killed, the process
records the journal to its end. When both are, the next start does so. If no process can be started,
a thread of the proxy reads the journal instead.
"""

import contextlib
import logging
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

from addon.recording.jobs import LIMIT, Job
from addon.recording.journal.append import Journal, OwnerOf, no_owner
from addon.recording.journal.folder import JournalFolder
from addon.recording.journal.replay import JournalRecorder, drain, take_over
from addon.recording.start import CapturePaths
from addon.storage.files import write_all
from ccwire.import_path import python_command

logger = logging.getLogger("ccwire")

_PROGRAM = """\
from addon.recording.process import main
main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
"""
_SIZE = struct.Struct("!Q")
_BATCH_SECONDS = 0.02  # so long jobs are collected, before the recorder is woken
_IDLE_SECONDS = 0.5
_SETTLE_SECONDS = 0.1
_CLOSING_SECONDS = 14.0
_WORTH_REPORTING = 1 << 20  # bytes read; the proxy needs to know it only roughly
_RESTART_SECONDS = 1.0
_LONGEST_RESTART_SECONDS = 60.0
_SHORT_LIFE_SECONDS = 10.0  # of a process that may be killed again at once, for its memory
_MOST_FAILURES = 3  # processes in a row that end by themselves before they have read anything


def is_possible() -> bool:
    """Return whether a Python process can be started with pipes to it."""
    return os.name == "posix" and bool(sys.executable) and not getattr(sys, "frozen", False)


class JournalQueue:
    """The proxy's end: its journal, and the thread that keeps a writer process running."""

    def __init__(
        self, paths: CapturePaths, owner_of: OwnerOf = no_owner, *, limit: int = LIMIT
    ) -> None:
        """Raise OSError if there is no place for a journal, or no process can be started."""
        self._paths = paths
        self._awake = threading.Event()
        self._is_closing = False
        self._failures = 0
        self._short_lives = 0
        self._folder = JournalFolder.create(paths.captures, paths.run)
        limit = min(limit, self._folder.free // 2)
        self._journal = Journal(self._folder.path, self._wake, owner_of, limit=limit)
        self._local: JournalRecorder | None = None  # the fallback in this process
        try:
            self._start()
        except OSError:
            self._folder.remove()
            raise
        self._thread = threading.Thread(target=self._run, name="ccwire-writer", daemon=True)
        self._thread.start()

    @property
    def read(self) -> int:
        """The bytes that the recorder has read."""
        return self._journal.read

    @property
    def unread(self) -> int:
        """The bytes that the recorder has not read."""
        return self._journal.unread

    def put(self, job: Job) -> None:
        self._journal.put(job)

    def tee(
        self, flow_id: str, crowded: Callable[[], None] | None = None
    ) -> Callable[[bytes], bytes]:
        """Return a callable that journals each chunk and returns it unchanged."""
        return self._journal.tee(flow_id, crowded)

    def close(self) -> None:
        """Wait until everything is recorded, within reason."""
        self._is_closing = True
        self._awake.set()
        self._thread.join(_CLOSING_SECONDS)
        self._journal.close()
        if self._local is not None:
            self._local.finish()
            self._folder.remove()
            return
        self._process.close()
        code = self._process.wait(_CLOSING_SECONDS)
        if code is None:  # it continues on its own and exits when done
            logger.warning("ccwire: the capture folder is too slow; still writing the last files")
            self._folder.close()
        elif code:
            logger.warning(f"ccwire: the writer process exited early with code {code}")
            drain(self._paths, self._folder)
        else:
            self._folder.remove()

    def _wake(self) -> None:
        if not self._awake.is_set():
            self._awake.set()

    def _create_again(self) -> None:
        """Replace a journal that was removed, as some systems do when their user logs out."""
        try:
            folder = JournalFolder.create(self._paths.captures, self._paths.run)
        except OSError:
            return  # tried again with the next exchange
        logger.warning("ccwire: the journal was removed; exchanges in flight are incomplete")
        self._process.close()
        self._folder.close()
        self._folder = folder
        self._journal.move_to(folder.path)
        self._start_or_record_here()

    def _start(self) -> None:
        self._started = time.monotonic()
        self._process = _Process(self._paths, self._folder, self._wake, self._journal.has_read)

    def _run(self) -> None:
        while not self._is_closing:
            is_waiting = not self._journal.is_complete or self._local is not None
            self._awake.wait(_BATCH_SECONDS if is_waiting else None)
            time.sleep(_BATCH_SECONDS)
            self._awake.clear()
            try:
                self._turn()
            except Exception as error:  # the thread has to go on: nobody else records
                logger.error(f"ccwire: an exchange could not be recorded ({type(error).__name__})")

    def _turn(self) -> None:
        self._journal.complete()
        if self._journal.is_gone and self._local is None:
            self._create_again()
        if self._local is not None:
            self._local.step()
            self._journal.has_read(self._local.read)
        elif self._process.has_ended:
            self._start_again()
        else:
            self._process.wake()

    def _start_again(self) -> None:
        """Replace a dead process; the next one replays what it had not recorded."""
        code = self._process.wait(_CLOSING_SECONDS)
        if code != -signal.SIGKILL:
            self._failures = 0 if self._process.has_started else self._failures + 1
        logger.warning(f"ccwire: the writer process exited with code {code}; restarting it")
        lived = time.monotonic() - self._started
        self._short_lives = self._short_lives + 1 if lived < _SHORT_LIFE_SECONDS else 0
        delay = min(_LONGEST_RESTART_SECONDS, _RESTART_SECONDS * 2 ** max(0, self._short_lives - 3))
        while time.monotonic() - self._started < delay and not self._is_closing:
            time.sleep(_BATCH_SECONDS)
        self._process.close()
        self._journal.restart()
        self._start_or_record_here()

    def _start_or_record_here(self) -> None:
        try:
            if self._failures >= _MOST_FAILURES:
                raise ChildProcessError
            self._start()
        except OSError:
            logger.warning(
                "ccwire: could not start the writer process; writing in the proxy process"
            )
            self._local = JournalRecorder(self._folder, take_over(self._paths, self._folder))


class _Process:
    """A running writer process."""

    def __init__(
        self,
        paths: CapturePaths,
        journal: JournalFolder,
        wake: Callable[[], None],
        has_read: Callable[[int], None],
    ) -> None:
        """Start it; raise OSError if that fails."""
        reading, writing = os.pipe()
        try:
            self._process = subprocess.Popen(
                python_command(_PROGRAM, str(writing), str(journal.path), *map(str, paths)),
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
        os.set_blocking(self._pipe.fileno(), False)
        self._ended = wake
        self._has_read = has_read
        self.has_started = False
        self.has_ended = False
        self._listener = threading.Thread(
            target=self._listen, args=(os.fdopen(reading, "rb", buffering=0),), daemon=True
        )
        self._listener.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def wake(self) -> None:
        with contextlib.suppress(OSError):  # full: it is awake; broken: it has ended
            self._pipe.write(b".")

    def close(self) -> None:
        """Close the pipe: the process records the journal to its end and exits."""
        with contextlib.suppress(OSError):
            self._pipe.close()

    def wait(self, seconds: float) -> int | None:
        """Return its exit code, or None if it does not exit in time."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        self._listener.join(1)
        return code

    def _listen(self, stream: IO[bytes]) -> None:
        """Copy the process's log lines into the proxy's log until it ends."""
        with stream, contextlib.suppress(EOFError):  # killed while sending
            while (report := _receive(stream)) is not None:
                self.has_started = True
                self._has_read(report.read)
                for level, line in report.lines:
                    logger.log(level, line)
        self.has_ended = True
        self._ended()


def main(reports: int, journal: str, paths: list[str]) -> None:
    """Run the writer process: record until the pipe closes, then finish open exchanges."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # the proxy handles these
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    log = _PipeLog(os.fdopen(reports, "wb", buffering=0))
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[log])
    place = CapturePaths.from_arguments(paths)
    folder = JournalFolder.join(Path(journal))
    recording = JournalRecorder(folder, take_over(place, folder))
    log.send(0, at_once=True)  # the first report means that the process is running
    while True:
        has_ended, is_idle = _wait(0.0 if recording.has_more else _pause(recording))
        if has_ended:
            break
        recording.step()
        if is_idle and not recording.is_due:
            recording.idle()
        log.send(recording.read, at_once=is_idle)
    recording.finish()
    folder.remove()  # the proxy may have been killed
    log.send(recording.read, at_once=True)


def _pause(recording: JournalRecorder) -> float:
    return _SETTLE_SECONDS if recording.is_due else _IDLE_SECONDS


def _wait(seconds: float) -> tuple[bool, bool]:
    """Wait for the proxy; return whether it has ended, and whether it sent nothing."""
    ready, _, _ = select.select([0], [], [], seconds)
    if not ready:
        return False, seconds > 0
    return not os.read(0, 1 << 16), False


class _Report(NamedTuple):
    read: int
    lines: list[tuple[int, str]]


class _PipeLog(logging.Handler):
    """Collects log lines for the proxy, which writes them to its own log."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self._stream = stream
        self._unsent: list[tuple[int, str]] = []
        self._read = -1

    def emit(self, record: logging.LogRecord) -> None:
        self._unsent.append((record.levelno, self.format(record)))

    def send(self, read: int, *, at_once: bool = False) -> None:
        """Report what was logged and how much of the journal was read, if that is news."""
        is_news = read - self._read >= _WORTH_REPORTING or (at_once and read != self._read)
        if not self._unsent and not is_news:
            return
        data = pickle.dumps((read, self._unsent), 5)
        with contextlib.suppress(OSError):  # the proxy has exited
            write_all(self._stream, _SIZE.pack(len(data)) + data)
        self._unsent.clear()
        self._read = read


def _receive(stream: IO[bytes]) -> _Report | None:
    """Return the next report, or None at the end; raise EOFError if it is cut off."""
    head = _exactly(stream, _SIZE.size)
    if not head:
        return None
    value: Any = pickle.loads(_exactly(stream, _SIZE.unpack(head)[0]))
    return _Report(*value)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    pieces = []
    while size and (piece := stream.read(size)):
        pieces.append(piece)
        size -= len(piece)
    if size and pieces:
        raise EOFError
    return b"".join(pieces)
