"""The proxy's side of the journal: every byte is in it before the client can see it.

Called by the event loop, which never waits: a write to a memory file is a copy. A thread completes
what had to be postponed (`complete`): the process of a request that is still being looked up, and
small frames that did not fit. The journal is bounded in bytes that the recorder has not read: past
that, bodies are dropped, and the loss is a frame of its own.
"""

import errno
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path

from addon.identity.processes import ClientProcess
from addon.recording.jobs import CROWDED, LIMIT, Begun, Chunk, Ended, Failed, Job, Lost, RequestSeen
from addon.recording.journal.folder import JournalFile, files_in
from addon.recording.journal.frames import (
    CHUNK,
    CHUNK_HEAD,
    TIME_SIZE,
    Owned,
    begun_frame,
    frame_of,
)

SEGMENT = 4 * 1024 * 1024  # bytes per file; one that was read can be removed before the last

_PATIENCE_SECONDS = 5.0  # for the lookup of a process
_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

OwnerOf = Callable[[str], Future[ClientProcess | None] | None]  # takes a connection id


def no_owner(connection_id: str) -> None:
    """Look up nothing."""


@dataclass(slots=True, eq=False)
class _Flow:
    """An exchange in flight, and the file that its next frame goes to."""

    file: JournalFile
    descriptor: int = -1
    size: int = 0
    is_lost: bool = False
    is_ended: bool = False
    owner: Future[ClientProcess | None] | None = None
    owner_until: float = 0.0
    postponed: list[bytes] = field(default_factory=list)


