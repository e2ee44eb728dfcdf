"""Follow growing capture folders, reading only what is new in each file.

Tolerates intermediate states: an incomplete line, a part file that disappears while being read, a
file that is rewritten because an exchange moved to another session.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ccwire.wire.format import (
    EXCHANGES,
    MANIFEST,
    PART_SUFFIX,
    exchange_or_none,
    is_session_id,
    parse_file_name,
)
from ccwire.wire.json_text import as_dict, parse_object, text, whole
from ccwire.wire.regular_file import open_regular
from ccwire.wire.times import moment
from ccwire.wire.vocabulary import ENDPOINT_KINDS, one_of
from correlate.captures.folder import read_manifest
from correlate.watch.frame import InFlight, SeenCall, SessionWatch

RECENT_SECONDS = 3600.0
_ABANDONED_SECONDS = 900.0  # a part file unchanged for so long was left by a killed proxy
_HEAD_BYTES = 1 << 18


@dataclass(slots=True)
class _Place:
    """How far a folder has been read."""

    session: SessionWatch
    inode: int = 0
    offset: int = 0
    manifest_at: int = 0


class CaptureTail:
    """The recently active sessions of capture folders, or all of them."""

    def __init__(self, *captures: Path, every: bool = False) -> None:
        self._captures: Sequence[Path] = captures
        self._every = every
        self._places: dict[Path, _Place] = {}
        self._parts: dict[Path, InFlight] = {}
        self._reported: set[str] = set()

    @property
    def sessions(self) -> list[SessionWatch]:
        """The sessions in the order in which they were found."""
        return [place.session for place in self._places.values()]

    def follow(self, captures: Sequence[Path]) -> None:
        """Look at these folders from now on; what was read of others stays."""
        self._captures = captures

    def look(self, now: float) -> list[SeenCall]:
        """Read what is new and return the exchanges finished since the last call."""
        found = []
        for folder in self._folders(now):
            place = self._places.setdefault(folder, _Place(SessionWatch(folder.name)))
            found += self._read_lines(folder, place)
            self._read_manifest(folder, place)
            place.session.fly(self._in_flight(folder, now))
        new = [call for call in found if call.exchange.flow_id not in self._reported]
        self._reported.update(call.exchange.flow_id for call in new)
        return new

    def _folders(self, now: float) -> list[Path]:
        folders = [folder for root in self._captures for folder in _session_folders(root)]
        if self._every:
            return folders
        active = {folder: _active_at(folder) for folder in folders}
        newest = max(active, key=lambda folder: active[folder], default=None)
        return [
            folder
            for folder, at in active.items()
            if folder in self._places or at > now - RECENT_SECONDS or folder == newest
        ]

    def _read_lines(self, folder: Path, place: _Place) -> list[SeenCall]:
        try:
            with open_regular(folder / EXCHANGES, follow=False) as file:
                file_status = os.fstat(file.fileno())
                if file_status.st_ino != place.inode or file_status.st_size < place.offset:
                    place.session = SessionWatch(folder.name)
                    place.inode, place.offset, place.manifest_at = file_status.st_ino, 0, 0
                file.seek(place.offset)
                data = file.read()
        except OSError:  # missing, or not a file
            return []
        whole, end, _ = data.rpartition(b"\n")  # the last line may be incomplete
        place.offset += len(whole) + len(end)
        exchanges = filter(None, map(exchange_or_none, whole.split(b"\n")))
        return [call for call in map(place.session.add, exchanges) if call]

    def _read_manifest(self, folder: Path, place: _Place) -> None:
        try:
            written = (folder / MANIFEST).stat().st_mtime_ns
        except OSError:
            return
        if written != place.manifest_at:
            place.manifest_at = written
            place.session.manifest = read_manifest(folder)

    def _in_flight(self, folder: Path, now: float) -> list[InFlight]:
        found = []
        for part in folder.glob(f"*{PART_SUFFIX}"):
            flight = self._part(part, now)
            if flight is not None:
                found.append(flight)
        gone = [p for p in self._parts if p.parent == folder and not p.exists()]
        for part in gone:
            del self._parts[part]
        return found

    def _part(self, part: Path, now: float) -> InFlight | None:
        """Return the call of a part file; once it contains a status, only its size is updated."""
        known = self._parts.get(part)
        try:
            file_status = part.stat()
            size = file_status.st_size
            if file_status.st_mtime < now - _ABANDONED_SECONDS:
                return None
            if known is None or (known.status is None and size != known.part_bytes):
                with open_regular(part, follow=False) as file:
                    known = _flight(part, file.read(_HEAD_BYTES))
        except OSError:  # gone, or not a file
            return None
        if known is None:
            return None
        self._parts[part] = replace(known, part_bytes=size)
        return self._parts[part]


def _flight(part: Path, data: bytes) -> InFlight | None:
    lines = data.split(b"\n")[:-1]
    name = parse_file_name(part.with_suffix(".json").name)
    if not lines or name is None:
        return None
    request = parse_object(lines[0]).get("request")
    if not isinstance(request, dict):
        return None
    base, facts = as_dict(request.get("base")), as_dict(request.get("facts"))
    response = as_dict(parse_object(lines[1]).get("response")) if len(lines) > 1 else {}
    return InFlight(
        flow_id=str(request.get("flow_id")),
        sequence=name[0],
        started=moment(base.get("started")) or 0.0,
        kind=one_of(ENDPOINT_KINDS, base.get("kind")) or "other",
        model=text(base.get("model")),
        agent_id=text(facts.get("agent_id")),
        agent_type=text(facts.get("agent_type")),
        status=whole(response.get("status")),
        first_byte=moment(response.get("at")),
    )


def _session_folders(captures: Path) -> list[Path]:
    """Return all session folders, with `unknown` and those without a finished call.

    None if they cannot be read now, while a disk is unmounted for instance.
    """
    try:
        return sorted(
            folder
            for folder in captures.iterdir()
            if is_session_id(folder.name) and folder.is_dir() and not folder.is_symlink()
        )
    except OSError:
        return []


def _active_at(folder: Path) -> float:
    """Return the last activity: part files change the folder's mtime, lines the file's."""
    times = []
    for path in (folder, folder / EXCHANGES):
        with suppress(OSError):  # no line yet, or the session was removed in the meantime
            times.append(path.stat().st_mtime)
    return max(times, default=0.0)
