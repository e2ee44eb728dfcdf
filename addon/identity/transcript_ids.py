"""The ids of answers in the client's transcripts: which session's transcript contains which answer.

Clients before 1.0.54 name no session on the wire, but their transcripts repeat the ids of the
answers. A failed call has no answer; the transcript has a synthetic line about it. Files are read
incrementally, newest parts only, and as long as the caller allows; nothing but ids and times is
kept.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from addon.identity.session import is_usable
from ccwire.wire.format import SYNTHETIC_MODEL, may_report
from ccwire.wire.json_text import as_dict, parse_json, text
from ccwire.wire.regular_file import open_regular
from ccwire.wire.times import instant

_PIECE = 1 << 20
_TAIL = 16 << 20  # of a file that is seen for the first time; the newest answers are at its end
_HEAD = 1 << 16
_MOST_IDS = 100_000
_MOST_ERRORS = 1000
_PAUSE = 1.0  # at least, between two scans of the folder
_SHARE = 20  # a scan may take one part in this many of the time


@dataclass(slots=True)
class _File:
    session_id: str
    offset: int
    rest: bytes = b""  # a line that is not complete yet


class TranscriptIds:
    """Reads the transcripts of one client folder."""

    def __init__(self, claude_dir: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._projects = claude_dir / "projects"
        self._clock = clock
        self._files: dict[str, _File] = {}
        self._sessions: dict[str, str] = {}  # id of a message or request -> session
        self._began: dict[str, float] = {}
        self._errors: deque[tuple[float, str]] = deque(maxlen=_MOST_ERRORS)
        self._next_scan = 0.0

    def session_of(self, *ids: str | None) -> str | None:
        """Return the session whose transcript contains one of the ids."""
        return next((self._sessions[name] for name in ids if name in self._sessions), None)

    def session_reporting(self, failed_at: float) -> str | None:
        """Return the session with a line about a call that failed at that time, if only one has.

        A session that began later does not report it.
        """
        found = {
            session_id
            for at, session_id in self._errors
            if may_report(at, failed_at) and not failed_at < self._began.get(session_id, at) < at
        }
        return found.pop() if len(found) == 1 else None

    def began(self, session_id: str) -> float | None:
        """Return the time of the first line of a session's transcript."""
        return self._began.get(session_id)

    def read(self, since: float, seconds: float) -> None:
        """Read what was written to files that changed since that time, for so many seconds.

        Finding them does not count: in a large folder, nothing would ever be read.
        """
        changed = self._changed(since)
        until = self._clock() + seconds
        for path, size in changed:
            self._read_file(path, size, until)
            if self._clock() > until:
                return

    def is_due(self) -> bool:
        """Return whether it is time for another scan."""
        return self._clock() >= self._next_scan

    def _changed(self, since: float) -> list[tuple[str, int]]:
        """Return files with unread lines, oldest first: a copy of a session is newer than it."""
        began = self._clock()
        found = [
            (status.st_mtime, path, status.st_size)
            for path, status in _transcripts(self._projects)
            if status.st_mtime >= since
            and ((file := self._files.get(path)) is None or file.offset != status.st_size)
        ]
        ended = self._clock()
        self._next_scan = ended + max(_PAUSE, _SHARE * (ended - began))
        return [(path, size) for _, path, size in sorted(found)]

    def _read_file(self, path: str, size: int, until: float) -> None:
        try:
            with open_regular(Path(path)) as stream:
                file = self._files.get(path)
                if file is None or file.offset > size:  # new, or replaced by a shorter one
                    file = self._opened(path, stream.read(_HEAD), size)
                stream.seek(file.offset)
                while (piece := stream.read(_PIECE)) and self._clock() <= until:
                    file.offset += len(piece)
                    *lines, file.rest = (file.rest + piece).split(b"\n")
                    for line in lines:
                        self._take(file.session_id, line)
        except OSError:
            return  # removed, or not readable

    def _opened(self, path: str, head: bytes, size: int) -> _File:
        session_id = Path(path).stem
        file = self._files[path] = _File(session_id, max(0, size - _TAIL))
        times = (instant(_object(line).get("timestamp")) for line in head.split(b"\n"))
        first = next((at for at in times if at is not None), None)
        if first is not None:
            self._began.setdefault(session_id, first)
        return file

    def _take(self, session_id: str, line: bytes) -> None:
        if b'"assistant"' not in line:
            return
        record = _object(line)
        message = as_dict(record.get("message"))
        for name in (text(message.get("id")), text(record.get("requestId"))):
            if name:
                self._sessions.setdefault(name, session_id)
        at = instant(record.get("timestamp"))
        if message.get("model") == SYNTHETIC_MODEL and at is not None:
            self._errors.append((at, session_id))
        while len(self._sessions) > _MOST_IDS:
            del self._sessions[next(iter(self._sessions))]


def _transcripts(projects: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the main transcripts of all projects: `projects/<slug>/<session>.jsonl`."""
    for folder in _entries(projects):
        for entry in _entries(folder.path):
            name, dot, suffix = entry.name.rpartition(".")
            if suffix != "jsonl" or name.startswith("agent-") or not (dot and is_usable(name)):
                continue
            try:
                yield entry.path, entry.stat()
            except OSError:
                continue  # removed meanwhile


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []  # missing, or not a folder


def _object(line: bytes) -> dict[str, object]:
    try:
        return as_dict(parse_json(line))
    except ValueError:
        return {}  # cut off
