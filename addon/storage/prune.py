"""Deletes sessions from a capture folder, whole or not at all.

A session's folder is renamed to a hidden name first, under its lock: from then on no reader sees
it, and a proxy that continues the session starts a new folder. Then its files are deleted. A kill
leaves the hidden folder, which the next `prune` finishes.

Only files that ccwire writes are deleted (docs/format.md). A folder that contains anything else
gets its name back, with the rest in it. Links are not followed: a link is never a file of ccwire.
"""

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from addon.storage.files import LOCK, locked, open_file
from addon.storage.folder import is_session
from ccwire.wire.format import EXCHANGES, MANIFEST, PART_SUFFIX, TRAFFIC_LOG, is_session_id
from ccwire.wire.pack.segment import SEGMENT_SUFFIX
from ccwire.wire.pack.tar import TAR_SUFFIX

try:
    import fcntl
except ImportError:  # Windows: a part file counts as in flight
    fcntl = None  # type: ignore[assignment]

QUIET_SECONDS = 120.0  # a session written to within this time counts as in use
RECORDERS = ".recorders"  # in `unknown`, locked by the proxies that write to it
_HIDDEN = re.compile(r"\.pruned-([A-Za-z0-9-]{1,64})-[0-9a-f]{8}")
_PACK = f"{re.escape(SEGMENT_SUFFIX)}|{re.escape(TAR_SUFFIX)}"
_SLUG = r"[A-Za-z0-9_]+"  # of a URL's path
_NAMED = rf"\d{{4,12}}_(?:req|resp)_{_SLUG}\.json|{re.escape(MANIFEST)}|{re.escape(EXCHANGES)}"
_OWN_FILE = re.compile(
    rf"(?:{_NAMED})"
    rf"|\d{{4,12}}_resp_{_SLUG}{re.escape(PART_SUFFIX)}(?:\.unreadable)?"
    rf"|\d{{4,12}}(?:{_PACK})"
    rf"|\.(?:{_NAMED}|packing)\.[0-9a-f]{{16}}\.tmp"
)
_OWN_NAMES = frozenset({MANIFEST, EXCHANGES, LOCK, RECORDERS})


class InUse(Exception):
    """A proxy is writing to the session, or was a moment ago."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """What was deleted of a session; `left` are the names of other files, in `folder`."""

    session_id: str
    files: int
    bytes: int
    folder: Path
    left: tuple[str, ...] = ()


def delete_session(folder: Path, now: float | None = None) -> Deleted:
    """Delete a session; raise InUse if it is being captured, OSError if it cannot be deleted."""
    if folder.is_symlink():
        raise NotADirectoryError(f"{folder} is a symbolic link")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "you may not delete its files", str(folder))
    if not is_session(folder):
        raise OSError(errno.EINVAL, "it has no manifest or index of a capture", str(folder))
    with locked(folder):
        if why := _why_in_use(folder, _now(now)):
            raise InUse(why)
        hidden = folder.with_name(f".pruned-{folder.name}-{secrets.token_hex(4)}")
        folder.rename(hidden)
        return _emptied(hidden, folder)


def why_in_use(folder: Path, now: float | None = None) -> str | None:
    """Return why a session must not be deleted now; None if it may."""
    try:
        return _why_not_now(folder, now)
    except OSError as error:
        return f"it cannot be read ({error.strerror})"


def _why_not_now(folder: Path, now: float | None) -> str | None:
    if any(_is_locked_by_writers(name) for name in _names(folder)):
        with locked(folder):  # else a lock that is only tried may look like a writer's
            return _why_in_use(folder, _now(now))
    return _why_in_use(folder, _now(now))


def unfinished(captures: Path) -> list[Path]:
    """Return the folders that an interrupted deletion has left."""
    if not captures.is_dir():
        return []
    return sorted(
        path
        for path in captures.iterdir()
        if _HIDDEN.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
    )


def finish(hidden: Path) -> Deleted:
    """Complete an interrupted deletion."""
    found = _HIDDEN.fullmatch(hidden.name)
    assert found is not None, hidden
    return _emptied(hidden, hidden.with_name(found[1]))


def delete_log_of_none(captures: Path) -> bool:
    """Delete `traffic.log` if no session is left that it is about; return whether it was."""
    log = captures / TRAFFIC_LOG
    if not log.is_file() or log.is_symlink() or any(map(_has_exchanges, captures.iterdir())):
        return False
    log.unlink(missing_ok=True)
    return True


def is_own_file(name: str) -> bool:
    """Whether ccwire writes files of this name into a session's folder."""
    return name in _OWN_NAMES or _OWN_FILE.fullmatch(name) is not None


def _emptied(hidden: Path, folder: Path) -> Deleted:
    """Delete the files in a hidden folder, then the folder, or give it its name back."""
    size = count = 0
    left: list[str] = []
    for name, status in _files(hidden):
        if not (stat.S_ISREG(status.st_mode) and is_own_file(name)):
            left.append(name)
            continue
        (hidden / name).unlink(missing_ok=True)
        size, count = size + status.st_size, count + 1
    if not left:
        hidden.rmdir()
        return Deleted(folder.name, count, size, folder)
    if not os.path.lexists(folder):  # else the session was continued in the meantime
        hidden = hidden.rename(folder)
    return Deleted(folder.name, count, size, hidden, tuple(left))


def _has_exchanges(folder: Path) -> bool:
    names = EXCHANGES, MANIFEST, LOCK
    return is_session_id(folder.name) and any((folder / name).exists() for name in names)


def _why_in_use(folder: Path, now: float) -> str | None:
    newest = 0.0
    for name, status in _files(folder):
        if _is_locked_by_writers(name) and _is_locked(folder / name):
            return "a proxy is running" if name == RECORDERS else "an exchange is in flight"
        if name != LOCK and is_own_file(name):
            newest = max(newest, status.st_mtime)
    if newest > now - QUIET_SECONDS:
        return f"it was written to in the last {QUIET_SECONDS / 60:.0f} minutes"
    return None


def _is_locked_by_writers(name: str) -> bool:
    return name.endswith(PART_SUFFIX) or name == RECORDERS


def _is_locked(path: Path) -> bool:
    if fcntl is None:
        return True
    try:
        file = open_file(path, os.O_RDWR)
    except OSError:
        return False  # it is gone, or a link
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _names(folder: Path) -> list[str]:
    return [name for name, _ in _files(folder)]


def _files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the names in a folder, sorted, without those that are gone in the meantime."""
    for name in sorted(os.listdir(folder)):  # noqa: PTH208, names are enough
        try:
            yield name, (folder / name).lstat()
        except FileNotFoundError:
            continue


def _now(given: float | None) -> float:
    return time.time() if given is None else given
