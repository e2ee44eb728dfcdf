"""What a hook's event does to the list of sessions: pure, with no file, clock or process in it.

An entry is a session in one process. Fields that others wrote into it are kept as they are.
"""

from addon.hooks.client_process import same
from addon.hooks.fast_json import Json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

type Entry = dict[str, Json]
type IsRunning = Callable[[int, float], bool]

EVENTS = (
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "Stop",
    "SubagentStart",
    "SubagentStop",
)

# What of a payload is of use here; the rest is what people wrote, and goes no further.
FIELDS = (
    "hook_event_name",
    "session_id",
    "transcript_path",
    "cwd",
    "source",
    "reason",
    "agent_id",
    "agent_type",
)

# What is over is kept for telemetry that comes late and for `ccwire sessions`, not for ever: each
# hook reads and writes them all.
KEPT_ENTRIES = 100
KEPT_AGENTS = 500


class PayloadError(ValueError):
    """What is wrong with a payload, without quoting it: fit for a log."""


class HookClient:
    """What a hook knows of the client that started it, beside the payload."""

    __slots__ = ("entrypoint", "process", "project_dir", "version")

    def __init__(
        self,
        process: tuple[int, float] | None = None,
        project_dir: str | None = None,
        entrypoint: str | None = None,
        version: str | None = None,
    ) -> None:
        self.process = process
        self.project_dir = project_dir
        self.entrypoint = entrypoint
        self.version = version


def apply_event(sessions: list[Json], payload: Entry, client: HookClient, now: float) -> None:
    """Changes `sessions` by one event; raises PayloadError if the payload names no session."""
    entry = _entry(sessions, session_of(payload), client)
    event = payload.get("hook_event_name")
    if event in ("SessionStart", "UserPromptSubmit"):
        _end_others(sessions, entry, client, now)
    if event == "SessionEnd":
        _end(entry, "exited", now, _text(payload, "reason") or "other")
    elif event == "SessionStart":
        if entry["state"] != "active":
            entry["metadata"]["started_at"] = now
        entry["source"] = _text(payload, "source")
        entry["project_dir"] = client.project_dir or _text(payload, "cwd")
        _make_active(sessions, entry)
    elif event == "UserPromptSubmit" or entry["state"] != "exited":
        # A Stop may come in after its session's end: only a prompt proves that it goes on.
        _make_active(sessions, entry)
    _note(entry, payload, client, now)


def mark_crashed(sessions: list[Json], is_running: IsRunning) -> None:
    """Active sessions whose process is gone said no goodbye."""
    for entry in _entries(sessions):
        process = process_of(entry)
        if entry.get("state") == "active" and process and not is_running(*process):
            # When it died is not known, and the time it was noticed says nothing.
            _end(entry, "crashed", None, "process gone")


def drop_oldest(sessions: list[Json], kept: int = KEPT_ENTRIES) -> None:
    """Forgets the oldest of those that are over, or that no process can be asked about."""
    over = [e for e in _entries(sessions) if e.get("state") != "active" or not process_of(e)]
    dropped = {id(entry) for entry in over[: max(0, len(over) - kept)]}
    if dropped:
        sessions[:] = [entry for entry in sessions if id(entry) not in dropped]


def session_of(payload: Entry) -> str:
    """The session a payload names; raises PayloadError."""
    value = _text(payload, "session_id") or ""
    # The same rule as `ccwire.wire.format.is_session_id`, without regular expressions to import.
    if len(value) <= 64 and value.isascii() and value.replace("-", "0").isalnum():
        return value
    raise PayloadError("the payload names no session")


def process_of(entry: Entry) -> tuple[int, float] | None:
    """An entry's process: its pid and when it started, where both are known."""
    metadata = entry.get("metadata")
    if not isinstance(metadata, dict):
        return None
    pid, created_at = metadata.get("claude_pid"), metadata.get("process_created_at")
    if type(pid) is not int or not isinstance(created_at, (int, float)):
        return None
    return pid, created_at


def _entries(sessions: list[Json]) -> list[Entry]:
    return [entry for entry in sessions if isinstance(entry, dict)]


def _entry(sessions: list[Json], session_id: str, client: HookClient) -> Entry:
    """The session's entry for this client; one that is over, or of unknown process, is reused."""
    found = None
    for entry in _entries(sessions):
        if entry.get("session_id") != session_id:
            continue
        if client.process is None or _is_of(entry, client):
            return _completed(entry)
        if entry.get("state") != "active" or process_of(entry) is None:
            found = entry
    if found is None:
        found = _completed({"session_id": session_id})
        sessions.append(found)
    else:
        # Another process goes on with it: what was true of the last one is not of this one.
        found["state"] = None
        _completed(found)["metadata"]["claude_version"] = None
    return found


def _completed(entry: Entry) -> Entry:
    """Gives an entry the fields it lacks, in the order of the design."""
    for name in ("state", "project_dir", "transcript_path", "source"):
        entry.setdefault(name, None)
    if not isinstance(entry.get("metadata"), dict):
        entry["metadata"] = {}
    for name in _METADATA:
        entry["metadata"].setdefault(name, None)
    return entry


_METADATA = (
    "claude_pid",
    "process_created_at",
    "claude_version",
    "started_at",
    "ended_at",
    "end_reason",
)


def _is_of(entry: Entry, client: HookClient) -> bool:
    process = process_of(entry)
    return process is not None and client.process is not None and same(process, client.process)


def _end_others(sessions: list[Json], current: Entry, client: HookClient, now: float) -> None:
    """A process has one session at a time."""
    for entry in _entries(sessions):
        if entry is not current and entry.get("state") == "active" and _is_of(entry, client):
            _end(entry, "exited", now, "replaced")


def _end(entry: Entry, state: str, ended_at: float | None, reason: str) -> None:
    entry["state"] = state
    entry["metadata"].update(ended_at=ended_at, end_reason=reason)


def _make_active(sessions: list[Json], entry: Entry) -> None:
    entry["state"] = "active"
    entry["metadata"].update(ended_at=None, end_reason=None)
    # The list's order is the order of life: a reader takes the last that fits.
    sessions.remove(entry)
    sessions.append(entry)


def _note(entry: Entry, payload: Entry, client: HookClient, now: float) -> None:
    entry["transcript_path"] = _text(payload, "transcript_path") or entry["transcript_path"]
    entry["project_dir"] = entry["project_dir"] or client.project_dir or _text(payload, "cwd")
    metadata = entry["metadata"]
    if client.process:
        metadata["claude_pid"], metadata["process_created_at"] = client.process
    if client.version:
        metadata["claude_version"] = client.version
    if client.entrypoint:
        metadata["entrypoint"] = client.entrypoint
    metadata["seen_at"] = now
    agent_id = _text(payload, "agent_id")
    if agent_id:
        agents = metadata.get("agents")
        if not isinstance(agents, dict):
            agents = metadata["agents"] = {}
        agents[agent_id] = _text(payload, "agent_type") or agents.get(agent_id)
        if len(agents) > KEPT_AGENTS:
            del agents[next(iter(agents))]


def _text(payload: Entry, name: str) -> str | None:
    value = payload.get(name)
    return value if isinstance(value, str) and value else None
