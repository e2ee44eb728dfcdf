"""Adopts the exchanges that earlier proxies left under `unknown/` while they waited for a session.

Every recorder that writes there holds a shared lock on `unknown/.recorders`. One that can make it
exclusive is the only one: no other has these exchanges in memory, so that none is moved twice. If
another recorder is still running, the attempt is repeated later.
"""

import io
import os
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import IO

import psutil

from addon.identity.processes import ClientProcess
from addon.recording.pending import Pending
from addon.storage.files import locked, open_file
from addon.storage.folder import CaptureStore, Slot, read_lines
from addon.storage.index import Finished
from ccwire.wire.format import EXCHANGES, UNKNOWN, Exchange

try:
    import fcntl
except ImportError:  # Windows: one proxy per folder
    fcntl = None  # type: ignore[assignment]

_RECORDERS = ".recorders"
_SECONDS = 24 * 3600.0  # older exchanges stay; reading commands search their transcripts
_MOST = 10_000

Left = list[tuple[ClientProcess | None, Pending]]


class Adoption:
    """The lock of one recorder, and what ended recorders have left."""

    def __init__(self, store: CaptureStore) -> None:
        self._store = store
        self._lock: IO[bytes] | None = None
        self._is_done = False

    def hold(self) -> None:
        """Take the lock, before this recorder's first exchange under `unknown/`."""
        if self._lock is None:
            unknown = self._store.folder(None)
            with locked(unknown):
                self._lock = _shared(unknown)

    def left(self, own: Callable[[], Collection[str]]) -> Left:
        """Return, once, the exchanges of ended recorders that may still get a session.

        `own` returns the flow ids of this recorder's exchanges.
        """
        unknown = self._store.root / UNKNOWN
        if self._is_done or not (unknown / EXCHANGES).is_file():
            return []
        with locked(unknown):
            self._lock = self._lock or _shared(unknown)
            if not _is_only(self._lock):
                return []
            self._is_done = True
            lines = read_lines(unknown / EXCHANGES)
        since, mine = time.time() - _SECONDS, own()
        left = (line for line in lines if line.flow_id not in mine)
        recent = [line for line in left if line.started >= since and _may_be_filed(line)]
        found = (_pending(unknown, line) for line in recent[-_MOST:])
        # Recovery would enter one that has a part again.
        return [(process, p) for process, p in found if not p.finished.slot.part_file.exists()]


def _pending(unknown: Path, line: Exchange) -> tuple[ClientProcess | None, Pending]:
    slot = Slot(unknown, line.sequence, line.path, io.BytesIO())
    finished = Finished(slot, line)
    process = None
    if line.pid is not None and line.process_started is not None:
        process = ClientProcess(line.pid, line.process_started)
    # Nothing more will come from a process that has ended.
    is_waiting = process is not None and is_running(process.pid, process.created)
    since = (line.ended or line.started) if is_waiting else 0.0
    return process, Pending(finished, since, is_adopted=True)


def _shared(unknown: Path) -> IO[bytes]:
    lock = open_file(unknown / _RECORDERS, os.O_CREAT | os.O_RDWR)
    if fcntl is not None:
        fcntl.flock(lock, fcntl.LOCK_SH)
    return lock


def _is_only(lock: IO[bytes]) -> bool:
    """Return whether no other recorder runs; the shared lock is held again afterwards."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:  # nobody takes it in between: every recorder does this under the folder's lock
        fcntl.flock(lock, fcntl.LOCK_SH)
    return True


def _may_be_filed(line: Exchange) -> bool:
    return line.process_started is not None or line.message_id is not None


def is_running(pid: int, created: float) -> bool:
    """Return whether that process is running, and not another one with its pid."""
    try:
        return bool(psutil.Process(pid).create_time() == created)
    except psutil.Error:
        return False
