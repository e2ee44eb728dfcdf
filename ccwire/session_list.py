"""The list behind `ccwire sessions`: captured and running sessions, and those with a transcript.

Filters and orders by manifests; reads the index and the transcript of the listed sessions only.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import psutil

from addon.hooks.sessions import SessionEntry, read_sessions
from addon.identity.live_records import LiveRecord, live_records
from ccwire.session_filters import SessionFilter, SortKey, largest
from ccwire.verdict_cache import VerdictCache
from ccwire.wire.endpoints import CALL_KINDS, endpoint_of
from ccwire.wire.format import Exchange, Manifest
from ccwire.wire.parts import parts_of
from ccwire.wire.usage import Tokens
from correlate.captures.folder import read_exchanges, read_manifest
from correlate.captures.size import folder_bytes
from correlate.reconcile.prices import price_of_part
from correlate.transcript.locate import ClaudeDir, first_cwd
from correlate.transcript.titles import title_of

_STARTED_TOLERANCE = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One row of `ccwire sessions`; None means unknown.

    `cost_usd` leaves out what has no known price, in `unpriced_calls`. `unexplained` is of the last
    `ccwire reconcile`, and None if the session has changed since.
    """

    session_id: str
    title: str | None = None
    project: str | None = None
    version: str | None = None
    state: str | None = None
    pid: int | None = None
    started: float | None = None
    last_seen: float | None = None
    duration_seconds: float | None = None
    captured: bool = False
    bytes: int = 0
    exchanges: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    unpriced_calls: int = 0
    unexplained: int | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SessionList:
    """The listed sessions, first those that were asked for first; the limit left `more` out."""

    rows: list[SessionRow]
    more: int = 0


def session_rows(
    folders: Mapping[str, Path],
    claude_dir: Path,
    sessions_map: Path,
    *,
    every: bool = False,
    chosen: SessionFilter = SessionFilter(),  # noqa: B008, it is frozen
    clean: Callable[[str], str] = str,
    verdicts: VerdictCache | None = None,
) -> SessionList:
    """Return captured and running sessions, with `every` also those with only a transcript.

    `folders` are the captures by session, `clean` redacts titles. Most sessions of a large folder
    are not shown: of those, only the manifest is read.
    """
    heads = session_heads(folders, claude_dir, sessions_map, every=every)
    shown, more = chosen_sessions(heads, chosen)
    rows = [_row(head, clean) for head in shown]
    if verdicts is not None:
        rows = [_judged(row, folders.get(row.session_id), verdicts) for row in rows]
    return SessionList(rows, more)


def chosen_sessions(
    heads: Iterable["SessionHead"], chosen: SessionFilter
) -> tuple[list["SessionHead"], int]:
    """Return the sessions that fit, largest key first, and how many more the limit left out."""
    fitting = [head for head in heads if _fits(head, chosen)]
    shown = largest(fitting, _KEYS[chosen.sort], chosen.limit)
    return shown, len(fitting) - len(shown)


def running_sessions(claude_dir: Path, sessions_map: Path) -> set[str]:
    """Return the sessions whose client runs, or may run."""
    live = {
        record.session_id
        for record in live_records(claude_dir)
        if record.session_id and is_running(record.pid, record.started_at)
    }
    entries = (entry for entry in read_sessions(sessions_map) if entry.state == "active")
    return live | {
        entry.session_id
        for entry in entries
        if entry.pid is None or is_running(entry.pid, entry.process_created_at)
    }


@dataclass(frozen=True, slots=True)
class SessionHead:
    """What is known of a session before its exchanges and its transcript are read."""

    session_id: str
    folder: Path | None
    manifest: Manifest | None
    entry: SessionEntry | None
    live: LiveRecord | None
    transcript: Path | None

    @property
    def project(self) -> str | None:
        return (
            (self.manifest.cwd if self.manifest else None)
            or (self.entry.project_dir if self.entry else None)
            or (self.live.cwd if self.live else None)
        )

    @property
    def started(self) -> float | None:
        return _first(
            self.entry.started_at if self.entry else None,
            self.live.started_at if self.live else None,
            self.manifest.first_seen if self.manifest else None,
        )

    @property
    def last_seen(self) -> float | None:
        return (
            (self.manifest.last_seen if self.manifest else None)
            or (self.live.updated_at if self.live else None)
            or (self.entry.seen_at if self.entry else None)
            or (self.transcript.stat().st_mtime if self.transcript else None)
        )

    @property
    def duration(self) -> float | None:
        started, last = self.started, self.last_seen
        return max(0.0, last - started) if started is not None and last is not None else None

    def found_project(self) -> str | None:
        """Return the project, from the transcript if nothing else names it."""
        return self.project or (first_cwd(self.transcript) if self.transcript else None)

    def calls(self) -> list[Exchange]:
        exchanges = read_exchanges(self.folder) if self.folder else []
        return [exchange for exchange in exchanges if exchange.kind == "messages"]


_KEYS: dict[SortKey, Callable[[SessionHead], Any]] = {
    "last": lambda head: head.last_seen or head.started,
    "started": lambda head: head.started or head.last_seen,
    "duration": lambda head: head.duration,
    "size": lambda head: folder_bytes(head.folder) if head.folder else None,
    "calls": lambda head: len(head.calls()),
    "cost": lambda head: _cost(head.calls())[0],
    "project": lambda head: PurePath(head.project).name if head.project else None,
}


