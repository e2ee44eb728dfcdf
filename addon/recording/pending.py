"""Exchanges whose process is known but not yet its session: they are kept under `unknown/`.

Newer clients send requests for seconds before their session starts. An exchange that never gets a
session stays there.
"""

from dataclasses import dataclass, replace

from addon.identity.lookup import SessionLookup
from addon.identity.processes import ClientProcess
from addon.identity.session import Identity, SessionEvidence, identify
from addon.storage.folder import CaptureStore
from addon.storage.index import Finished, SessionIndex
from addon.storage.move import refile

_MOST_PROCESSES = 1000


@dataclass(frozen=True, slots=True)
class _Pending:
    finished: Finished
    telemetry: str | None  # the session named in its body
    since: float


class PendingExchanges:
    """Finished exchanges without a session, grouped by process until its session is known."""

    def __init__(self, store: CaptureStore, index: SessionIndex, lookup: SessionLookup) -> None:
        self._store = store
        self._index = index
        self._lookup = lookup
        self._pending: dict[ClientProcess | None, list[_Pending]] = {}

    def add(
        self,
        process: ClientProcess | None,
        finished: Finished,
        telemetry: str | None,
        since: float,
    ) -> None:
        """Add a finished exchange that is in the index of `unknown`."""
        pending = _Pending(finished, telemetry, since)
        self._pending.setdefault(process, []).append(pending)
        if len(self._pending) > _MOST_PROCESSES:
            del self._pending[next(iter(self._pending))]

    def file(self, patient_until: float, *, is_last: bool = False) -> list[tuple[str, Finished]]:
        """Move exchanges to the session of their process, or of their telemetry if they are older.

        Telemetry and ancestors count only for exchanges that have waited since before
        `patient_until`. At last, the rest is filed under the run, if there is one. Return each
        moved exchange with its session; the caller writes the index.
        """
        filed: list[tuple[str, Finished]] = []
        for process, pending in list(self._pending.items()):
            identity = self._session_of(process, pending, patient_until)
            if identity.session_id is None and is_last:
                identity = identify(SessionEvidence(run=self._lookup.run))
            if identity.session_id is None:
                continue
            while pending:  # if a move fails, recovery finishes it, and the next call does the rest
                finished = self._file(pending.pop(0).finished, identity)
                filed.append((identity.session_id, finished))
            del self._pending[process]
        return filed

    def _session_of(
        self, process: ClientProcess | None, pending: list[_Pending], patient_until: float
    ) -> Identity:
        has_waited = pending[0].since < patient_until
        known = identify(
            SessionEvidence(
                process=self._lookup.by_process(process, patient=has_waited),
                live_record=self._lookup.by_live_record(process),
            )
        )
        if known.session_id is None:
            known = identify(SessionEvidence(run=self._lookup.by_run(process)))
        if known.session_id is not None:
            return known
        named = (
            identify(SessionEvidence(telemetry=w.telemetry))
            for w in pending
            if w.since < patient_until
        )
        found = next((identity for identity in named if identity.session_id), known)
        if found.session_id is not None:
            self._lookup.name_session(process, found.session_id)
        return found

    def _file(self, finished: Finished, identity: Identity) -> Finished:
        slot, line = refile(self._store, finished.slot, finished.line, identity)
        moved = replace(finished, slot=slot, line=line)
        self._index.move(identity.session_id, moved)
        return moved
