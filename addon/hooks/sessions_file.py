"""`sessions.json` on disk: the home it is in, its path, lock and format, events, and `hook.log`.

Imports little: the hook runs at every prompt.
"""

# Importing pathlib takes longer than the hook's own work.
# ruff: noqa: PTH103, PTH104, PTH105, PTH108, PTH111, PTH112, PTH118, PTH120, PTH123, PTH208

import os
import sys
import time

from addon.hooks.client_process import read_bytes
from addon.hooks.fast_json import Json, dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 1
DEFAULT_HOME = "~/.ccwire"
LOG_BYTES = 128 * 1024
MOST_EVENTS = 1000  # limits disk use while sessions.json cannot be written
# Neither a planted link nor a planted pipe is opened.
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS


type SessionsDocument = dict[str, Json]
type Environment = Mapping[str, str]


class SessionsFileError(ValueError):
    """sessions.json exists but is invalid; the message is the reason."""


def home_path(environment: Environment) -> str:
    """Return `CCWIRE_HOME`, else `~/.ccwire`; it still begins with `~` if the user has no home."""
    return os.path.expanduser(environment.get("CCWIRE_HOME") or DEFAULT_HOME)


def sessions_path(explicit: str | None, environment: Environment) -> str:
    """Return the path given, else `CCWIRE_SESSIONS`, else `sessions.json` in the home."""
    path = explicit or environment.get("CCWIRE_SESSIONS")
    path = path or os.path.join(home_path(environment), "sessions.json")
    # Resolve a symbolic link, so that replacing the file keeps the link.
    return os.path.realpath(os.path.expanduser(path))


def make_folder(path: str) -> None:
    """Create the folder with mode 0700, but not a home directory that does not exist."""
    folder = os.path.dirname(path)
    home = os.path.dirname(folder)
    if path == sessions_path(None, {}) and not os.path.isdir(home):
        import errno  # rarely needed, as below

        raise FileNotFoundError(errno.ENOENT, "The home directory does not exist", home)
    os.makedirs(folder, 0o700, exist_ok=True)


def leave_event(path: str, event: Json) -> str:
    """Write an event to a file for the next holder of the lock to process; return the file.

    So no event is lost when many arrive at once or when the lock is held for too long.
    """
    folder = path + ".events"
    os.makedirs(folder, 0o700, exist_ok=True)
    if len(os.listdir(folder)) >= MOST_EVENTS:
        import errno

        raise OSError(errno.EDQUOT, "Too many events are waiting", folder)
    name = f"{time.time_ns()}-{os.getpid()}"
    hidden, shown = os.path.join(folder, "." + name), os.path.join(folder, name)
    with open(os.open(hidden, _CREATE, 0o600), "wb") as file:
        file.write(dumps(event).encode())
    os.rename(hidden, shown)
    return shown


def events_left(path: str) -> list[str]:
    """Return the files of the waiting events, the oldest first."""
    folder = path + ".events"
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name[0] != "."]


class Lock:
    """The lock for changing sessions.json: `if lock.take(): …; lock.give_back()`.

    The system releases it when the process ends.
    """

    def __init__(self, path: str) -> None:
        # A separate file, because sessions.json is replaced at each change.
        self._path = path + ".lock"
        self._file = -1

    def take(self) -> bool:
        """Try to take the lock without waiting; return whether that succeeded."""
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o600)
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


def read_document(path: str) -> SessionsDocument:
    """Return the document, or a new one if there is no file; raise SessionsFileError."""
    try:
        text = read_bytes(path).decode()
        document = loads(text) if text.strip() else {}
    except FileNotFoundError:
        document = {}
    except (ValueError, RecursionError) as error:
        raise SessionsFileError(f"not JSON ({error})") from error
    if not isinstance(document, dict):
        raise SessionsFileError("not a JSON object")
    document.setdefault("version", VERSION)
    if not isinstance(document.setdefault("sessions", []), list):
        raise SessionsFileError('"sessions" is not a list')
    return document


def write_document(path: str, document: SessionsDocument) -> None:
    """Replace the file atomically; the caller holds the lock."""
    rest = {name: value for name, value in document.items() if name != "sessions"}
    head = dumps({**rest, "sessions": []}).removesuffix("]}")
    entries = ",\n".join([dumps(entry) for entry in document["sessions"]])
    temporary = path + ".tmp"
    try:
        descriptor = os.open(temporary, _CREATE, 0o600)
    except FileExistsError:
        # A leftover from a killed hook, or planted: with the lock held, nobody else uses it.
        os.unlink(temporary)
        descriptor = os.open(temporary, _CREATE, 0o600)
    with open(descriptor, "wb") as file:
        file.write(f"{head}\n{entries}\n]}}\n".encode())
    os.replace(temporary, path)


def set_aside(path: str) -> str:
    """Rename an invalid file to a unique name and return that name."""
    aside = f"{path}.corrupt-{time.time_ns()}"
    os.rename(path, aside)
    return aside


def log(path: str, message: str) -> None:
    """Append a line to `hook.log` in the same folder; keep the previous log as `hook.log.1`."""
    log_path = os.path.join(os.path.dirname(path), "hook.log")
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    file = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_LINKS, 0o600)
    try:
        if os.fstat(file).st_size > LOG_BYTES:
            os.replace(log_path, log_path + ".1")
        os.write(file, f"{stamp} {message}\n".encode(errors="backslashreplace"))
    finally:
        os.close(file)
