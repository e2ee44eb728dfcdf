"""The register of capture folders: `captures.json` in the home, which lists where captures are.

Whoever captures adds its folder, so that reading commands find a session wherever it was captured.
The register is a hint: a damaged one is read as far as it can be, and replaced by the next proxy.
It is changed under a lock, replaced atomically, bounded in size, and never waited for long.
"""

import errno
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from addon.hooks.sessions_file import Lock
from addon.storage.files import write_whole
from addon.storage.home import CAPTURES, make_home
from addon.storage.mounts import Disk, own_disk, real_path
from ccwire.wire.json_text import as_dict, dump, parse_json
from ccwire.wire.regular_file import open_regular
from ccwire.wire.safe_text import visible

REGISTRY = "captures.json"
VERSION = 1
MOST_FOLDERS = 500
_LARGEST = 4 << 20  # bytes that are read
_LONGEST_PATH = 4096
_LOCK_SECONDS = 1.0


class RegisteredFolder(NamedTuple):
    """A capture folder and the disk that it was on when it was registered, if that is known."""

    path: Path
    disk: Disk | None = None


def register(captures: Path, home: Path) -> None:
    """Add a capture folder that exists; raise OSError if that fails.

    The home's own captures are not listed: they are always looked at.
    """
    folder = real_path(captures)
    if not _is_usable(str(folder)):
        raise OSError(errno.EINVAL, "its path cannot be listed")
    if folder == real_path(home / CAPTURES):
        return
    entry = RegisteredFolder(folder, own_disk(folder))

    def with_entry(listed: list[RegisteredFolder]) -> list[RegisteredFolder]:
        return [*(other for other in listed if other.path != folder), entry]

    _change(home, with_entry, _LOCK_SECONDS)


def registered(home: Path) -> list[RegisteredFolder]:
    """Return the registered folders, the last one registered last; none if they are unreadable."""
    try:
        with open_regular(home / REGISTRY, follow=False) as file:
            data = file.read(_LARGEST + 1)
        return parse_registry(data)
    except (OSError, ValueError):
        return []


def forget(home: Path, gone: Collection[RegisteredFolder]) -> None:
    """Remove folders, unless they were registered again; what fails is left to the next reader."""
    try:
        _change(home, lambda listed: [e for e in listed if e not in gone], seconds=0)
    except OSError:
        return


def parse_registry(data: bytes) -> list[RegisteredFolder]:
    """Return the usable entries; raise ValueError if the file as a whole is unusable."""
    if len(data) > _LARGEST:
        raise ValueError("larger than a register can be")
    listed = as_dict(parse_json(data)).get("folders")
    entries = (_entry(as_dict(value)) for value in (listed if isinstance(listed, list) else []))
    by_path = {entry.path: entry for entry in entries if entry is not None}
    return list(by_path.values())[-MOST_FOLDERS:]


def dump_registry(entries: Iterable[RegisteredFolder]) -> bytes:
    folders = [
        {
            "path": str(entry.path),
            "mount_point": entry.disk.mount_point if entry.disk else None,
            "device": entry.disk.device if entry.disk else None,
        }
        for entry in entries
    ]
    return dump({"version": VERSION, "folders": folders}, for_people=True) + b"\n"


def _entry(value: dict[str, Any]) -> RegisteredFolder | None:
    path, top, device = (value.get(name) for name in ("path", "mount_point", "device"))
    if not _is_usable(path):
        return None
    if not _is_usable(top) or not isinstance(device, int):
        return RegisteredFolder(Path(path))
    return RegisteredFolder(Path(path), Disk(top, device))


def _is_usable(path: Any) -> TypeGuard[str]:
    """Whether it is an absolute path that can be written as text and printed on one line."""
    return (
        isinstance(path, str)
        and Path(path).is_absolute()
        and len(path) <= _LONGEST_PATH
        and path == visible(path)
        and not {"\n", "\t"} & set(path)
    )


def _change(
    home: Path,
    change: Callable[[list[RegisteredFolder]], list[RegisteredFolder]],
    seconds: float,
) -> None:
    path = make_home(home) / REGISTRY
    with _locked(path, seconds):
        before = registered(home)
        after = change(before)[-MOST_FOLDERS:]
        if after != before:
            for left_over in home.glob(f".{REGISTRY}.*.tmp"):  # by a proxy that was killed
                left_over.unlink(missing_ok=True)
            write_whole(path, dump_registry(after))


@contextmanager
def _locked(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock of the register; raise TimeoutError if another process holds it for long."""
    lock = Lock(str(path))
    deadline = time.monotonic() + seconds
    while not lock.take():
        if time.monotonic() >= deadline:
            raise TimeoutError(errno.ETIMEDOUT, "another process holds its lock")
        time.sleep(0.01)
    try:
        yield
    finally:
        lock.give_back()
