"""The index of each session: `exchanges.jsonl`, the manifest and the traffic log, once per batch.

A part file is removed only after its exchange is in the index, so that a kill leaves a trace. What
cannot be written is kept and retried.
"""

import errno
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from addon.hooks.sessions import SessionEntry
from addon.storage import manifest as manifests
from addon.storage.files import append_lines, locked, read_file, write_whole
from addon.storage.folder import CaptureStore, Slot, read_lines
from addon.storage.manifest import PendingGaps
from addon.storage.traffic_log import block
from ccwire.wire.format import EXCHANGES, MANIFEST, Exchange, Gap, Manifest, parse_manifest
from ccwire.wire.json_text import dump

_FLOW_ID = re.compile(rb'"flow_id":"([A-Za-z0-9-]+)"[^\n]*\n')  # of a line that is not cut off


@dataclass(frozen=True, slots=True)
class Finished:
    """An exchange whose response file is complete."""

    slot: Slot
    line: Exchange
    conflicts: int = 0


class SessionIndex:
    """Collects finished exchanges and gaps until `write` is called."""

    def __init__(
        self,
        store: CaptureStore,
        entry: Callable[[str], SessionEntry | None],
        on_written: Callable[[Path, list[Exchange]], None] = lambda folder, lines: None,
    ) -> None:
        """`on_written` is called with a folder and its exchanges once they are in the index."""
        self._store = store
        self._entry = entry
        self._on_written = on_written
        self._finished: dict[str | None, list[Finished]] = {}
        self._listed: set[str] = set()  # flow ids in exchanges.jsonl but not in the manifest yet
        self._gaps: dict[str | None, PendingGaps] = {}
        self._moved: set[str] = set()  # moved flow ids that `unknown` still lists

    def enter(self, session_id: str | None, finished: Finished) -> None:
        self._finished.setdefault(session_id, []).append(finished)

    def move(self, session_id: str | None, finished: Finished) -> None:
        """Enter an exchange that was listed in `unknown`."""
        self._moved.add(finished.line.flow_id)
        self.enter(session_id, finished)

    def gap(self, session_id: str | None, gap: Gap) -> None:
        self._gaps.setdefault(session_id, PendingGaps()).add(gap)

    def write(self) -> None:
        """Write all sessions; if any fails, raise the last OSError after writing the others."""
        failed: OSError | None = None
        try:
            self._take_out_moved()
        except OSError as error:
            failed = error
        for session_id in dict.fromkeys((*self._finished, *self._gaps)):
            try:
                self._write_session(session_id)
            except OSError as error:
                failed = error
        if failed is not None:
            raise failed

    def change(self, session_id: str | None, change: Callable[[Manifest], Manifest]) -> None:
        """Rewrite a manifest."""
        folder = self._store.folder(session_id)
        with locked(folder):
            _write_manifest(folder, change(current_manifest(folder)))

    def _take_out_moved(self) -> None:
        if self._moved:
            folder = self._store.folder(None)
            self._store.remove_exchanges(folder, self._moved)
            recount(folder)
            self._moved.clear()

    def _write_session(self, session_id: str | None) -> None:
        entered = self._finished.get(session_id, [])
        held_back = [item for item in entered if item.line.flow_id in self._moved]
        finished = [item for item in entered if item.line.flow_id not in self._moved]
        folder = self._store.folder(session_id)
        with locked(folder):
            manifest = current_manifest(folder)
            new = [item for item in finished if item.line.flow_id not in self._listed]
            if new:
                append_lines(folder / EXCHANGES, [dump(item.line.to_json()) for item in new])
                self._listed.update(item.line.flow_id for item in new)
            if len(new) < len(finished):  # a retry
                manifest = manifests.recounted(manifest, read_lines(folder / EXCHANGES))
            else:
                for item in new:
                    manifest = manifests.with_exchange(manifest, item.line)
            _write_manifest(folder, self._complete(manifest, session_id, finished))
        self._finished.pop(session_id, None)
        if held_back:
            self._finished[session_id] = held_back
        self._gaps.pop(session_id, None)
        self._listed.difference_update(item.line.flow_id for item in finished)
        for item in finished:
            self._store.release(item.slot)
        if finished:
            self._on_written(folder, [item.line for item in finished])
            self._store.log_traffic("".join(block(session_id, item.line) for item in finished))

    def _complete(
        self, manifest: Manifest, session_id: str | None, finished: list[Finished]
    ) -> Manifest:
        """Return the manifest with conflicts, gaps and the session's entry in sessions.json."""
        manifest = manifests.with_conflicts(manifest, sum(item.conflicts for item in finished))
        if pending := self._gaps.get(session_id):
            manifest = manifests.with_gaps(manifest, pending)
        entry = self._entry(session_id) if session_id is not None and finished else None
        if entry is None:
            return manifest
        return manifests.with_session(
            manifest,
            cwd=entry.project_dir,
            transcript=entry.transcript_path,
            version=entry.claude_version,
        )


def current_manifest(folder: Path) -> Manifest:
    """Return the manifest; rebuild it from the lines if it is missing or damaged."""
    try:
        return parse_manifest(read_file(folder / MANIFEST))
    except ValueError as error:
        detail = f"rebuilt from exchanges.jsonl: {error}"
        gap: Gap = {"kind": "manifest_lost", "detail": detail}
        return manifests.with_gap(_from_lines(folder), gap)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ELOOP):
            raise
        return _from_lines(folder)


def _from_lines(folder: Path) -> Manifest:
    empty = Manifest(session_id=folder.name)
    return manifests.recounted(empty, read_lines(folder / EXCHANGES))


def recount(folder: Path, gap: Gap | None = None) -> None:
    """Recount a manifest from the lines."""
    with locked(folder):
        manifest = manifests.recounted(current_manifest(folder), read_lines(folder / EXCHANGES))
        _write_manifest(folder, manifests.with_gap(manifest, gap) if gap else manifest)


def enter_once(folder: Path, line: Exchange) -> bool:
    """Append a line unless the exchange is already listed; return whether it was appended."""
    with locked(folder):
        known = read_lines(folder / EXCHANGES)
        if any(exchange.flow_id == line.flow_id for exchange in known):
            return False
        append_lines(folder / EXCHANGES, [dump(line.to_json())])
    return True


def indexed(store: CaptureStore, flow_ids: Collection[str]) -> set[str]:
    """Return those of the flows that are in the index of any session."""
    found: set[str] = set()
    for folder in store.session_folders():
        path = folder / EXCHANGES
        named = _FLOW_ID.findall(read_file(path)) if path.exists() else ()
        found.update(name.decode() for name in named)
    return found.intersection(flow_ids)


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    write_whole(folder / MANIFEST, dump(manifest.to_json(), for_people=True))
