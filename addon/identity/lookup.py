"""Looks up the session of a process: in sessions.json, the client's live records, earlier requests.

Called for every request, because `/clear` changes the session of a running process.
"""

from bisect import insort
from pathlib import Path

from addon.hooks.client_process import TOLERANCE
from addon.hooks.sessions import SessionEntry, SessionsMap, session_for_process
from addon.identity.live_records import read_live_record
from addon.identity.processes import ClientProcess
from addon.identity.transcript_ids import TranscriptIds

ProcessId = tuple[int, float]


class SessionLookup:
    """Looks in sessions.json and the client's folder, and remembers what requests contained."""

    def __init__(self, sessions: SessionsMap, claude_dir: Path, run: str | None = None) -> None:
        self._sessions = sessions
        self._claude_dir = claude_dir
        self.run = run  # the folder of programs without a session
        self.transcripts = TranscriptIds(claude_dir)
        self._named: dict[ProcessId, str] = {}  # the session in the process's latest requests
        self._clients: dict[ProcessId, str] = {}  # and their versions
        self._programs: set[ProcessId] = set()  # call the API and are no clients
        self._calls: dict[ProcessId, list[tuple[float, str]]] = {}  # in order of time

    def name_session(self, process: ClientProcess | None, session_id: str) -> None:
        """Remember the session that a request of this process contained."""
        if process is not None:
            self._named[process.pid, process.created] = session_id

    def is_client(self, process: ClientProcess, version: str) -> None:
        """Remember that this process is a client, so that its ancestors are not looked up."""
        self._clients[process.pid, process.created] = version

    def version_of(self, pid: int | None, created: float | None) -> str | None:
        """Return the version of a client; not all of its requests contain it."""
        return None if pid is None or created is None else self._clients.get((pid, created))

    def is_program(self, process: ClientProcess) -> None:
        """Remember that this process calls the API and is no client."""
        self._programs.add((process.pid, process.created))

    def note_call(self, process: ClientProcess, at: float, session_id: str) -> None:
        """Remember that a transcript contains the answer to a call of this process."""
        insort(self._calls.setdefault((process.pid, process.created), []), (at, session_id))

    def has_calls(self, process: ClientProcess) -> bool:
        """Return whether a call of this process was noted."""
        return (process.pid, process.created) in self._calls

    def entry(self, session_id: str) -> SessionEntry | None:
        """Return what is known of a session; of a run, which has no hooks, where it was started."""
        found = [e for e in self._sessions.entries() if e.session_id == session_id]
        if not found and session_id == self.run:
            return SessionEntry(session_id=session_id, project_dir=_working_directory())
        return found[-1] if found else None

    def by_process(self, process: ClientProcess | None, *, patient: bool = True) -> str | None:
        """Look for the session of the process, or of its ancestors if it is no client.

        A client that another client has started sends requests before one that shows that it is a
        client. Without `patient`, ancestors count only for a process that certainly is none.
        """
        if process is None:
            return None
        entries = self._sessions.entries()
        for known in self._considered(process, patient):
            entry = session_for_process(entries, *known)
            if entry is not None:
                return entry.session_id
            if known in self._named:
                return self._named[known]
        return None

    def by_calls(
        self, process: ClientProcess | None, at: float, *, patient: bool = True
    ) -> str | None:
        """Return the session of the newest call before that time, else of the first after it.

        Only calls whose answers are in a transcript count. Without `patient`, a later call has to
        be known too: after `/clear`, the next one belongs to another session.
        """
        if process is None:
            return None
        known = self._considered(process, patient)
        calls = next((self._calls[one] for one in known if one in self._calls), [])
        if not calls or (calls[-1][0] < at and not patient):
            return None
        before = [session_id for moment, session_id in calls if moment <= at]
        return before[-1] if before else calls[0][1]

    def by_run(self, process: ClientProcess | None, *, is_program: bool = False) -> str | None:
        """Return the run for a program that is no client and was started by none."""
        if process is None:
            return self.run if is_program else None
        if (process.pid, process.created) not in self._programs:
            return None
        return None if any(one in self._clients for one in process.ancestors) else self.run

    def by_live_record(self, process: ClientProcess | None, patient_until: float) -> str | None:
        """Look in `sessions/<pid>.json` in the client's folder; open no other file there.

        The record of a process that started after `patient_until` does not count: with
        `--continue`, it names a session at first that the client never uses.
        """
        if process is None or process.created > patient_until:
            return None
        record = read_live_record(self._claude_dir / "sessions" / f"{process.pid}.json")
        if record is None or record.pid != process.pid:
            return None
        # A record left by a crashed client is older than the process that now has its pid.
        is_stale = record.started_at is not None and record.started_at < process.created - TOLERANCE
        return None if is_stale else record.session_id

    def _considered(self, process: ClientProcess, patient: bool) -> tuple[ProcessId, ...]:
        """Return the process, and its ancestors if it is no client."""
        own = process.pid, process.created
        is_other = own not in self._clients and (patient or own in self._programs)
        return (own, *process.ancestors) if is_other else (own,)


def _working_directory() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:  # it was removed
        return None
