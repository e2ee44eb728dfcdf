"""Applies hook events to the list of sessions. Pure: uses no file, clock or process.

An entry is a session in one process. Unknown fields of an entry are kept.
"""

from addon.hooks.client_process import same
from addon.hooks.fast_json import Json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ccwire.wire.vocabulary import SessionState

type JsonObject = dict[str, Json]
type IsRunning = Callable[[int, float], bool]

# The fields of a payload that are used; the rest is user text and is never stored. Of the last
# answer, `handle` adds a proof (`answer_proof`).
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

# Ended sessions are kept for late telemetry and for `ccwire sessions`, but only so many: each hook
# reads and writes them all.
KEPT_ENTRIES = 100
KEPT_AGENTS = 500

PROOF = "last_answer"  # the field of a Stop event with the proof of the answer


class PayloadError(ValueError):
    """An invalid payload; the message does not quote it, so it can be logged."""


class HookClient:
    """What a hook knows about the client that started it, besides the payload."""

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


def apply_event(sessions: list[Json], payload: JsonObject, client: HookClient, now: float) -> None:
    """Apply one event to `sessions`; raise PayloadError if the payload has no session id."""
    entry = _entry(sessions, session_of(payload), client)
    event = payload.get("hook_event_name")
    if event in ("SessionStart", "UserPromptSubmit"):
        _end_others(sessions, entry, client, now)
    if event == "SessionEnd":
        _end(entry, "exited", now, text_field(payload, "reason") or "other")
    elif event == "SessionStart":
        if entry["state"] != "active":
            entry["metadata"]["started_at"] = now
        entry["source"] = text_field(payload, "source")
        entry["project_dir"] = client.project_dir or text_field(payload, "cwd")
        _make_active(sessions, entry)
    elif event == "UserPromptSubmit" or entry["state"] != "exited":
        # A Stop may arrive after SessionEnd: only a prompt proves that the session continues.
        _make_active(sessions, entry)
    _note(entry, payload, client, now)


def mark_crashed(sessions: list[Json], is_running: IsRunning) -> None:
    """Mark active sessions as crashed if their process no longer runs."""
    for entry in _entries(sessions):
        process = process_of(entry)
        if entry.get("state") == "active" and process and not is_running(*process):
            # The time of the crash is unknown.
            _end(entry, "crashed", None, "process gone")


def drop_oldest(sessions: list[Json], kept: int = KEPT_ENTRIES) -> None:
    """Remove the oldest entries that have ended or have no known process."""
    over = [e for e in _entries(sessions) if e.get("state") != "active" or not process_of(e)]
    dropped = {id(entry) for entry in over[: max(0, len(over) - kept)]}
    if dropped:
        sessions[:] = [entry for entry in sessions if id(entry) not in dropped]


def session_of(payload: JsonObject) -> str:
    """Return the session id of a payload; raise PayloadError."""
    value = text_field(payload, "session_id") or ""
    # The rule of `ccwire.wire.format.is_session_id`: importing that would take longer than this.
    if len(value) <= 64 and value.isascii() and value.replace("-", "0").isalnum():
        return value
    raise PayloadError("the payload has no valid session id")


def process_of(entry: JsonObject) -> tuple[int, float] | None:
    """Return pid and start time of an entry's process, or None unless both are known."""
    metadata = entry.get("metadata")
    if not isinstance(metadata, dict):
        return None
    pid, created_at = metadata.get("claude_pid"), metadata.get("process_created_at")
    if type(pid) is not int or not isinstance(created_at, (int, float)):
        return None
    # The file may contain anything: a pid that no system has, NaN.
    is_possible = 0 < pid < 1 << 31 and 0 <= created_at < 1e12
    return (pid, created_at) if is_possible else None


def _entries(sessions: list[Json]) -> list[JsonObject]:
    return [entry for entry in sessions if isinstance(entry, dict)]


def _entry(sessions: list[Json], session_id: str, client: HookClient) -> JsonObject:
    """Return the session's entry for this client, reusing one that ended or has no process."""
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
        # Another process continues the session: discard what was true of the previous one.
        found["state"] = None
        _completed(found)["metadata"]["claude_version"] = None
    return found


def _completed(entry: JsonObject) -> JsonObject:
    """Add the fields that an entry lacks, in the documented order."""
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


def _is_of(entry: JsonObject, client: HookClient) -> bool:
    process = process_of(entry)
    return process is not None and client.process is not None and same(process, client.process)


def _end_others(sessions: list[Json], current: JsonObject, client: HookClient, now: float) -> None:
    """End the other sessions of this process: it has one session at a time."""
    for entry in _entries(sessions):
        if entry is not current and entry.get("state") == "active" and _is_of(entry, client):
            _end(entry, "exited", now, "replaced")


def _end(entry: JsonObject, state: "SessionState", ended_at: float | None, reason: str) -> None:
    entry["state"] = state
    entry["metadata"].update(ended_at=ended_at, end_reason=reason)


def _make_active(sessions: list[Json], entry: JsonObject) -> None:
    entry["state"] = "active"
    entry["metadata"].update(ended_at=None, end_reason=None)
    # The list is ordered by last activation: readers take the last match.
    sessions.remove(entry)
    sessions.append(entry)


def _note(entry: JsonObject, payload: JsonObject, client: HookClient, now: float) -> None:
    entry["transcript_path"] = text_field(payload, "transcript_path") or entry["transcript_path"]
    entry["project_dir"] = entry["project_dir"] or client.project_dir or text_field(payload, "cwd")
    metadata = entry["metadata"]
    if client.process:
        metadata["claude_pid"], metadata["process_created_at"] = client.process
    if client.version:
        metadata["claude_version"] = client.version
    if client.entrypoint:
        metadata["entrypoint"] = client.entrypoint
    metadata["seen_at"] = now
    event = payload.get("hook_event_name")
    if event == "UserPromptSubmit":
        metadata.pop(PROOF, None)  # it is not the last answer any more
        metadata["prompted_at"] = now
    elif event == "Stop" and isinstance(payload.get(PROOF), dict):
        metadata[PROOF] = {**payload[PROOF], "at": now}
    agent_id = text_field(payload, "agent_id")
    if agent_id:
        agents = metadata.get("agents")
        if not isinstance(agents, dict):
            agents = metadata["agents"] = {}
        agents[agent_id] = text_field(payload, "agent_type") or agents.get(agent_id)
        if len(agents) > KEPT_AGENTS:
            del agents[next(iter(agents))]


def text_field(payload: JsonObject, name: str) -> str | None:
    """A field that is a string and not empty."""
    value = payload.get(name)
    return value if isinstance(value, str) and value else None
