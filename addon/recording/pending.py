"""Exchanges without a session: they are kept under `unknown/` until evidence for one comes.

Newer clients send requests for seconds before their session starts: the process gets it later. The
oldest ones never name it: their transcripts contain the ids of the answers, and the other exchanges
of the process belong to the call before them. What is left when the proxy stops is filed under the
run, if there is one; else it stays.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from addon.identity.lookup import SessionLookup
from addon.identity.processes import ClientProcess
from addon.identity.session import Identity, SessionEvidence, identify
from addon.storage.folder import CaptureStore
from addon.storage.index import Finished, SessionIndex
from addon.storage.move import refile

_MOST_PROCESSES = 1000
_MOST_EXCHANGES = 10_000  # of one process

Filed = list[tuple[str, Finished]]


@dataclass(frozen=True, slots=True)
class Pending:
    """An exchange that is in the index of `unknown`."""

    finished: Finished
    since: float
    telemetry: str | None = None  # the session named in its body
    is_adopted: bool = False  # an earlier proxy recorded it


class PendingExchanges:
    """Finished exchanges without a session, grouped by process until its session is known."""

    def __init__(self, store: CaptureStore, index: SessionIndex, lookup: SessionLookup) -> None:
        self._store = store
        self._index = index
        self._lookup = lookup
        self._ids = lookup.transcripts
        self._pending: dict[ClientProcess | None, list[Pending]] = {}

    def add(self, process: ClientProcess | None, pending: Pending) -> None:
        group = self._pending.setdefault(process, [])
        group.append(pending)
        if len(group) > _MOST_EXCHANGES:
            del group[0]
        if len(self._pending) > _MOST_PROCESSES:
            del self._pending[next(iter(self._pending))]

    def flow_ids(self) -> set[str]:
        return {pending.finished.line.flow_id for pending in self._each()}

    def forget_adopted(self) -> None:
        """Forget adopted exchanges of ended processes: what identifies them would be known now."""
        for process, group in list(self._pending.items()):
            group[:] = [p for p in group if not p.is_adopted or p.since]
            if not group:
                del self._pending[process]

    def file(self, patient_until: float) -> Filed:
        """Move exchanges to the session of their process, or of their telemetry if they are older.

        Telemetry and ancestors count only for exchanges that have waited since before
        `patient_until`. Return each moved exchange with its session; the caller writes the index.
        """

        def session_of(process: ClientProcess | None, group: list[Pending]) -> Identity:
            return self._session_of(process, group, patient_until)

        return self._file_groups(session_of)

    def file_by_ids(self, patient_until: float, seconds: float, *, at_once: bool = False) -> Filed:
        """Move exchanges whose answers are in a transcript, and others of the same processes.

        Reads transcripts for at most so many seconds, and not too often unless `at_once`.
        """
        calls = [p.finished.line.started for p in self._each() if _may_be_in_a_transcript(p)]
        filed: Filed = []
        if calls and (at_once or self._ids.is_due()):
            self._ids.read(min(calls), seconds)
            filed = self._file_each(self._by_id)
            self._note_failed_calls(patient_until)
        return filed + self._file_each(
            lambda process, pending: self._by_calls(process, pending, patient_until)
        )

    def file_under_run(self) -> Filed:
        """Move what this proxy recorded and nothing has identified."""
        run = identify(SessionEvidence(run=self._lookup.run))
        return self._file_each(
            lambda _, pending: None if pending.is_adopted or not run.session_id else run
        )

    def _session_of(
        self, process: ClientProcess | None, group: list[Pending], patient_until: float
    ) -> Identity:
        has_waited = any(p.since < patient_until for p in group)
        known = identify(
            SessionEvidence(
                process=self._lookup.by_process(process, patient=has_waited),
                live_record=self._lookup.by_live_record(process, patient_until),
            )
        )
        if known.session_id is None:
            known = identify(SessionEvidence(run=self._lookup.by_run(process)))
        if known.session_id is not None:
            return known
        named = (
            identify(SessionEvidence(telemetry=p.telemetry))
            for p in group
            if p.telemetry and p.since < patient_until
        )
        found = next((identity for identity in named if identity.session_id), known)
        if found.session_id is not None:
            self._lookup.name_session(process, found.session_id)
        return found

    def _by_id(self, process: ClientProcess | None, pending: Pending) -> Identity | None:
        line = pending.finished.line
        session_id = self._ids.session_of(line.message_id, line.request_id)
        if session_id is None:
            return None
        if process is not None:
            self._lookup.note_call(process, line.started, session_id)
            began = self._ids.began(session_id)
            if began is not None and process.created <= began < line.started:
                self._lookup.note_call(process, began, session_id)
        return identify(SessionEvidence(message_id=session_id))

    def _note_failed_calls(self, patient_until: float) -> None:
        """Find the sessions of clients none of whose calls has an answer, by the times of errors.

        The transcript has a line about the error, with neither id.
        """
        for process, group in self._pending.items():
            if process is None or self._lookup.has_calls(process):
                continue
            for pending in group:
                line = pending.finished.line
                if not _may_be_in_a_transcript(pending) or not line.failed:
                    continue
                session_id = self._ids.session_reporting(line.ended or line.started)
                if session_id is not None and pending.since < patient_until:
                    self._lookup.note_call(process, line.started, session_id)

    def _by_calls(
        self, process: ClientProcess | None, pending: Pending, patient_until: float
    ) -> Identity | None:
        started = pending.finished.line.started
        is_patient = pending.since < patient_until
        session_id = self._lookup.by_calls(process, started, patient=is_patient)
        return Identity(session_id, "process") if session_id else None

    def _file_groups(
        self, session_of: Callable[[ClientProcess | None, list[Pending]], Identity]
    ) -> Filed:
        filed: Filed = []
        for process, group in list(self._pending.items()):
            identity = session_of(process, group)
            if identity.session_id is None and group:
                continue
            while group:  # if a move fails, recovery finishes it, and the next call does the rest
                filed.append(self._file(group.pop(0), identity))
            del self._pending[process]
        return filed

    def _file_each(
        self, session_of: Callable[[ClientProcess | None, Pending], Identity | None]
    ) -> Filed:
        filed: Filed = []
        for process, group in list(self._pending.items()):
            position = 0
            while position < len(group):
                if (identity := session_of(process, group[position])) is None:
                    position += 1
                else:
                    filed.append(self._file(group.pop(position), identity))
            if not group:
                del self._pending[process]
        return filed

    def _file(self, pending: Pending, identity: Identity) -> tuple[str, Finished]:
        assert identity.session_id is not None
        finished = pending.finished
        slot, line = refile(self._store, finished.slot, finished.line, identity)
        moved = replace(finished, slot=slot, line=line)
        self._index.move(identity.session_id, moved)
        return identity.session_id, moved

    def _each(self) -> Iterator[Pending]:
        for group in self._pending.values():
            yield from group


def _may_be_in_a_transcript(pending: Pending) -> bool:
    line = pending.finished.line
    return line.kind == "messages" and bool(line.claude_version)
