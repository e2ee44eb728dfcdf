"""Looks up the session of a process: in sessions.json, the client's live records, earlier requests.

Called for every request, because `/clear` changes the session of a running process.
"""

from pathlib import Path

from addon.hooks.client_process import TOLERANCE
from addon.hooks.sessions import SessionEntry, SessionsMap, session_for_process
from addon.identity.live_records import read_live_record
from addon.identity.processes import ClientProcess

ProcessId = tuple[int, float]


class SessionLookup:
    """Looks in sessions.json and the client's folder, and remembers what requests contained."""

    def __init__(self, sessions: SessionsMap, claude_dir: Path) -> None:
        self._sessions = sessions
        self._claude_dir = claude_dir
        self._named: dict[ProcessId, str] = {}  # the session in the process's latest requests
        self._clients: set[ProcessId] = set()

    def name_session(self, process: ClientProcess | None, session_id: str) -> None:
        """Remember the session that a request of this process contained."""
        if process is not None:
            self._named[process.pid, process.created] = session_id

    def is_client(self, process: ClientProcess) -> None:
        """Remember that this process is a client, so that its ancestors are not looked up."""
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
            if known in self._named:
                return self._named[known]
        return None

    def by_live_record(self, process: ClientProcess | None) -> str | None:
        """Look in `sessions/<pid>.json` in the client's folder; open no other file there."""
        if process is None:
            return None
        record = read_live_record(self._claude_dir / "sessions" / f"{process.pid}.json")
        if record is None or record.pid != process.pid:
            return None
        # A record left by a crashed client is older than the process that now has its pid.
        is_stale = record.started_at is not None and record.started_at < process.created - TOLERANCE
        return None if is_stale else record.session_id
