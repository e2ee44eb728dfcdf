"""The capture folder: numbers exchanges, opens and releases part files, and finds abandoned ones.

Files are written atomically, by rename; folders are 0700 and files 0600 under any umask; symbolic
links are not followed. Several proxies may share a capture folder: each session folder has a lock.
"""

import errno
import os
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from addon.identity.session import is_usable
from addon.storage.files import (
    LOCK,
    locked,
    open_file,
    read_file,
    read_pieces,
    write_all,
    write_new,
    write_whole,
)
from ccwire.wire.format import (
    EXCHANGES,
    MANIFEST,
    PART_SUFFIX,
    TRAFFIC_LOG,
    UNKNOWN,
    Exchange,
    exchange_or_none,
    file_name,
    is_session_id,
    parse_file_name,
    parse_manifest,
)
from ccwire.wire.pack.reader import ExchangeFiles
from ccwire.wire.regular_file import read_regular

try:
    import fcntl
except ImportError:  # Windows: one proxy per folder
    fcntl = None  # type: ignore[assignment]

_DIGITS = 12
_SEQUENCE = re.compile(r"(\d{4,12})_(?:req_|resp_|pack\.)")
_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]+\.tmp")


@dataclass(slots=True)
class Slot:
    """An exchange's folder, its number, and the part file that marks it as in flight."""

    folder: Path
    sequence: int
    path: str
    part: IO[bytes]

    @property
    def request_file(self) -> Path:
        return self.folder / file_name(self.sequence, "req", self.path)

    @property
    def response_file(self) -> Path:
        return self.folder / file_name(self.sequence, "resp", self.path)

    @property
    def part_file(self) -> Path:
        return self.response_file.with_suffix(PART_SUFFIX)

    def note(self, line: bytes) -> None:
        """Append a line to the part file, so that it survives a kill."""
        write_all(self.part, line + b"\n")

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the response's body in the part file: those after its two heads."""
        yield from islice(part_lines(self.part_file), 2, None)


