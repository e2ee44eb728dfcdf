"""The capture folder: who may write which file, under which number, and when it is whole.

Every file appears whole, by rename; folders are 0700 and files 0600 under any umask; symbolic
links are not followed. Several proxies may share a folder: each folder has a lock.
"""

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import orjson

from addon.format import (
    EXCHANGES,
    MANIFEST,
    PART_SUFFIX,
    TRAFFIC_LOG,
    UNKNOWN,
    Exchange,
    Manifest,
    file_name,
    is_session_id,
)

try:
    import fcntl
except ImportError:  # Windows: one proxy a folder
    fcntl = None  # type: ignore[assignment]

_LOCK = ".lock"
_SEQUENCE = re.compile(r"(\d{4,})_")


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


class CaptureStore:
    """All access to one capture folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def prepare(self) -> None:
        """Makes the folder; raises OSError where it cannot be written."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o700)
        ignore = self.root / ".gitignore"
        if not ignore.exists():
            write_new(ignore, b"*\n")

    def folder(self, session_id: str | None) -> Path:
        """A session's folder, made if need be; `unknown` for None."""
        name = UNKNOWN if session_id is None else session_id
        if not is_session_id(name):
            raise ValueError("not a session id")
        folder = self.root / name
        if not folder.is_dir():
            self.prepare()
            folder.mkdir(exist_ok=True)
            folder.chmod(0o700)
        if folder.is_symlink():
            raise OSError(f"{folder.name} is a symbolic link: not followed")
        return folder

    def open_slot(self, session_id: str | None, path: str) -> Slot:
        """Takes the next number of a session and marks it in flight."""
        folder = self.folder(session_id)
        with locked(folder) as lock:
            sequence = _next_sequence(folder, lock)
            name = Path(file_name(sequence, "resp", path)).with_suffix(PART_SUFFIX)
            part = _open(folder / name, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND)
            if fcntl is not None:
                fcntl.flock(part, fcntl.LOCK_EX)
        return Slot(folder, sequence, path, part)

    def release(self, slot: Slot) -> None:
        """The exchange is told everywhere: the part goes last, so that a kill leaves a trace."""
        slot.part_file.unlink(missing_ok=True)
        slot.part.close()

    def remove_exchange(self, folder: Path, flow_id: str) -> list[Exchange]:
        """Takes a line out (its exchange is filed elsewhere now); gives the lines that remain."""
        with locked(folder):
            path = folder / EXCHANGES
            kept = [e for e in read_lines(path) if e.flow_id != flow_id]
            write_whole(path, b"".join(orjson.dumps(e.to_json()) + b"\n" for e in kept))
        return kept

    def log_traffic(self, block: str) -> None:
        with _open(self.root / TRAFFIC_LOG, os.O_CREAT | os.O_WRONLY | os.O_APPEND) as file:
            file.write(block.encode())

    def abandoned_parts(self) -> Iterator[tuple[Path, IO[bytes]]]:
        """Parts that no living proxy holds, each locked for the caller while it looks."""
        for folder in sorted(self.root.iterdir()) if self.root.is_dir() else ():
            if not folder.is_dir() or folder.is_symlink():
                continue
            for part in sorted(folder.glob(f"*{PART_SUFFIX}")):
                try:
                    file = _open(part, os.O_RDWR)
                except OSError:
                    continue  # another proxy took it, or it is a link
                with file:
                    if fcntl is not None:
                        try:
                            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        except BlockingIOError:
                            continue
                    if part.exists():
                        yield part, file


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[IO[bytes]]:
    with _open(folder / _LOCK, os.O_CREAT | os.O_RDWR) as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def write_whole(path: Path, data: bytes) -> None:
    """Writes beside the place, then renames into it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with _open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC) as file:
            file.write(data)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def write_new(path: Path, data: bytes) -> bool:
    """Writes a file that is not there yet; False if another was first."""
    try:
        with _open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY) as file:
            file.write(data)
    except FileExistsError:
        return False
    return True


def append_lines(path: Path, lines: Sequence[bytes]) -> None:
    data = b"\n".join(lines) + b"\n"
    with _open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND) as file:
        end = file.seek(0, os.SEEK_END)
        if end:
            file.seek(end - 1)
            if file.read(1) != b"\n":  # a line that a kill cut short stays apart
                data = b"\n" + data
        file.write(data)


def read_lines(path: Path) -> list[Exchange]:
    """The exchanges of a file that may lack or have a line cut short."""
    exchanges = []
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    for line in data.splitlines():
        try:
            exchanges.append(Exchange.from_json(orjson.loads(line)))
        except (ValueError, TypeError, AttributeError):
            continue
    return exchanges


def read_manifest(folder: Path) -> Manifest:
    try:
        return Manifest.from_json(orjson.loads((folder / MANIFEST).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        return Manifest(session_id=folder.name)


def _next_sequence(folder: Path, lock: IO[bytes]) -> int:
    """The lock's own file holds the last number; without one the names are looked through."""
    last = lock.read(20)
    if last.isdigit():
        number = int(last) + 1
    else:
        found = (_SEQUENCE.match(entry.name) for entry in os.scandir(folder))
        number = max((int(name[1]) for name in found if name), default=0) + 1
    lock.seek(0)
    lock.write(b"%d" % number)
    return number


def _open(path: Path, flags: int) -> IO[bytes]:
    descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | os.O_CLOEXEC, 0o600)
    if flags & os.O_CREAT:
        os.fchmod(descriptor, 0o600)
    modes = {os.O_RDONLY: "rb", os.O_WRONLY: "wb", os.O_RDWR: "r+b"}
    mode = "r+b" if flags & os.O_RDWR else modes[flags & os.O_ACCMODE]
    return os.fdopen(descriptor, mode, buffering=0)
