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
class _Waiting:
    finished: Finished
    telemetry: str | None  # the session named in its body
    since: float


class PendingExchanges:
    """Finished exchanges without a session, grouped by process until its session is known."""

    def __init__(self, store: CaptureStore, books: SessionIndex, lookup: SessionLookup) -> None:
        self._store = store
        self._books = books
        self._lookup = lookup
        self._waiting: dict[ClientProcess, list[_Waiting]] = {}

    def add(
        self, process: ClientProcess, finished: Finished, telemetry: str | None, since: float
    ) -> None:
        """Add a finished exchange that is in the index of `unknown`."""
        waiting = _Waiting(finished, telemetry, since)
        self._waiting.setdefault(process, []).append(waiting)
        if len(self._waiting) > _MOST_PROCESSES:
            del self._waiting[next(iter(self._waiting))]

    def file(self, patient_until: float) -> list[tuple[str, Finished]]:
        """Move exchanges to the session of their process, or of their telemetry if they are older.

        Telemetry counts only for exchanges that have waited since before `patient_until`. Return
        each moved exchange with its session; the caller writes the index.
        """
        filed: list[tuple[str, Finished]] = []
        for process, waiting in list(self._waiting.items()):
            identity = self._session_of(process, waiting, patient_until)
            if identity.session_id is None:
                continue
            while waiting:  # if a move fails, recovery finishes it, and the next call does the rest
                finished = self._file(waiting.pop(0).finished, identity)
                filed.append((identity.session_id, finished))
            del self._waiting[process]
        return filed

    def _session_of(
        self, process: ClientProcess, waiting: list[_Waiting], patient_until: float
    ) -> Identity:
        known = identify(
            SessionEvidence(
                process=self._lookup.by_process(process),
                live_record=self._lookup.by_live_record(process),
            )
        )
        if known.session_id is not None:
            return known
        named = (
            identify(SessionEvidence(telemetry=w.telemetry))
            for w in waiting
            if w.since < patient_until
        )
        found = next((identity for identity in named if identity.session_id), known)
        if found.session_id is not None:
            self._lookup.tell(process, found.session_id)
        return found

    def _file(self, finished: Finished, identity: Identity) -> Finished:
        slot, line = refile(self._store, finished.slot, finished.line, identity)
        moved = replace(finished, slot=slot, line=line)
        self._books.move(identity.session_id, moved)
        return moved