class CaptureStore:
    """All access to one capture folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._counted: set[Path] = set()  # folders that this process has scanned for numbers

    def prepare(self) -> None:
        """Create the folder; raise OSError if it cannot be written."""
        is_ours = _made(self.root) or not any(self.root.iterdir())
        ignore = self.root / ".gitignore"
        if not write_new(ignore, b"*\n") and ignore.is_file():
            is_ours = is_ours or read_regular(ignore).startswith(b"*\n")
        if is_ours:  # not a folder that already contained other files
            self.root.chmod(0o700)

    def folder(self, session_id: str | None) -> Path:
        """Return a session's folder, creating it if needed; `unknown` for None."""
        if session_id is not None and not is_usable(session_id):
            raise ValueError("not a session id")
        folder = self.root / (session_id or UNKNOWN)
        if not folder.is_dir():
            self.prepare()
            _made(folder)
        if folder.is_symlink():
            raise OSError(errno.ELOOP, "a session's folder must not be a symbolic link")
        return folder

    def open_slot(self, session_id: str | None, path: str) -> Slot:
        """Take the next number of a session and mark it as in flight."""
        try:
            return self._open_slot(session_id, path)
        except FileNotFoundError:  # the folder was just pruned: it is created again
            return self._open_slot(session_id, path)

    def _open_slot(self, session_id: str | None, path: str) -> Slot:
        folder = self.folder(session_id)
        with locked(folder) as lock:
            sequence = self._next_sequence(folder, lock)
            name = Path(file_name(sequence, "resp", path)).with_suffix(PART_SUFFIX)
            part = open_file(folder / name, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND)
            if fcntl is not None:
                fcntl.flock(part, fcntl.LOCK_EX)
        return Slot(folder, sequence, path, part)

    def reopen_slot(self, part_file: Path, path: str) -> Slot | None:
        """Take over the number of an exchange whose writer died; None if that is impossible.

        The first line remains: without it, another kill would separate the number from its files.
        """
        place = parse_file_name(part_file.with_suffix(".json").name)
        if place is None or not part_file.is_file():
            return None
        part = open_file(part_file, os.O_RDWR | os.O_APPEND)
        slot = Slot(part_file.parent, place[0], path, part)
        with locked(part_file.parent):
            if slot.part_file != part_file or not _taken(part):
                part.close()
                return None
        part.truncate(len(next(part_lines(part_file), b"")) + 1)
        for half in part_file.parent.glob(f".{place[0]:04d}_*.tmp"):
            half.unlink(missing_ok=True)
        return slot

    def release(self, slot: Slot) -> None:
        """Remove the part file, last of all, so that a kill before this point leaves a trace."""
        slot.part_file.unlink(missing_ok=True)
        slot.part.close()

    def remove_exchanges(self, folder: Path, flow_ids: Collection[str]) -> list[Exchange]:
        """Remove the lines of exchanges that have moved; return the remaining exchanges."""
        with locked(folder):
            path = folder / EXCHANGES
            lines = read_file(path).splitlines(keepends=True) if path.exists() else []
            parsed = [(line, exchange_or_none(line)) for line in lines]
            kept = [(line, e) for line, e in parsed if e is None or e.flow_id not in flow_ids]
            if len(kept) < len(parsed):
                write_whole(path, b"".join(line for line, _ in kept))
        return [exchange for _, exchange in kept if exchange]

    def log_traffic(self, block: str) -> None:
        with open_file(self.root / TRAFFIC_LOG, os.O_CREAT | os.O_WRONLY | os.O_APPEND) as file:
            write_all(file, block.encode())

    def session_folders(self) -> list[Path]:
        """Return every folder that contains exchanges, `unknown` last."""
        folders = [
            folder
            for folder in self.root.iterdir()
            if is_session_id(folder.name) and not folder.is_symlink() and (folder / LOCK).exists()
        ]
        return sorted(folders, key=lambda folder: (folder.name == UNKNOWN, folder.name))

    def abandoned_parts(
        self, folder: Path, is_wanted: Callable[[Path], bool] = lambda part: True
    ) -> Iterator[Path]:
        """Yield the wanted part files of dead proxies, each locked while the caller uses it.

        `is_wanted` is called under the folder's lock: so a part that is not wanted never appears as
        locked to the process that wants it.
        """
        for part in sorted(folder.glob(f"*{PART_SUFFIX}")):
            try:
                file = open_file(part, os.O_RDWR)
            except OSError:
                continue  # another proxy took it, or it is a link
            with locked(folder):  # else another proxy may be just opening it
                if not (_taken(file) and part.exists() and is_wanted(part)):
                    file.close()
                    continue
            with file:
                yield part

    def clear_temporaries(self, folder: Path) -> None:
        """Remove the temporary files of killed proxies; those of running ones have a part file."""
        with locked(folder):
            for path in folder.glob(".*.tmp"):
                if (found := _TEMPORARY.fullmatch(path.name)) is None:
                    continue
                number = _SEQUENCE.match(found[1])
                if number is None or not any(folder.glob(f"{number[1]}_*{PART_SUFFIX}")):
                    path.unlink(missing_ok=True)

    def _next_sequence(self, folder: Path, lock: IO[bytes]) -> int:
        """Return the next number; the lock file contains the last, checked once per process."""
        digits = lock.read(_DIGITS)
        last = int(digits) if digits.isdigit() else 0
        if folder not in self._counted or not last:
            names = (_SEQUENCE.match(entry.name) for entry in os.scandir(folder))
            lines = (exchange.sequence for exchange in read_lines(folder / EXCHANGES))
            packed = (number for number, _ in ExchangeFiles(folder).all_keys())
            last = max(last, 0, *(int(name[1]) for name in names if name), *lines, *packed)
            self._counted.add(folder)
        lock.seek(0)
        write_all(lock, b"%0*d" % (_DIGITS, last + 1))  # fixed width, so no truncation is needed
        return last + 1


def part_lines(path: Path) -> Iterator[bytes]:
    """Yield the complete lines of a part file: a kill can cut off only the last."""
    rest = b""
    for piece in read_pieces(path):
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines


def is_session(folder: Path) -> bool:
    """Whether a folder certainly contains a capture: its manifest or a line of its index is one."""
    try:
        named = parse_manifest(read_file(folder / MANIFEST)).session_id
        if named == folder.name:
            return True
    except (OSError, ValueError):
        pass
    try:
        return bool(read_lines(folder / EXCHANGES))
    except OSError:
        return False


def read_lines(path: Path) -> list[Exchange]:
    """Return the exchanges in a file, which may be missing or have a truncated line."""
    try:
        lines = read_file(path).splitlines()
    except FileNotFoundError:
        return []
    return [exchange for line in lines if (exchange := exchange_or_none(line))]


def _made(folder: Path) -> bool:
    """Create a folder and its parents with mode 0700; return False if it exists."""
    if folder.is_dir():
        return False
    _made(folder.parent)
    try:
        folder.mkdir(0o700)
    except FileExistsError:
        if not folder.is_dir():
            raise
        return False
    folder.chmod(0o700)  # regardless of the umask
    return True


def _taken(file: IO[bytes]) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
