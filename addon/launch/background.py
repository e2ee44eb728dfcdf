"""Clients that a run's command leaves in the background, and how long their proxy is kept for them.

`claude --bg` hands its session to a service of Claude Code and exits. The command that starts the
service gives it its environment for good: proxy, certificate and the run's mark. So the sessions of
the service use the proxy of that run, and no other. The service exits 5 s after its last session;
an idle session keeps running, for more than 13 minutes.

What is waited for, and nothing else: processes with this run's mark that have a live record
(`sessions/<pid>.json`), which only clients have. Not a shell, an editor or an MCP server that the
client left behind. A session of the service is at work unless its record says `idle`; any other
client is until it exits. The service itself is waited for only until its first session is there.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from addon.identity.clients import run_mark
from addon.identity.live_records import LiveRecord, live_records
from ccwire.wire.format import short_id
from ccwire.wire.json_text import parse_json, whole
from ccwire.wire.regular_file import read_regular

LIMIT_HOURS = 12
LINGER_SECONDS = 60
_STARTING_SECONDS = 15.0  # a session has a live record at most 4 s after `--bg` returned
_LOOK_SECONDS = 0.5
_OF_SERVICE = "bg"  # the kind of the service's sessions
_IDLE = "idle"


@dataclass(frozen=True, slots=True)
class Background:
    """The clients of a run that are alive, and whether the run's background service is."""

    clients: tuple[LiveRecord, ...] = ()
    has_service: bool = False

    @property
    def is_gone(self) -> bool:
        return not self.clients and not self.has_service

    @property
    def is_at_work(self) -> bool:
        return any(c.kind != _OF_SERVICE or c.status != _IDLE for c in self.clients)

    @property
    def works(self) -> bool:
        """Whether a client is known to be at work: a session that starts has no status yet."""
        return any(c.kind != _OF_SERVICE or c.status not in (None, _IDLE) for c in self.clients)

    @property
    def sessions(self) -> list[str]:
        """The sessions of the service, by the ids that the user knows."""
        return [short_id(c.session_id or "") for c in self.clients if c.kind == _OF_SERVICE]

    @property
    def names(self) -> str:
        others = [f"process {c.pid}" for c in self.clients if c.kind != _OF_SERVICE]
        return ", ".join([*(f"session {session}" for session in self.sessions), *others])


@dataclass(frozen=True, slots=True)
class Patience:
    """How long clients in the background are waited for, in seconds."""

    idle: float = LINGER_SECONDS
    limit: float = LIMIT_HOURS * 3600.0


def background_of(claude_dir: Path, run: str) -> Background:
    """Look for the clients and the service of a run."""
    ours = [record for record in live_records(claude_dir) if run_mark(record.pid) == run]
    service = service_process(claude_dir)
    return Background(tuple(ours), service is not None and run_mark(service) == run)


def service_process(claude_dir: Path) -> int | None:
    """Return the process of Claude Code's background service, if it is running."""
    try:
        value = parse_json(read_regular(claude_dir / "daemon.lock"))
    except (OSError, ValueError):
        return None
    pid = whole(value.get("pid")) if isinstance(value, dict) else None
    return pid if pid and 0 < pid < 2**31 and _is_alive(pid) else None


def foreign_service(claude_dir: Path, run: str, moment: float) -> int | None:
    """Return the background service if the run did not start it, and it has worked since then.

    It keeps the proxy that it was started with, so its calls do not reach the run's.
    """
    service = service_process(claude_dir)
    if service is None or run_mark(service) == run:
        return None
    return service if _has_changed(claude_dir / "jobs", moment) else None


def wait_for_background(
    look: Callable[[], Background],
    is_stopped: Callable[[], bool],
    say: Callable[[Background], None],
    patience: Patience,
    *,
    now: Callable[[], float],
    sleep: Callable[[float], None],
) -> Background:
    """Wait while clients are at work; return what is still there, nothing if they have ended.

    `say` is called once, with the first clients that are found.
    """
    started = at_work = now()
    was_seen = has_worked = False
    while not (found := look()).is_gone and not is_stopped():
        if found.clients and not was_seen:
            was_seen = True
            say(found)
        has_worked = has_worked or found.works
        # A session is idle for a moment before it gets its prompt.
        is_starting = not has_worked and now() - started < _STARTING_SECONDS
        if found.is_at_work or is_starting:
            at_work = now()
        elif not found.clients or now() - at_work >= patience.idle:
            break
        if now() - started >= patience.limit:
            break
        sleep(_LOOK_SECONDS)
    return found


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _has_changed(jobs: Path, moment: float) -> bool:
    """Return whether the state of a session of the service has changed since that time."""
    for state in jobs.glob("*/state.json"):
        with suppress(OSError):  # the session has just been removed
            if state.stat().st_mtime >= moment:
                return True
    return False
