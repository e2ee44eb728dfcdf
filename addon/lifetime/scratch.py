"""The folder of one run, for files that the client reads; it exists only while the run does.

The proxy creates it and removes it. If both the run and its proxy are killed, the next run removes
it: a living owner holds a shared lock on a file in it. A folder without that file is left alone.
"""

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
import stat
import tempfile
from pathlib import Path

_PREFIX = "ccwire-run-"
_LOCK = "lock"


def new_folder() -> Path:
    """Return the name for a new folder. No file is created."""
    return Path(tempfile.gettempdir()) / f"{_PREFIX}{secrets.token_hex(8)}"


def hold(folder: Path) -> int:
    """Create the folder if it does not exist, and return a descriptor that keeps it in use.

    Raise OSError if it is not ours, because everyone can create files beside it.
    """
    while True:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        with contextlib.suppress(FileNotFoundError):  # removed as a stale one just now
            if not _is_ours(folder):
                raise PermissionError(errno.EPERM, f"{folder} belongs to another user")
            descriptor = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            if _is_at(descriptor, folder / _LOCK):
                return descriptor
            os.close(descriptor)


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def remove_stale() -> None:
    """Remove the folders of runs that were killed together with their proxies."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # in use, of another user, or just removed
            if not _is_ours(folder):
                continue
            descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(folder)
            finally:
                os.close(descriptor)


def _is_ours(folder: Path) -> bool:
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False
