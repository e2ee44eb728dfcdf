"""Finds the client process of a hook, and checks whether a process is still running.

Uses /proc on Linux and `ps` elsewhere. Imports little: the hook runs at every prompt.
"""

# Importing pathlib takes longer than the hook's own work.
# ruff: noqa: PTH110, PTH119, PTH123

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Start times from `ps` are accurate to a second, and all of them shift when the clock is set.
TOLERANCE = 2.0

# The client runs a hook with `/bin/sh -c`; some shells exec the command, others remain its parent.
_SHELLS = frozenset(("sh", "ash", "bash", "busybox", "dash", "fish", "ksh", "mksh", "zsh", "env"))
_CLIENTS = frozenset(("claude", "node", "bun"))
_ANCESTORS = 10

MOST_BYTES = 32 << 20
_PIECE = 1 << 16
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_KIND, _REGULAR = 0o170000, 0o100000  # importing `stat` and `errno` would take longer
_INVALID, _TOO_LARGE = 22, 27


class Process:
    """A process; the start time distinguishes it from a later one with the same pid."""

    __slots__ = ("created_at", "name", "parent", "pid")

    def __init__(self, pid: int, parent: int, created_at: float, name: str) -> None:
        self.pid = pid
        self.parent = parent
        self.created_at = created_at
        self.name = name


type Lookup = Callable[[int], Process | None]


def find_client(lookup: Lookup, named: str | None, parent: int) -> Process | None:
    """Return the process named by the environment if it runs, else the first non-shell ancestor."""
    if named and named.isdecimal() and (process := lookup(int(named))):
        return process
    child_created_at = float("inf")
    for _ in range(_ANCESTORS):
        process = lookup(parent)
        # A parent younger than its child is another process that reuses the pid.
        if process is None or process.created_at > child_created_at + TOLERANCE:
            return None
        if process.name.lstrip("-") not in _SHELLS:
            # Orphans are adopted by process 1, which is the client only in a container.
            return process if process.pid > 1 or process.name in _CLIENTS else None
        parent, child_created_at = process.parent, process.created_at
    return None


def is_running(lookup: Lookup, pid: int, created_at: float) -> bool:
    """Return whether that process is running, and not another one with its pid."""
    process = lookup(pid)
    return process is not None and same((pid, created_at), (process.pid, process.created_at))


def same(one: tuple[int, float], other: tuple[int, float]) -> bool:
    """Return whether two (pid, start time) pairs are the same process."""
    return one[0] == other[0] and abs(one[1] - other[1]) <= TOLERANCE


def process_lookup() -> Lookup:
    """Return a function that looks up processes, for the duration of one hook."""
    if os.path.exists("/proc/self/stat"):
        return _ProcFolder("/proc").lookup
    return ps_table().get


class _ProcFolder:
    def __init__(self, root: str) -> None:
        self._root = root
        self._ticks = os.sysconf("SC_CLK_TCK")
        self._booted_at: float | None = None

    def lookup(self, pid: int) -> Process | None:
        try:
            stat = read_bytes(f"{self._root}/{pid}/stat")
        except OSError:
            return None
        # The name may contain spaces and parentheses.
        head, _, tail = stat.rpartition(b")")
        fields = tail.split()
        if fields[0] in (b"Z", b"X"):
            return None
        created_at = self._boot_time() + int(fields[19]) / self._ticks
        name = head.partition(b"(")[2].decode(errors="replace")
        return Process(pid, int(fields[1]), created_at, name)

    def _boot_time(self) -> float:
        # As psutil does it, so that both compute the same start times.
        if self._booted_at is None:
            stat = read_bytes(f"{self._root}/stat")
            self._booted_at = float(stat.partition(b"\nbtime ")[2].partition(b"\n")[0])
        return self._booted_at


def ps_table() -> dict[int, Process]:
    """Return every process that `ps` lists; empty if there is no `ps`."""
    try:
        reader, writer = os.pipe()
        pid = os.posix_spawn(
            "/bin/ps",
            ["ps", "-axo", "pid=,ppid=,state=,etime=,comm="],
            {"LC_ALL": "C"},
            file_actions=[(os.POSIX_SPAWN_DUP2, writer, 1)],
        )
    except (OSError, AttributeError):
        return {}
    os.close(writer)
    with open(reader, "rb") as file:
        lines = file.read().decode(errors="replace").splitlines()
    os.waitpid(pid, 0)
    now = time.time()
    table = {}
    for line in lines:
        number, parent, state, elapsed, name = line.split(None, 4)
        if not state.startswith("Z"):
            created_at = now - _seconds(elapsed)
            table[int(number)] = Process(
                int(number), int(parent), created_at, os.path.basename(name.rstrip())
            )
    return table


def _seconds(elapsed: str) -> int:
    """Parse `[[days-]hours:]minutes:seconds`, the format of `ps`."""
    days, _, clock = elapsed.rpartition("-")
    total = 0
    for part in clock.split(":"):
        total = total * 60 + int(part)
    return total + int(days or 0) * 86400


def read_bytes(path: str, last: int | None = None) -> bytes:
    """Return the content of a file, or only its `last` bytes; raise OSError if it is no file.

    A path may come from the payload: opening a pipe must not block, a device has no end, and a
    file may be larger than memory.
    """
    file = os.open(path, _READ)
    try:
        status = os.fstat(file)
        if status.st_mode & _KIND != _REGULAR:
            raise OSError(_INVALID, "Not a regular file", path)
        if last is not None:
            os.lseek(file, max(0, status.st_size - last), os.SEEK_SET)
        return read_all(file, MOST_BYTES if last is None else last)
    finally:
        os.close(file)


def read_all(file: int, most: int) -> bytes:
    """Return the rest of an open file; raise OSError if it is more than `most` bytes."""
    parts, size = [], 0
    while part := os.read(file, min(_PIECE, most + 1 - size)):
        parts.append(part)
        size += len(part)
        if size > most:
            raise OSError(_TOO_LARGE, "Larger than the hook reads", "input")
    return b"".join(parts)