class Journal:
    """Appends the jobs of one proxy to its journal."""

    def __init__(
        self,
        folder: Path,
        wake: Callable[[], None],
        owner_of: OwnerOf = no_owner,
        *,
        limit: int = LIMIT,
    ) -> None:
        self._folder = folder
        self._wake = wake
        self._owner_of = owner_of
        self._limit = limit
        self._lock = threading.Lock()  # files are also written to by the thread
        self._flows: dict[str, _Flow] = {}
        self._incomplete: dict[str, _Flow] = {}
        self._number = 0
        self._written = 0
        self.read = 0  # bytes that the recorder has read
        self._before = 0  # read by recorders that have ended
        self.is_gone = False  # whether the folder was removed by somebody else

    @property
    def unread(self) -> int:
        """The bytes that the recorder has not read."""
        return self._written - self.read

    @property
    def is_complete(self) -> bool:
        return not self._incomplete

    def put(self, job: Job) -> None:
        with self._lock:
            if isinstance(job, Begun):
                self._begin(job.request)
            elif flow := self._flows.get(job.flow_id or ""):
                self._add(flow, job)
        self._wake()

    def tee(
        self, flow_id: str, crowded: Callable[[], None] | None = None
    ) -> Callable[[bytes], bytes]:
        """Return a callable that journals each chunk and returns it unchanged.

        It calls `crowded` while the recorder is far behind.
        """
        flow = self._flows.get(flow_id)
        lock, now, wake, pack = self._lock, time.time, self._wake, CHUNK_HEAD.pack

        def through(data: bytes) -> bytes:
            if not data or flow is None or flow.is_lost:
                return data
            size = len(data)
            head = pack(CHUNK, size + TIME_SIZE, now())
            with lock:
                unread = self._written - self.read
                if unread + size > self._limit:
                    self._lose(flow)
                else:
                    try:
                        self._write(flow, (head, data), len(head) + size)
                    except Exception:  # whatever it is, the client's bytes go through
                        self._lose(flow)
            wake()
            if unread > CROWDED and crowded is not None:
                crowded()
            return data

        return through

    def has_read(self, total: int) -> None:
        """Note how many bytes the recorder has read since `restart`, or since the start."""
        self.read = self._before + total

    def restart(self) -> None:
        """Note that another recorder reads from the beginning of what is still there."""
        sizes = [(self._folder / file.name).stat().st_size for file in files_in(self._folder)]
        self._before = self.read = self._written - sum(sizes)

    def move_to(self, folder: Path) -> None:
        """Go on in another folder: exchanges in flight stay where they are, and are not read."""
        with self._lock:
            self._folder = folder
            self.is_gone = False
            self._before = self.read = self._written
            for flow in self._flows.values():
                flow.is_lost = flow.is_lost or flow.descriptor >= 0

    def complete(self) -> None:
        """Write what was postponed, as far as it is possible now."""
        with self._lock:
            for flow in list(self._incomplete.values()):
                self._complete(flow)

    def close(self) -> None:
        """Close all files; every exchange has ended or ends here."""
        with self._lock:
            for flow in list(self._flows.values()):
                flow.owner_until = 0.0
                self._complete(flow)
                self._close(flow)

    def _begin(self, request: RequestSeen) -> None:
        self._number += 1
        flow = _Flow(JournalFile(self._number, request.flow_id, 0))
        self._flows[request.flow_id] = flow
        flow.owner = self._owner_of(request.connection_id)
        flow.owner_until = time.monotonic() + _PATIENCE_SECONDS
        is_owned = flow.owner is None or flow.owner.done()
        process = _result(flow.owner) if is_owned else None
        if is_owned:
            flow.owner = None
        else:
            self._incomplete[request.flow_id] = flow
        size = len(request.body)
        is_full = self.unread > 0 and self.unread + size > self._limit
        try:
            if is_full:
                raise OSError(errno.ENOSPC, "the recorder is too far behind")
            self._open(flow)
            frame = begun_frame(request, process, is_owned=is_owned)
            self._write(flow, frame, sum(map(len, frame)))
        except OSError as error:
            self.is_gone = self.is_gone or error.errno == errno.ENOENT
            without = replace(request, body=b"")
            self._append(flow, b"".join(begun_frame(without, process, is_owned=is_owned)))
            self._lose(flow)

    def _add(self, flow: _Flow, job: Job) -> None:
        if isinstance(job, Chunk | Begun | Failed):
            raise TypeError("chunks go through `tee`")
        self._append(flow, frame_of(job))
        if isinstance(job, Ended):
            flow.is_ended = True
            if job.flow_id not in self._incomplete:
                self._close(flow)

    def _append(self, flow: _Flow, frame: bytes) -> None:
        if flow.postponed:
            self._postpone(flow, frame)
            return
        try:
            self._write(flow, (frame,), len(frame))
        except OSError:
            self._postpone(flow, frame)

    def _postpone(self, flow: _Flow, frame: bytes) -> None:
        flow.postponed.append(frame)
        self._incomplete[flow.file.flow_id] = flow

    def _lose(self, flow: _Flow) -> None:
        if not flow.is_lost:
            flow.is_lost = True
            self._append(flow, frame_of(Lost(flow.file.flow_id)))

    def _write(self, flow: _Flow, frame: tuple[bytes, ...], size: int) -> None:
        """Write a whole frame or raise OSError; half of one remains as the end of its segment."""
        if flow.size >= SEGMENT or flow.descriptor < 0:
            self._next_segment(flow)
        written = os.writev(flow.descriptor, frame)
        self._written += written
        flow.size += written
        if written != size:
            flow.size = SEGMENT  # the reader drops a frame that its segment does not complete
            raise OSError(errno.ENOSPC, "no space left in memory")

    def _next_segment(self, flow: _Flow) -> None:
        if flow.descriptor >= 0:
            os.close(flow.descriptor)
            flow.descriptor = -1
            flow.file = flow.file._replace(segment=flow.file.segment + 1)
        self._open(flow)

    def _open(self, flow: _Flow) -> None:
        path = self._folder / flow.file.name
        flow.descriptor = os.open(path, _FLAGS | _NO_LINKS, 0o600)
        flow.size = 0

    def _complete(self, flow: _Flow) -> None:
        while flow.postponed:
            try:
                self._write(flow, (flow.postponed[0],), len(flow.postponed[0]))
            except OSError:
                return
            del flow.postponed[0]
        if flow.owner is not None:
            if not flow.owner.done() and time.monotonic() < flow.owner_until:
                return
            process = _result(flow.owner) if flow.owner.done() else None
            flow.owner = None
            self._append(flow, frame_of(Owned(flow.file.flow_id, process)))
            if flow.postponed:
                return
        self._incomplete.pop(flow.file.flow_id, None)
        if flow.is_ended:
            self._close(flow)

    def _close(self, flow: _Flow) -> None:
        self._flows.pop(flow.file.flow_id, None)
        self._incomplete.pop(flow.file.flow_id, None)
        if flow.descriptor >= 0:
            os.close(flow.descriptor)
            flow.descriptor = -1


def _result(owner: Future[ClientProcess | None] | None) -> ClientProcess | None:
    """Return the process that was found; a failed lookup must not prevent the capture."""
    if owner is None or owner.cancelled() or owner.exception() is not None:
        return None
    return owner.result()
