"""Writes files atomically, readable by their owner only, without following symbolic links."""

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from ccwire.wire.regular_file import NO_LINKS, insist_on_regular

try:
    import fcntl
except ImportError:  # Windows: one proxy per folder
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"
_PIECE = 1 << 20
_FLAGS = NO_LINKS | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[IO[bytes]]:
    """Lock a folder; raise FileNotFoundError if it was deleted while waiting for the lock."""
    path = folder / LOCK
    while True:
        with open_file(path, os.O_CREAT | os.O_RDWR) as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
                if not _is_at(file, path):  # the folder was deleted, and may be there again
                    continue
            yield file
            return


def _is_at(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.lstat())
    except FileNotFoundError:
        return False


def write_whole(path: Path, data: bytes) -> None:
    """Write a temporary file in the same folder, then rename it."""
    write_pieces(path, (data,))


def write_pieces(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file as `write_whole` does, from pieces that need not be in memory together."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open_file(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY) as file:
            for piece in pieces:
                write_all(file, piece)
        temporary.replace(path)
    except BaseException:  # Ctrl-C too
        temporary.unlink(missing_ok=True)
        raise


def write_new(path: Path, data: bytes) -> bool:
    """Write a file that does not exist yet; return False if it exists."""
    try:
        with open_file(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY) as file:
            write_all(file, data)
    except FileExistsError:
        return False
    return True


def append_lines(path: Path, lines: Sequence[bytes]) -> None:
    """Append all of the lines, or none if writing fails."""
    data = b"\n".join(lines) + b"\n"
    with open_file(path, os.O_CREAT | os.O_RDWR | os.O_APPEND) as file:
        end = file.seek(0, os.SEEK_END)
        if end:
            file.seek(end - 1)
            if file.read(1) != b"\n":  # keep a line that a kill cut off separate
                data = b"\n" + data
        try:
            write_all(file, data)
        except OSError:
            file.truncate(end)
            raise


def write_all(file: IO[bytes], data: bytes) -> None:
    """Write all data: on a full disk, a write may be partial and only the next one fails."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def read_file(path: Path) -> bytes:
    with open_file(path, os.O_RDONLY) as file:
        return file.read()


def read_pieces(path: Path, start: int = 0) -> Iterator[bytes]:
    """Yield the content of a file from that position on."""
    with open_file(path, os.O_RDONLY) as file:
        file.seek(start)
        while piece := file.read(_PIECE):
            yield piece


def open_file(path: Path, flags: int) -> IO[bytes]:
    """Open a regular file, created with mode 0600; a link or a pipe in its place is an error."""
    descriptor = os.open(path, flags | _FLAGS, 0o600)
    try:
        insist_on_regular(descriptor, path)
        if flags & os.O_CREAT:
            os.fchmod(descriptor, 0o600)
    except BaseException:
        os.close(descriptor)
        raise
    modes = {os.O_RDONLY: "rb", os.O_WRONLY: "wb", os.O_RDWR: "r+b"}
    return os.fdopen(descriptor, modes[flags & (os.O_WRONLY | os.O_RDWR)], buffering=0)


def sync_folder(folder: Path) -> None:
    """Wait until renames and removals are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NO_LINKS)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
