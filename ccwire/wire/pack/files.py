"""The exchange files of a session's folder, and what a pack of either format lists of each."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ccwire.wire.checked import Between, FieldChecks
from ccwire.wire.format import parse_file_name
from ccwire.wire.regular_file import open_regular
from ccwire.wire.vocabulary import Direction

FileKey = tuple[int, Direction]

MODE = 0o600  # of every exchange file, whatever a pack lists
# A pack is untrusted: a small one can claim, or expand to, any size.
LARGEST_FILE = 1 << 30
LARGEST_PACK = 64 << 30  # unpacked
_LATEST = 2**63 - 1  # in nanoseconds, year 2262
_BUFFER = 1 << 20


class PackDamaged(Exception):
    """A pack does not contain what it lists; the message names the pack and the file."""


@dataclass(frozen=True, slots=True)
class PackedFile:
    """What a pack lists of a file: enough to restore it and to prove that it is the same."""

    name: str
    size: Annotated[int, Between(0, LARGEST_FILE)]
    mode: Annotated[int, Between(0, 0o7777)]
    mtime_ns: Annotated[int, Between(0, _LATEST)]
    sha256: str


_CHECKS = FieldChecks(PackedFile)


def packed_file(value: object, pack: str) -> PackedFile:
    """Return a listed file; raise PackDamaged if a value is odd, or the name is a path."""
    try:
        listed = PackedFile(**_CHECKS.fitting(value))
    except ValueError as error:
        raise PackDamaged(f"{pack} cannot be read: {error}") from error
    if parse_file_name(listed.name) is None or "/" in listed.name:
        raise PackDamaged(f"{pack} lists {listed.name!r}, which is not an exchange file")
    return listed


def exchange_files(folder: Path) -> list[Path]:
    """The open exchange files in a session's folder, by number."""
    return [folder / name for _, name in sorted(exchange_names(folder))]


def exchange_names(folder: Path) -> list[tuple[FileKey, str]]:
    """The names of the open exchange files in a session's folder."""
    with os.scandir(folder) as entries:
        return [
            (key, entry.name)
            for entry in entries
            if (key := parse_file_name(entry.name)) and entry.is_file(follow_symlinks=False)
        ]


def described(path: Path) -> PackedFile:
    """What a pack would list of an open file."""
    with open_regular(path, follow=False) as file:
        status = os.fstat(file.fileno())
        digest = hashlib.sha256()
        while piece := file.read(_BUFFER):
            digest.update(piece)
    return listed(path.name, status, digest.hexdigest())


def listed(name: str, status: os.stat_result, sha256: str) -> PackedFile:
    if status.st_size > LARGEST_FILE:
        raise PackDamaged(f"{name} is too large to pack")
    written_at = min(max(status.st_mtime_ns, 0), _LATEST)
    return PackedFile(name, status.st_size, MODE, written_at, sha256)


def as_ranges(numbers: Sequence[int]) -> str:
    """Return sorted numbers as people read them: `4 to 6, 9`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def check(listed: PackedFile, data: bytes, pack: str) -> bytes:
    """Return the data; raise PackDamaged if it is not what the pack lists."""
    if len(data) != listed.size or hashlib.sha256(data).hexdigest() != listed.sha256:
        raise PackDamaged(f"{listed.name} in {pack} does not match its digest")
    return data
