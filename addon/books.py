"""The books of each session: its lines, its manifest, and the traffic log, written once a batch.

A part file goes only when its exchange stands in all of them, so that a kill leaves a trace.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from addon import manifest as manifests
from addon.format import EXCHANGES, MANIFEST, Exchange, Manifest
from addon.sessions import SessionEntry
from addon.store import CaptureStore, Slot, append_lines, locked, read_manifest, write_whole
from addon.traffic import block

_MOST_GAPS = 1000


@dataclass(frozen=True, slots=True)
class Finished:
    """An exchange whose response file is whole."""

    slot: Slot
    line: Exchange
    conflicts: int = 0


class Books:
    """Collects what finished, and enters it when told."""

    def __init__(self, store: CaptureStore, entry: Callable[[str], SessionEntry | None]) -> None:
        self._store = store
        self._entry = entry
        self._finished: dict[str | None, list[Finished]] = {}
        self._gaps: dict[str | None, list[dict[str, Any]]] = {}

    def enter(self, session_id: str | None, finished: Finished) -> None:
        self._finished.setdefault(session_id, []).append(finished)

    def gap(self, session_id: str | None, gap: dict[str, Any]) -> None:
        gaps = self._gaps.setdefault(session_id, [])
        if len(gaps) < _MOST_GAPS:
            gaps.append(gap)

    def write(self) -> None:
        """Raises OSError where a folder cannot be written; its parts stay for the next start."""
        for session_id in list(self._finished):
            self._write_session(session_id, self._finished.pop(session_id))
        for session_id, gaps in list(self._gaps.items()):
            self.change(session_id, lambda m, gaps=gaps: _with_gaps(m, gaps))  # type: ignore[misc]
            del self._gaps[session_id]

    def change(self, session_id: str | None, change: Callable[[Manifest], Manifest]) -> None:
        """Rewrites a manifest."""
        folder = self._store.folder(session_id)
        with locked(folder):
            changed = change(read_manifest(folder))
            data = orjson.dumps(changed.to_json(), option=orjson.OPT_INDENT_2)
            write_whole(folder / MANIFEST, data)

    def _write_session(self, session_id: str | None, finished: list[Finished]) -> None:
        entry = self._entry(session_id) if session_id is not None else None

        def entered(manifest: Manifest) -> Manifest:
            for item in finished:
                manifest = manifests.with_exchange(manifest, item.line)
                manifest = manifests.with_conflicts(manifest, item.conflicts)
            if entry is None:
                return manifest
            return manifests.with_session(
                manifest,
                cwd=entry.project_dir,
                transcript=entry.transcript_path,
                version=entry.claude_version,
            )

        folder = self._store.folder(session_id)
        with locked(folder):
            append_lines(
                folder / EXCHANGES, [orjson.dumps(item.line.to_json()) for item in finished]
            )
        self.change(session_id, entered)
        self._store.log_traffic("".join(block(session_id, item.line) for item in finished))
        for item in finished:
            self._store.release(item.slot)


def _with_gaps(manifest: Manifest, gaps: Iterable[dict[str, Any]]) -> Manifest:
    for gap in gaps:
        manifest = manifests.with_gap(manifest, gap)
    return manifest
