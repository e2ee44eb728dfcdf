"""The folder of a journal: in a memory file system, one per proxy, locked while it is in use.

`ccwire-UID/` contains one folder per proxy. Proxy and writer process hold a shared lock on its
`lock`; a folder that nobody holds is abandoned, and the next proxy on the same captures replays it.
The files of an exchange are named by its number, its flow and a segment: `00000012-FLOW.0`.
"""

import contextlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, Self

from addon.storage.files import open_file, read_file, write_new
from ccwire.wire.json_text import dump, parse_object, text

try:
    import fcntl
except ImportError:  # Windows: there is no memory file system either
    fcntl = None  # type: ignore[assignment]

MEMORY = Path("/dev/shm")

_OWNER = "owner.json"
_LOCK = "lock"
_NEW = ".new-"
_FILE = re.compile(r"(\d{8,})-([A-Za-z0-9-]{1,64})\.(\d+)")
_FORGOTTEN_SECONDS = 24 * 3600.0  # after that, the journal of captures that are gone is removed
_MEMORY_TYPES = frozenset(("tmpfs", "ramfs"))


class JournalFile(NamedTuple):
    """One segment of the journal of one exchange."""

    number: int
    flow_id: str
    segment: int

    @property
    def name(self) -> str:
        return f"{self.number:08d}-{self.flow_id}.{self.segment}"


class JournalFolder:
    """A journal's folder, locked by this process."""

    def __init__(self, path: Path, lock: IO[bytes], run: str) -> None:
        self.path = path
        self.run = run
        self._lock = lock

    @classmethod
    def create(cls, captures: Path, run: str = "") -> Self:
        """Create the journal of a new proxy; raise OSError if there is no place for it."""
        base = _base()
        name = f"{os.getpid()}-{secrets.token_hex(4)}"
        path = base / f"{_NEW}{name}"
        path.mkdir(0o700)
        lock = open_file(path / _LOCK, os.O_CREAT | os.O_RDWR)
        _flock(lock, exclusive=False)
        write_new(path / _OWNER, dump({"captures": str(captures.absolute()), "run": run}))
        path = path.rename(base / name)  # found by others from here on, and locked
        return cls(path, lock, run)

    @classmethod
    def join(cls, path: Path) -> Self:
        """Open the journal of the proxy that started this process."""
        lock = open_file(path / _LOCK, os.O_RDWR)
        _flock(lock, exclusive=False)
        return cls(path, lock, text(_owner(path).get("run")) or "")

    def files(self) -> list[JournalFile]:
        """Return the files, the oldest exchange first."""
        return files_in(self.path)

    @property
    def free(self) -> int:
        """The bytes that are free in memory, or that the file system is limited to."""
        try:
            status = os.statvfs(self.path)
        except FileNotFoundError:
            return 0
        return status.f_bavail * status.f_frsize

    def close(self) -> None:
        self._lock.close()

    def remove(self) -> None:
        """Remove the folder, the lock last: without it, nobody could claim what is left."""
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.path):
                if entry.name != _LOCK:
                    Path(entry.path).unlink()
        shutil.rmtree(self.path, ignore_errors=True)
        self.close()


def captures_with_journals() -> set[Path]:
    """Return the capture folders of all journals of this user."""
    named = (text(_owner(path).get("captures")) for path in _all())
    return {Path(captures) for captures in named if captures}


def journals_of(captures: Path) -> list[Path]:
    """Return the folders of all journals of these captures, in use or not."""
    wanted = str(captures.absolute())
    return [path for path in _all() if _owner(path).get("captures") == wanted]


def files_in(path: Path) -> list[JournalFile]:
    """Return the files of a journal, whoever uses it, the oldest exchange first."""
    try:
        found = [_FILE.fullmatch(entry.name) for entry in os.scandir(path)]
    except OSError:
        return []
    return sorted(JournalFile(int(f[1]), f[2], int(f[3])) for f in found if f)


def flow_ids_in(path: Path) -> set[str]:
    """Return the flows that a journal can replay: it still has their first segment."""
    return {file.flow_id for file in files_in(path) if file.segment == 0}


def abandoned(captures: Path) -> Iterator[JournalFolder]:
    """Yield the journals of these captures that nobody uses, each locked for this process."""
    for path in journals_of(captures):
        if (lock := _claimed(path)) is not None:
            yield JournalFolder(path, lock, text(_owner(path).get("run")) or "")


def clear_forgotten(now: float | None = None) -> None:
    """Remove abandoned journals of captures that no longer exist, and half-created ones."""
    oldest = (time.time() if now is None else now) - _FORGOTTEN_SECONDS
    for path in _all(with_new=True):
        captures = text(_owner(path).get("captures"))
        if captures is not None and not path.name.startswith(_NEW) and Path(captures).exists():
            continue
        if _changed(path) < oldest and (lock := _claimed(path)) is not None:
            JournalFolder(path, lock, "").remove()


def _base() -> Path:
    """Return this user's folder for journals; raise OSError if it cannot be a private one."""
    if fcntl is None or not _is_in_memory(MEMORY):
        raise FileNotFoundError(2, "no memory file system")
    base = MEMORY / f"ccwire-{os.getuid()}"
    try:
        base.mkdir(0o700)
    except FileExistsError:
        status = base.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            raise
        if status.st_mode & 0o077:
            base.chmod(0o700)
    return base


def _is_in_memory(path: Path) -> bool:
    """Return whether a memory file system is mounted there: a plain folder would be on a disk."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return False
    for line in mounts:
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) > 4 and fields[4] == str(path) and after.split()[:1]:
            return after.split()[0] in _MEMORY_TYPES and os.access(path, os.W_OK | os.X_OK)
    return False


def _all(*, with_new: bool = False) -> list[Path]:
    try:
        found = [Path(entry.path) for entry in os.scandir(_base()) if entry.is_dir()]
    except OSError:
        return []
    return sorted(path for path in found if with_new or not path.name.startswith(_NEW))


def _owner(path: Path) -> dict[str, object]:
    try:
        return parse_object(read_file(path / _OWNER))
    except OSError:
        return {}


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return time.time()


def _claimed(path: Path) -> IO[bytes] | None:
    """Lock a journal exclusively; return None if somebody uses it."""
    try:
        lock = open_file(path / _LOCK, os.O_RDWR)
    except OSError:
        return None
    try:
        _flock(lock, exclusive=True)
    except OSError:
        lock.close()
        return None
    return lock


def _flock(file: IO[bytes], *, exclusive: bool) -> None:
    fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
