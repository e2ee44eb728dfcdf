"""The session of a process: from the hooks' map, from the client's live records, from the wire.

Asked afresh for every request, since `/clear` changes the session of a living process.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from addon.format import is_session_id, parse_json
from addon.processes import ClientProcess
from addon.sessions import SessionEntry, SessionsMap, session_for_process

ProcessId = tuple[int, float]


class SessionLookup:
    """Knows the map's file and the client's folder, and what the wire has told of a process."""

    def __init__(self, sessions: SessionsMap, claude_dir: Path) -> None:
        self._sessions = sessions
        self._claude_dir = claude_dir
        self._told: dict[int, str] = {}  # pid -> the session its last calls named on the wire
        self._clients: set[int] = set()

    def tell(self, process: ClientProcess | None, session_id: str) -> None:
        """The wire named this process's session."""
        if process is not None:
            self._told[process.pid] = session_id

    def is_client(self, process: ClientProcess) -> None:
        """This process calls itself the client, so no ancestor speaks for it."""
        self._clients.add(process.pid)

    def entry(self, session_id: str) -> SessionEntry | None:
        found = [e for e in self._sessions.entries() if e.session_id == session_id]
        return found[-1] if found else None

    def by_process(self, process: ClientProcess | None) -> str | None:
        if process is None:
            return None
        entries = self._sessions.entries()
        line: Sequence[ProcessId] = [(process.pid, process.created)]
        if process.pid not in self._clients:
            line = [*line, *process.ancestors]
        for pid, created in line:
            entry = session_for_process(entries, pid, created)
            if entry is not None:
                return entry.session_id
            if pid in self._told:
                return self._told[pid]
        return None

    def by_live_record(self, process: ClientProcess | None) -> str | None:
        """`sessions/<pid>.json` in the client's folder; files beside it are never opened."""
        if process is None:
            return None
        path = self._claude_dir / "sessions" / f"{process.pid}.json"
        return _quietly(lambda: _live_session(path, process.pid))


def _live_session(path: Path, pid: int) -> str | None:
    record = parse_json(path.read_bytes())
    if not isinstance(record, dict) or record.get("pid") != pid:
        return None
    session = record.get("sessionId")
    return session if isinstance(session, str) and is_session_id(session) else None


def _quietly(read: Callable[[], str | None]) -> str | None:
    """A record that goes or is half written while it is read tells nothing."""
    try:
        return read()
    except (OSError, ValueError):
        return None
