"""The capture folder: who may write which file, under which number, and when it is whole.

Every file appears whole, by rename; folders are 0700 and files 0600 under any umask; symbolic
links are not followed. Several proxies may share a folder: each folder has a lock.
"""

import errno
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from addon.identity.session import is_usable
from addon.storage.files import (
    LOCK,
    locked,
    open_file,
    read_file,
    write_all,
    write_new,
    write_whole,
)
from ccwire.wire.format import (
    EXCHANGES,
    PART_SUFFIX,
    TRAFFIC_LOG,
    UNKNOWN,
    Exchange,
    file_name,
    is_session_id,
    parse_exchange,
)

try:
    import fcntl
except ImportError:  # Windows: one proxy a folder
    fcntl = None  # type: ignore[assignment]

_DIGITS = 12
_SEQUENCE = re.compile(r"(\d{4,})_(?:req_|resp_|pack\.)")
_TEMPORARY = re.compile(r"\.(.+)\.\d+\.tmp")


@dataclass(slots=True)
class Slot:
    """An exchange's place: its folder, its number, and the part file that marks it in flight."""

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
        """Adds to the part what a kill must not take."""
        write_all(self.part, line + b"\n")


class CaptureStore:
    """All access to one capture folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._counted: set[Path] = set()  # folders whose numbers this process has looked through

    def prepare(self) -> None:
        """Makes the folder; raises OSError where it cannot be written."""
        is_ours = _made(self.root) or not any(self.root.iterdir())
        ignore = self.root / ".gitignore"
        if not write_new(ignore, b"*\n") and ignore.is_file():
            is_ours = is_ours or ignore.read_bytes().startswith(b"*\n")
        if is_ours:  # and not a folder that has long held something else
            self.root.chmod(0o700)

    def folder(self, session_id: str | None) -> Path:
        """A session's folder, made if need be; `unknown` for None."""
        if session_id is not None and not is_usable(session_id):
            raise ValueError("not a session id")
        folder = self.root / (session_id or UNKNOWN)
        if not folder.is_dir():
            self.prepare()
            _made(folder)
        if folder.is_symlink():
            raise OSError(errno.ELOOP, "a session's folder is a symbolic link: not followed")
        return folder

    def open_slot(self, session_id: str | None, path: str) -> Slot:
        """Takes the next number of a session and marks it in flight."""
        folder = self.folder(session_id)
        with locked(folder) as lock:
            sequence = self._next_sequence(folder, lock)
            name = Path(file_name(sequence, "resp", path)).with_suffix(PART_SUFFIX)
            part = open_file(folder / name, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND)
            if fcntl is not None:
                fcntl.flock(part, fcntl.LOCK_EX)
        return Slot(folder, sequence, path, part)

    def release(self, slot: Slot) -> None:
        """The exchange is told everywhere: the part goes last, so that a kill leaves a trace."""
        slot.part_file.unlink(missing_ok=True)
        slot.part.close()

    def remove_exchanges(self, folder: Path, flow_ids: Collection[str]) -> list[Exchange]:
        """Takes lines out (their exchanges are filed elsewhere now); gives those that remain."""
        with locked(folder):
            path = folder / EXCHANGES
            lines = read_file(path).splitlines(keepends=True) if path.exists() else []
            told = [(line, _exchange(line)) for line in lines]
            kept = [(line, e) for line, e in told if e is None or e.flow_id not in flow_ids]
            if len(kept) < len(told):
                write_whole(path, b"".join(line for line, _ in kept))
        return [exchange for _, exchange in kept if exchange]

    def log_traffic(self, block: str) -> None:
        with open_file(self.root / TRAFFIC_LOG, os.O_CREAT | os.O_WRONLY | os.O_APPEND) as file:
            write_all(file, block.encode())

    def session_folders(self) -> list[Path]:
        """Every folder that exchanges were filed in, `unknown` last."""
        folders = [
            folder
            for folder in self.root.iterdir()
            if is_session_id(folder.name) and not folder.is_symlink() and (folder / LOCK).exists()
        ]
        return sorted(folders, key=lambda folder: (folder.name == UNKNOWN, folder.name))

    def abandoned_parts(self, folder: Path) -> Iterator[tuple[Path, IO[bytes]]]:
        """Parts that no living proxy holds, each locked for the caller while it looks."""
        for part in sorted(folder.glob(f"*{PART_SUFFIX}")):
            try:
                file = open_file(part, os.O_RDWR)
            except OSError:
                continue  # another proxy took it, or it is a link
            with file:
                with locked(folder):  # else it may be one that is just being opened
                    if not _taken(file):
                        continue
                if part.exists():
                    yield part, file

    def clear_temporaries(self, folder: Path) -> None:
        """Removes what a killed proxy was writing; what a living one writes has its part."""
        with locked(folder):
            for path in folder.glob(".*.tmp"):
                if (found := _TEMPORARY.fullmatch(path.name)) is None:
                    continue
                number = _SEQUENCE.match(found[1])
                if number is None or not any(folder.glob(f"{number[1]}_*{PART_SUFFIX}")):
                    path.unlink(missing_ok=True)

    def _next_sequence(self, folder: Path, lock: IO[bytes]) -> int:
        """The lock's own file holds the last number; a proxy trusts it once it has looked."""
        told = lock.read(_DIGITS)
        last = int(told) if told.isdigit() else 0
        if folder not in self._counted or not last:
            names = (_SEQUENCE.match(entry.name) for entry in os.scandir(folder))
            lines = (exchange.sequence for exchange in read_lines(folder / EXCHANGES))
            last = max(last, 0, *(int(name[1]) for name in names if name), *lines)
            self._counted.add(folder)
        lock.seek(0)
        write_all(lock, b"%0*d" % (_DIGITS, last + 1))  # of one length: nothing to cut off
        return last + 1


def read_lines(path: Path) -> list[Exchange]:
    """The exchanges of a file that may lack or have a line cut short."""
    try:
        lines = read_file(path).splitlines()
    except FileNotFoundError:
        return []
    return [exchange for line in lines if (exchange := _exchange(line))]


def _exchange(line: bytes) -> Exchange | None:
    try:
        return parse_exchange(line)
    except ValueError:
        return None


def _made(folder: Path) -> bool:
    """Makes a folder and those above it, for their owner alone; False if it was there."""
    if folder.is_dir():
        return False
    _made(folder.parent)
    try:
        folder.mkdir(0o700)
    except FileExistsError:
        if not folder.is_dir():
            raise
        return False
    folder.chmod(0o700)  # whatever the umask has taken
    return True


def _taken(file: IO[bytes]) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