def session_heads(
    folders: Mapping[str, Path], claude_dir: Path, sessions_map: Path, *, every: bool
) -> list[SessionHead]:
    """Return captured and running sessions, with `every` all that are known, in any order."""
    entries = {entry.session_id: entry for entry in read_sessions(sessions_map)}
    live = {record.session_id: record for record in live_records(claude_dir) if record.session_id}
    transcripts = ClaudeDir(claude_dir).session_ids()
    running = {*live, *(name for name, entry in entries.items() if entry.state == "active")}
    manifests = {name: read_manifest(folder) for name, folder in folders.items()}
    names = [*folders, *running]
    if every:
        names += [*entries, *transcripts]
    else:
        silent = {name for name in folders if not _has_turns(transcripts.get(name))}
        unused = _unused_among(silent - running, folders, manifests)
        names = [name for name in names if name not in unused]
    return [
        SessionHead(
            name,
            folders.get(name),
            manifests.get(name),
            entries.get(name),
            live.get(name),
            transcripts.get(name),
        )
        for name in dict.fromkeys(names)
    ]


def _unused_among(
    silent: Collection[str], folders: Mapping[str, Path], manifests: Mapping[str, Manifest]
) -> set[str]:
    """Return the unused ones, and read the exchanges only of those that matter.

    A session with a model in its manifest made calls; one without a process of a silent one is
    not of the same client.
    """
    quiet = {name for name in silent if not manifests[name].models}
    if not quiet:
        return set()
    pids = {pid for name in quiet for pid in manifests[name].pids}
    captured = {
        name: read_exchanges(folder)
        for name, folder in folders.items()
        if name in quiet or not manifests[name].pids or not pids.isdisjoint(manifests[name].pids)
    }
    return unused_sessions(captured, quiet)


def unused_sessions(
    captured: Mapping[str, Sequence[Exchange]], silent: Collection[str]
) -> set[str]:
    """Return the sessions that their client never used: it continued another one.

    With `--continue` and `--resume`, a client has a session of its own at first. It makes no call
    in it, writes no line, and then goes on in the other session with the same process.
    """
    used: dict[tuple[int | None, float | None], set[str]] = {}
    for name, exchanges in captured.items():
        for exchange in exchanges:
            used.setdefault((exchange.pid, exchange.process_started), set()).add(name)
    return {
        name
        for name in silent
        if (exchanges := captured[name])
        and not any(exchange.kind in CALL_KINDS for exchange in exchanges)
        and all(
            exchange.pid is not None and len(used[exchange.pid, exchange.process_started]) > 1
            for exchange in exchanges
        )
    }


def _has_turns(transcript: Path | None) -> bool:
    return transcript is not None and transcript.stat().st_size > 0


def _fits(session: SessionHead, chosen: SessionFilter) -> bool:
    if not chosen.fits_time(session.started, session.last_seen):
        return False
    if chosen.project is None:
        return True
    return chosen.project.matches(session.found_project())


def _row(session: SessionHead, clean: Callable[[str], str]) -> SessionRow:
    manifest, entry, live = session.manifest, session.entry, session.live
    exchanges = read_exchanges(session.folder) if session.folder else []
    calls = [exchange for exchange in exchanges if exchange.kind == "messages"]
    tokens = [Tokens.of(call.usage) for call in calls if call.usage]
    versions = manifest.claude_versions if manifest else []
    cost, unpriced = _cost(calls)
    return SessionRow(
        session_id=session.session_id,
        title=title_of(session.transcript, clean) if session.transcript else None,
        project=session.found_project(),
        version=(live.version if live else None)
        or (versions[-1] if versions else None)
        or (entry.claude_version if entry else None),
        state=_state(entry, live),
        pid=(live.pid if live else None) or (entry.pid if entry else None),
        started=session.started,
        last_seen=session.last_seen,
        duration_seconds=session.duration,
        captured=session.folder is not None,
        bytes=folder_bytes(session.folder) if session.folder else 0,
        exchanges=len(exchanges),
        calls=len(calls),
        input_tokens=sum(t.context for t in tokens),
        output_tokens=sum(t.output for t in tokens),
        cost_usd=cost,
        unpriced_calls=unpriced,
    )


def _judged(row: SessionRow, folder: Path | None, verdicts: VerdictCache) -> SessionRow:
    return replace(row, unexplained=verdicts.unexplained(folder)) if folder else row


def _state(entry: SessionEntry | None, live: LiveRecord | None) -> str | None:
    """Return the state; `gone` if the process of an active session no longer exists."""
    if live is not None:
        return (live.status or "running") if is_running(live.pid, live.started_at) else "gone"
    if entry is None:
        return None
    if entry.state == "active" and entry.pid is not None:
        return "active" if is_running(entry.pid, entry.process_created_at) else "gone"
    return entry.state


def is_running(pid: int, started: float | None) -> bool:
    """Whether the process exists and began before the session (pids are reused)."""
    try:
        created = psutil.Process(pid).create_time()
    except psutil.Error:
        return False
    return started is None or created <= started + _STARTED_TOLERANCE


def _first(*moments: float | None) -> float | None:
    return min((moment for moment in moments if moment is not None), default=None)


def _cost(calls: Iterable[Exchange]) -> tuple[float | None, int]:
    """Return the cost of what has a known price, None if nothing has, and the calls without one."""
    known: list[float] = []
    unpriced = 0
    for call in calls:
        if not call.usage:
            continue
        provider = endpoint_of(call.host, call.path).provider
        parts = parts_of(call.model, call.served_model, call.usage)
        prices = [price_of_part(part, call.usage, call.started, provider) for part in parts]
        known += [found.client_usd for found in prices if found is not None]
        unpriced += None in prices
    return (sum(known) if known else None), unpriced
