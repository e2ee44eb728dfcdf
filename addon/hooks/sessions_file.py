"""`sessions.json` on disk: where it is, its lock, how it is read and replaced, the log beside it.

Imports little: the hook runs at every prompt.
"""

# Importing pathlib takes longer than all the hook does.
# ruff: noqa: PTH103, PTH104, PTH105, PTH111, PTH112, PTH118, PTH120, PTH123, PTH208

import errno
import os
import sys
import time

from addon.hooks.client_process import read_bytes
from addon.hooks.fast_json import Json, dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 1
DEFAULT_PATH = "~/.ccwire/sessions.json"
LOG_BYTES = 128 * 1024
MOST_EVENTS = 1000  # a map that cannot be written must not fill the disk beside it


type Document = dict[str, Json]
type Environment = Mapping[str, str]


class SessionsFileError(ValueError):
    """The file is there and is not a map of sessions; says what is wrong with it."""


def sessions_path(explicit: str | None, environment: Environment) -> str:
    """The path given, else `CCWIRE_SESSIONS`, else `~/.ccwire/sessions.json`."""
    path = explicit or environment.get("CCWIRE_SESSIONS") or DEFAULT_PATH
    # A link is followed, so that replacing the file leaves the link in place.
    return os.path.realpath(os.path.expanduser(path))


def make_folder(path: str) -> None:
    """The folder for the map, for its owner alone; a home that is not there is not made up."""
    folder = os.path.dirname(path)
    home = os.path.dirname(folder)
    if path == sessions_path(None, {}) and not os.path.isdir(home):
        raise FileNotFoundError(errno.ENOENT, "There is no such home", home)
    os.makedirs(folder, 0o700, exist_ok=True)


def leave_event(path: str, event: Json) -> str:
    """Puts an event where whoever next holds the lock takes it in; gives the file it is in.

    So none is lost when many come at once, or when a lock is not given back in time.
    """
    folder = path + ".events"
    os.makedirs(folder, 0o700, exist_ok=True)
    if len(os.listdir(folder)) >= MOST_EVENTS:
        raise OSError(errno.EDQUOT, "Too many events wait to be taken in", folder)
    name = f"{time.time_ns()}-{os.getpid()}"
    hidden, shown = os.path.join(folder, "." + name), os.path.join(folder, name)
    with open(os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(dumps(event).encode())
    os.rename(hidden, shown)
    return shown


def events_left(path: str) -> list[str]:
    """The files of the events that nobody has taken in yet, the oldest first."""
    folder = path + ".events"
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name[0] != "."]


class Lock:
    """The right to change the map: `if lock.take(): …; lock.give_back()`. It dies with us."""

    def __init__(self, path: str) -> None:
        # The map itself is replaced at each change: a lock on it would be a lock on an old one.
        self._path = path + ".lock"
        self._file = -1

    def take(self) -> bool:
        """Whether it is ours now; never waits."""
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        if _try_lock(self._file):
            return True
        self.give_back()
        return False

    def give_back(self) -> None:
        os.close(self._file)


def _try_lock(file: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def read_document(path: str) -> Document:
    """The map as it stands, a new one where there is none; raises SessionsFileError."""
    try:
        text = read_bytes(path).decode()
        document = loads(text) if text.strip() else {}
    except FileNotFoundError:
        document = {}
    except (ValueError, RecursionError) as error:
        raise SessionsFileError(f"it is not JSON ({error})") from error
    if not isinstance(document, dict):
        raise SessionsFileError("it is not a JSON object")
    document.setdefault("version", VERSION)
    if not isinstance(document.setdefault("sessions", []), list):
        raise SessionsFileError('its "sessions" is not a list')
    return document


def write_document(path: str, document: Document) -> None:
    """Replaces the map at once; call it with the lock held."""
    rest = {name: value for name, value in document.items() if name != "sessions"}
    head = dumps({**rest, "sessions": []}).removesuffix("]}")
    entries = ",\n".join([dumps(entry) for entry in document["sessions"]])
    # One left behind by a hook that was killed is written over: with the lock held, nobody uses it.
    temporary = path + ".tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(temporary, flags, 0o600), "wb") as file:
        file.write(f"{head}\n{entries}\n]}}\n".encode())
    os.replace(temporary, path)


def set_aside(path: str) -> str:
    """Moves a file that cannot be read out of the way, under a name no other file has."""
    aside = f"{path}.corrupt-{time.time_ns()}"
    os.rename(path, aside)
    return aside


def log(path: str, message: str) -> None:
    """One line in `hook.log` beside the map; the last full log is kept as `hook.log.1`."""
    log_path = os.path.join(os.path.dirname(path), "hook.log")
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    file = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        if os.fstat(file).st_size > LOG_BYTES:
            os.replace(log_path, log_path + ".1")
        os.write(file, f"{stamp} {message}\n".encode(errors="backslashreplace"))
    finally:
        os.close(file)
