"""The session of a process: from the hooks' map, from the client's live records, from the wire.

Asked afresh for every request, since `/clear` changes the session of a living process.
"""

from pathlib import Path

from addon.hooks.client_process import TOLERANCE
from addon.hooks.sessions import SessionEntry, SessionsMap, session_for_process
from addon.identity.live_records import read_live_record
from addon.identity.processes import ClientProcess

ProcessId = tuple[int, float]


class SessionLookup:
    """Knows the map's file and the client's folder, and what the wire has told of a process."""

    def __init__(self, sessions: SessionsMap, claude_dir: Path) -> None:
        self._sessions = sessions
        self._claude_dir = claude_dir
        self._told: dict[ProcessId, str] = {}  # the session that its last calls named on the wire
        self._clients: set[ProcessId] = set()

    def tell(self, process: ClientProcess | None, session_id: str) -> None:
        """The wire named this process's session."""
        if process is not None:
            self._told[process.pid, process.created] = session_id

    def is_client(self, process: ClientProcess) -> None:
        """This process calls itself the client, so no ancestor speaks for it."""
        self._clients.add((process.pid, process.created))

    def entry(self, session_id: str) -> SessionEntry | None:
        found = [e for e in self._sessions.entries() if e.session_id == session_id]
        return found[-1] if found else None

    def by_process(self, process: ClientProcess | None) -> str | None:
        if process is None:
            return None
        entries = self._sessions.entries()
        own = process.pid, process.created
        for known in (own,) if own in self._clients else (own, *process.ancestors):
            entry = session_for_process(entries, *known)
            if entry is not None:
                return entry.session_id
            if known in self._told:
                return self._told[known]
        return None

    def by_live_record(self, process: ClientProcess | None) -> str | None:
        """`sessions/<pid>.json` in the client's folder; files beside it are never opened."""
        if process is None:
            return None
        record = read_live_record(self._claude_dir / "sessions" / f"{process.pid}.json")
        if record is None or record.pid != process.pid:
            return None
        # One that a crashed client left behind is older than the process that has its pid now.
        is_stale = record.started_at is not None and record.started_at < process.created - TOLERANCE
        return None if is_stale else record.session_id
