"""Packs a session's exchange files into segments, and unpacks them, byte for byte.

The format is in `ccwire.wire.pack.segment`. This module decides which files are packed, and removes
a file only after it has been read back from a segment.
"""

import os
import re
import secrets
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from addon.storage.files import locked, open_file, sync_folder, write_all
from addon.storage.folder import read_lines
from addon.storage.packing.segments import SegmentWriter, can_pack
from ccwire.wire.format import EXCHANGES, MANIFEST, PART_SUFFIX, parse_file_name
from ccwire.wire.pack.files import (
    PackDamaged,
    PackedFile,
    as_ranges,
    described,
    exchange_files,
)
from ccwire.wire.pack.reader import ExchangeFiles, Pack, open_pack, segments, tar_packs

_QUIET_SECONDS = 10.0  # a session written to within this time counts as active
_TEMPORARY = re.compile(r"\.(?:packing|\d{4,}_(?:req|resp)_.+\.json)\.[0-9a-f]{16}\.tmp")

PackResult = Literal["packed", "unpacked", "nothing to do", "busy"]


@dataclass(frozen=True, slots=True)
class PackOutcome:
    """The outcome for one session's folder."""

    session_id: str
    did: PackResult
    files: int = 0
    before: int = 0
    after: int = 0


class Busy(Exception):
    """A proxy is writing to the folder, or was a moment ago."""


def pack_session(folder: Path, *, keep: bool = False, now: float | None = None) -> PackOutcome:
    """Pack a session. If killed at any point, every file is in the folder or in a segment.

    A proxy that continues this session in the meantime waits; its client does not.
    """
    with locked(folder):
        _refuse_if_busy(folder, now)
        _remove_temporaries(folder)
        files = [path for path in exchange_files(folder) if can_pack(path)]
        size = _size(folder)
        if not files:
            return PackOutcome(folder.name, "nothing to do", 0, size, size)
        _insist_on_sameness(folder, files)
        packed = SegmentWriter(folder).append(files)
        if left := {path.name for path in files} - {path.name for path in packed}:
            raise PackDamaged(f"{min(left)} could not be packed")
        for path in [] if keep else packed:
            path.unlink()
        after = _size(folder)
    return PackOutcome(folder.name, "packed", len(files), size, after)


def open_numbers(folder: Path) -> set[int]:
    """The numbers of the exchanges that have open files."""
    return {_number(path.stem) for path in exchange_files(folder)}


@dataclass(frozen=True, slots=True)
class PackedSome:
    """The outcome for a session that goes on: numbers of exchanges."""

    packed: set[int]
    stuck: set[int]  # could not be packed
    open: set[int]  # of which the files remain


def pack_some(
    folder: Path, writer: SegmentWriter, choose: Callable[[list[int]], Collection[int]]
) -> PackedSome:
    """Pack finished exchanges of a session that goes on; `choose` selects them by number."""
    with locked(folder):
        in_flight = {_number(part.stem) for part in folder.glob(f"*{PART_SUFFIX}")}
        files = [path for path in exchange_files(folder) if _number(path.stem) not in in_flight]
        numbers = {_number(path.stem) for path in files}
        chosen = set(choose(sorted(numbers)))
        wanted = [path for path in files if _number(path.stem) in chosen]
        packed = writer.append(wanted) if wanted else []
        for path in packed:
            path.unlink()
    stuck = {_number(path.stem) for path in wanted if path not in packed}
    return PackedSome(chosen - stuck, stuck, numbers - (chosen - stuck))


def unpack_session(folder: Path, *, keep: bool = False, now: float | None = None) -> PackOutcome:
    """Unpack a session: restore the files, then remove the packs; a kill leaves both.

    Raise PackDamaged, after restoring what can be read, if a pack is damaged; the packs stay then.
    """
    with locked(folder):
        _refuse_if_busy(folder, now)
        _remove_temporaries(folder)
        found = [*segments(folder), *tar_packs(folder)]
        size = _size(folder)
        if not found:
            return PackOutcome(folder.name, "nothing to do", 0, size, size)
        restored: set[str] = set()
        lost: list[str] = []
        for path in found:
            _restore(path, folder, restored, lost)
        sync_folder(folder)
        if lost:
            listed = (line.sequence for line in read_lines(folder / EXCHANGES))
            if numbers := ExchangeFiles(folder).lost(listed):
                lost.append(f"lost: {as_ranges(numbers)}")
            raise PackDamaged("; ".join(lost))
        for path in [] if keep else found:
            path.unlink()
        after = _size(folder)
    return PackOutcome(folder.name, "unpacked", len(restored), size, after)


def _restore(path: Path, folder: Path, restored: set[str], lost: list[str]) -> None:
    try:
        pack = open_pack(path)
    except PackDamaged as damage:
        lost.append(str(damage))
        return
    for name in pack.names:
        try:
            _restore_file(pack, name, folder / name)
            restored.add(name)
        except PackDamaged as damage:
            lost.append(str(damage))
    if pack.is_damaged:
        lost.append(f"{path.name} is damaged")


def _restore_file(pack: Pack, name: str, target: Path) -> None:
    """Restore a file; one that is already open must be identical."""
    entry = pack.entry(name)
    if not os.path.lexists(target):
        _write(target, entry, pack.read(name))
    if described(target).sha256 != entry.sha256:
        raise PackDamaged(f"{name} exists and differs from the one in {pack.path.name}")


def _write(target: Path, entry: PackedFile, data: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open_file(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY) as file:
            write_all(file, data)
            os.utime(file.fileno(), ns=(entry.mtime_ns, entry.mtime_ns))
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _insist_on_sameness(folder: Path, files: Sequence[Path]) -> None:
    """Raise PackDamaged if a pack has another file of the same name as an open one."""
    for path in [*segments(folder), *tar_packs(folder)]:
        pack = open_pack(path)
        for file in files:
            if file.name in pack and described(file).sha256 != pack.entry(file.name).sha256:
                raise PackDamaged(f"{file.name} differs from the packed file of that name")


def _remove_temporaries(folder: Path) -> None:
    """Remove what a killed pack or unpack left; a proxy that writes a file has a part."""
    for path in folder.iterdir():
        if _TEMPORARY.fullmatch(path.name):
            path.unlink(missing_ok=True)


def _refuse_if_busy(folder: Path, now: float | None) -> None:
    if any(folder.glob(f"*{PART_SUFFIX}")):
        raise Busy("an exchange is in flight")
    names = [folder / name for name in (EXCHANGES, MANIFEST)]
    changed = [path.lstat().st_mtime for path in names if os.path.lexists(path)]
    if max(changed, default=0.0) > (time.time() if now is None else now) - _QUIET_SECONDS:
        raise Busy(f"it was written to in the last {_QUIET_SECONDS:.0f} seconds")


def _number(stem: str) -> int:
    place = parse_file_name(f"{stem}.json")
    return place[0] if place else 0


def _size(folder: Path) -> int:
    """The bytes of the exchange files, open and packed."""
    paths = [*exchange_files(folder), *segments(folder), *tar_packs(folder)]
    return sum(path.lstat().st_size for path in paths)
