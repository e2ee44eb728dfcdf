"""The recorder's side of the journal: returns the jobs of each exchange in order.

An exchange is replayed from its first byte when another recorder takes over, so its files are kept
until it is recorded (`forget`). Of one with more than `REPLAYED` bytes, the segments that were read
are removed: memory is bounded, but if the recorder is killed, only its part file is left.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass

from addon.recording.jobs import Ended, Failed, Job
from addon.recording.journal.folder import JournalFile, JournalFolder
from addon.recording.journal.frames import FrameParser

REPLAYED = 8 * 1024 * 1024  # or less, where little memory is free

_PIECE = 1 << 18
_AT_ONCE = 4 << 20
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(slots=True, eq=False)
class _Reading:
    """How far an exchange has been read."""

    file: JournalFile
    descriptor: int
    parser: FrameParser
    first: int  # the segments before it are removed
    size: int = 0
    is_ended: bool = False


class JournalReader:
    """Reads the journal of one proxy."""

    def __init__(self, folder: JournalFolder) -> None:
        self.folder = folder
        self.size = 0  # of what was read so far
        self.has_more = False
        self._replayed = min(REPLAYED, folder.free // 16)
        self._flows: dict[str, _Reading] = {}

    @property
    def ended(self) -> list[str]:
        """The flows that have ended and are not forgotten, the oldest first."""
        return [flow_id for flow_id, reading in self._flows.items() if reading.is_ended]

    def read(self) -> list[Job]:
        """Return what is new; `has_more` is true if that was not all."""
        jobs: list[Job] = []
        until = self.size + _AT_ONCE
        segments: dict[str, list[JournalFile]] = {}
        for file in self.folder.files():
            segments.setdefault(file.flow_id, []).append(file)
        for flow_id, files in segments.items():
            reading = self._flows.get(flow_id) or self._begin(files[0])
            if reading is not None and not reading.is_ended:
                jobs += self._read(reading, files, until)
        self.has_more = self.size >= until
        return jobs

    def end(self) -> list[Job]:
        """Return what was held back, because nothing more will come."""
        return [job for reading in self._flows.values() for job in reading.parser.flush()]

    def forget(self, flow_ids: Iterable[str]) -> None:
        """Remove the files of exchanges that are recorded."""
        for flow_id in flow_ids:
            if (reading := self._flows.pop(flow_id, None)) is None:
                continue
            os.close(reading.descriptor)
            self._remove(reading, reading.file.segment + 1)

    def close(self) -> None:
        for reading in self._flows.values():
            os.close(reading.descriptor)
        self._flows.clear()

    def _begin(self, file: JournalFile) -> _Reading | None:
        try:
            descriptor = os.open(self.folder.path / file.name, _FLAGS)
        except OSError:
            return None  # not there any more
        reading = _Reading(file, descriptor, FrameParser(file.flow_id), file.segment)
        self._flows[file.flow_id] = reading
        return reading

    def _read(self, reading: _Reading, files: list[JournalFile], until: int) -> list[Job]:
        jobs: list[Job] = []
        while self.size < until and not reading.is_ended:
            data = os.read(reading.descriptor, _PIECE)
            if data:
                self.size += len(data)
                reading.size += len(data)
                jobs += _parsed(reading, data)
            elif not self._next_segment(reading, files):
                break
        return jobs

    def _next_segment(self, reading: _Reading, files: list[JournalFile]) -> bool:
        """Go on with the next segment if there was one before this one was read to its end."""
        following = reading.file._replace(segment=reading.file.segment + 1)
        if following not in files:
            return False
        descriptor = os.open(self.folder.path / following.name, _FLAGS)
        os.close(reading.descriptor)
        reading.descriptor, reading.file = descriptor, following
        reading.parser.drop_cut()
        if reading.size > self._replayed:
            self._remove(reading, following.segment)
            reading.first = following.segment
        return True

    def _remove(self, reading: _Reading, end: int) -> None:
        """Remove segments, the first one first: without it, the others are not replayed."""
        for segment in range(reading.first, end):
            name = reading.file._replace(segment=segment).name
            (self.folder.path / name).unlink(missing_ok=True)


def _parsed(reading: _Reading, data: bytes) -> list[Job]:
    try:
        jobs = reading.parser.feed(data)
    except ValueError as error:
        jobs = [*reading.parser.flush(), Failed(reading.file.flow_id, error)]
    reading.is_ended = any(isinstance(job, Ended | Failed) for job in jobs)
    return jobs
