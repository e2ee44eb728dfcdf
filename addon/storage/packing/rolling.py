"""Packs exchanges during a capture: the older ones of a running session, all of an idle one.

Works in small steps, between the recorder's own jobs. What cannot be packed stays as it is, and is
tried again later. `unknown/` is left alone: its exchanges may still be moved to their session.
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from addon.storage.packing.pack import open_numbers, pack_some
from addon.storage.packing.segments import SegmentWriter
from ccwire.wire.format import EXCHANGES, UNKNOWN, Exchange
from ccwire.wire.pack.files import PackDamaged
from ccwire.wire.pack.reader import segments

logger = logging.getLogger("ccwire")

_IDLE_SECONDS = 300.0  # after which all of a session is packed
_ENDED_SECONDS = 5.0  # the same after its end: a client sends telemetry even then
_RETRY_SECONDS = 30.0
_STEP = 16  # exchanges to pack at once
_MOST_WAITING = 1 << 20  # bytes of exchanges to pack, which wait no longer for an idle moment
_MOST_WRITERS = 4  # that keep their state


@dataclass(slots=True)
class _OpenExchanges:
    """The open exchanges of one session's folder."""

    writer: SegmentWriter
    last: float  # when one was finished, on the monotonic clock
    sizes: dict[int, int] = field(default_factory=dict)  # by number, those to keep open included
    telemetry: set[int] = field(default_factory=set)  # numbers
    stuck: set[int] = field(default_factory=set)  # numbers that cannot be packed
    not_before: float = 0.0

    def to_pack(self, numbers: Sequence[int], keep: int) -> list[int]:
        """Select the telemetry and all but the newest of the others."""
        others = [number for number in numbers if number not in self.telemetry]
        kept = set(others[max(0, len(others) - keep) :])
        return [number for number in numbers if number not in kept | self.stuck]


class Rolling:
    """Packs the exchanges that the recorder has finished; `keep_open` of a session stay open.

    With None, all stay open.
    """

    def __init__(self, keep_open: int | None) -> None:
        self._keep_open = keep_open
        self._sessions: dict[Path, _OpenExchanges] = {}
        self._logged: set[str] = set()

    def finished(self, folder: Path, lines: Iterable[Exchange]) -> None:
        """Note exchanges whose files are complete and in the index."""
        if self._keep_open is None or folder.name == UNKNOWN:
            return
        now = time.monotonic()
        session = self._sessions.pop(folder, None)
        if session is None:
            there = dict.fromkeys(open_numbers(folder), 1)
            session = _OpenExchanges(SegmentWriter(folder), now, there)
        self._sessions[folder] = session  # the newest last
        session.last = now
        for line in lines:
            session.sizes[line.sequence] = line.request_bytes + line.response_bytes
            if line.kind == "event_logging":
                session.telemetry.add(line.sequence)
        for other in list(self._sessions.values())[:-_MOST_WRITERS]:
            other.writer.forget()

    def take_up(self, folder: Path) -> None:
        """Note a session that a killed proxy has left half packed, if nobody writes to it."""
        if self._keep_open is None or folder.name == UNKNOWN or folder in self._sessions:
            return
        try:
            written = (folder / EXCHANGES).stat().st_mtime
        except OSError:
            return
        if time.time() - written > _IDLE_SECONDS and segments(folder) and open_numbers(folder):
            self.finished(folder, ())

    def catch_up(self, seconds: float) -> None:
        """Pack what has waited too long for an idle moment, for at most about so long."""
        self._pack(seconds, _MOST_WAITING)

    def work(self, seconds: float, has_ended: Callable[[str], bool]) -> None:
        """Pack what does not have to stay open, for at most about so long."""
        deadline = time.monotonic() + seconds
        self._pack(seconds, 0)
        for folder, session in list(self._sessions.items()):
            idle = time.monotonic() - session.last
            is_over = idle > _IDLE_SECONDS or (idle > _ENDED_SECONDS and has_ended(folder.name))
            if is_over and time.monotonic() < deadline:
                self._pack_all(folder, session, deadline)

    def close(self) -> None:
        """Pack all sessions."""
        for folder, session in list(self._sessions.items()):
            session.not_before = 0.0
            self._pack_all(folder, session, None)

    def _pack(self, seconds: float, most_waiting: int) -> None:
        deadline = time.monotonic() + seconds
        keep = self._keep_open or 0
        for folder, session in list(self._sessions.items()):
            while time.monotonic() < deadline:
                waiting = session.to_pack(sorted(session.sizes), keep)
                if sum(session.sizes[number] for number in waiting) < max(most_waiting, 1):
                    break
                if not self._step(folder, session, keep):
                    break

    def _pack_all(self, folder: Path, session: _OpenExchanges, deadline: float | None) -> None:
        while session.sizes.keys() - session.stuck:
            if deadline is not None and time.monotonic() > deadline:
                return
            if not self._step(folder, session, 0):
                return
        self._sessions.pop(folder, None)

    def _step(self, folder: Path, session: _OpenExchanges, keep: int) -> bool:
        """Pack some exchanges of a session; return whether to go on with it."""
        if time.monotonic() < session.not_before:
            return False
        try:
            done = pack_some(
                folder, session.writer, lambda numbers: session.to_pack(numbers, keep)[:_STEP]
            )
        except (OSError, PackDamaged) as error:
            if not folder.is_dir():  # deleted by the user
                self._sessions.pop(folder, None)
                return False
            session.not_before = time.monotonic() + _RETRY_SECONDS
            self._log_once(error)
            return False
        session.stuck |= done.stuck
        session.telemetry &= done.open
        session.sizes = {number: session.sizes.get(number, 1) for number in done.open}
        return bool(done.packed)

    def _log_once(self, error: Exception) -> None:
        reason = (error.strerror or "") if isinstance(error, OSError) else str(error)
        if reason not in self._logged:
            self._logged.add(reason)
            logger.warning(f"ccwire: exchanges could not be packed ({reason}); they stay files")
