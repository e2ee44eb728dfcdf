"""Packs a session's exchange files into one archive, and unpacks them, byte for byte.

The format is in `ccwire.wire.pack`. This module decides which files go into which pack, and removes
a file only after it has been read back from a pack.
"""

import os
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from addon.storage.files import locked
from ccwire.wire.format import EXCHANGES, MANIFEST, PART_SUFFIX
from ccwire.wire.pack import (
    PACK_SUFFIX,
    PackDamaged,
    PackedFile,
    described,
    exchange_files,
    packs,
    read_index,
    restore,
    sync_folder,
    verify,
    write_pack,
)

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
    """Pack a session. If killed at any point, every file is in the folder or in a verified pack.

    A proxy that continues this session in the meantime waits; its client does not.
    """
    with locked(folder):
        _refuse_if_busy(folder, now)
        files = exchange_files(folder)
        older = packs(folder)
        size = _size([*files, *older])
        if not files and len(older) < 2:
            return PackOutcome(folder.name, "nothing to do", 0, size, size)
        pack, index = _pack(folder, files, older)
        _insist_on_all(index, files, [path for path in older if path != pack])
        for path in [*(p for p in older if p != pack), *([] if keep else files)]:
            path.unlink()
        after = _size([pack, *exchange_files(folder)])
    return PackOutcome(folder.name, "packed", len(files), size, after)


def unpack_session(folder: Path, *, keep: bool = False, now: float | None = None) -> PackOutcome:
    """Unpack a session: restore the files, then remove the pack; a kill leaves both."""
    with locked(folder):
        _refuse_if_busy(folder, now)
        _remove_temporaries(folder)
        found = packs(folder)
        size = _size([*found, *exchange_files(folder)])
        if not found:
            return PackOutcome(folder.name, "nothing to do", 0, size, size)
        restored = {entry.name for pack in found for entry in restore(pack, folder)}
        for pack in [] if keep else found:
            pack.unlink()
        after = _size([*packs(folder), *exchange_files(folder)])
    return PackOutcome(folder.name, "unpacked", len(restored), size, after)


def _pack(
    folder: Path, files: Sequence[Path], older: Sequence[Path]
) -> tuple[Path, list[PackedFile]]:
    """Return the pack that contains all files, written if necessary, and its verified index."""
    before = older[0] if older else None
    known = {entry.name for entry in read_index(before)} if before else set()
    new = [path for path in files if path.name not in known]
    if before is not None and not new:
        return before, verify(before)
    _remove_temporaries(folder)
    temporary = folder / f".packing.{secrets.token_hex(8)}.tmp"
    try:
        write_pack(temporary, before, new)
        index = verify(temporary)
        pack = folder / f"{_highest(index):04d}{PACK_SUFFIX}"
        temporary.replace(pack)
        sync_folder(folder)
    finally:
        temporary.unlink(missing_ok=True)
    return pack, index


def _remove_temporaries(folder: Path) -> None:
    """Remove what a killed pack or unpack left; a proxy that writes a file has a part."""
    for path in folder.iterdir():
        if _TEMPORARY.fullmatch(path.name):
            path.unlink(missing_ok=True)


def _insist_on_all(
    index: Sequence[PackedFile], files: Sequence[Path], older: Sequence[Path]
) -> None:
    """Raise PackDamaged unless the pack contains every file unchanged."""
    packed = {entry.name: entry for entry in index}
    there = [*map(described, files), *(entry for pack in older for entry in read_index(pack))]
    for entry in there:
        if packed.get(entry.name) != entry:
            raise PackDamaged(f"{entry.name} differs from the packed file of that name")


def _refuse_if_busy(folder: Path, now: float | None) -> None:
    if any(folder.glob(f"*{PART_SUFFIX}")):
        raise Busy("an exchange is in flight")
    names = [folder / name for name in (EXCHANGES, MANIFEST)]
    changed = [path.lstat().st_mtime for path in names if os.path.lexists(path)]
    if max(changed, default=0.0) > (time.time() if now is None else now) - _QUIET_SECONDS:
        raise Busy(f"it was written to in the last {_QUIET_SECONDS:.0f} seconds")


def _highest(index: Sequence[PackedFile]) -> int:
    return max(int(entry.name.partition("_")[0]) for entry in index)


def _size(paths: Sequence[Path]) -> int:
    return sum(path.lstat().st_size for path in paths)
