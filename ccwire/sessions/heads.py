"""Which sessions there are: captured and running ones, and those with a transcript.

Filters and orders them by manifests and the first and last lines of transcripts. Exchanges are read
only of sessions that may be unused, and for an order that needs them.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

import psutil

from addon.hooks.sessions import SessionEntry, read_sessions
from addon.identity.live_records import LiveRecord, live_records
from ccwire.sessions.filters import SessionFilter, SortKey, largest
from ccwire.sessions.usage import SessionUsage, usage_of_calls, usage_of_turns
from ccwire.wire.endpoints import CALL_KINDS
from ccwire.wire.format import Exchange, Manifest
from correlate.captures.folder import read_exchanges, read_manifest
from correlate.captures.size import folder_bytes
from correlate.transcript.lineage import HookRecords, is_copy
from correlate.transcript.locate import ClaudeDir, first_cwd, first_time, last_used
from correlate.transcript.reader import Transcript, read_transcript

_STARTED_TOLERANCE = 5.0


@dataclass(frozen=True)
class SessionHead:
    """What is known of a session before its exchanges and its transcript are read."""

    session_id: str
    folder: Path | None
    manifest: Manifest | None
    entry: SessionEntry | None
    live: LiveRecord | None
    transcripts: tuple[Path, ...] = ()  # one in each project that it was continued in
    claude: ClaudeDir | None = None
    entries: tuple[SessionEntry, ...] = ()  # all of the session, `entry` is the last

    @property
    def transcript(self) -> Path | None:
        return self.transcripts[0] if self.transcripts else None

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
            *(entry.started_at for entry in self.entries),
            self.live.started_at if self.live else None,
            self.manifest.first_seen if self.manifest else None,
        )

    @cached_property
    def last_seen(self) -> float | None:
        return _last(
            self.manifest.last_seen if self.manifest else None,
            self.live.updated_at if self.live else None,
            *(entry.seen_at for entry in self.entries),
            *map(last_used, self.transcripts),
        )

    @property
    def duration(self) -> float | None:
        started, last = self.found_started(), self.last_seen
        return max(0.0, last - started) if started is not None and last is not None else None

    def found_project(self) -> str | None:
        """Return the project, from the transcript if nothing else names it."""
        return self.project or (first_cwd(self.transcript) if self.transcript else None)

    def found_started(self) -> float | None:
        """Return the start, also from the transcript: what is known may be the resumed process's.

        The first lines of a fork are older than it is.
        """
        known = self.started
        written = [
            at
            for path in self.transcripts
            if (at := first_time(path)) is not None
            and (known is None or (at < known and not is_copy(path)))
        ]
        return _first(known, *written)

    def calls(self) -> list[Exchange]:
        exchanges = read_exchanges(self.folder) if self.folder else []
        return [exchange for exchange in exchanges if exchange.kind == "messages"]

    def read(self) -> Transcript | None:
        """Return the transcript with its subagents' files; None if there is none."""
        if not self.transcripts or self.claude is None:
            return None
        return read_transcript(self.claude.files_of(self.session_id, self.transcripts))

    def usage(self) -> SessionUsage:
        if self.folder is not None:
            return usage_of_calls(self.calls())
        found = self.read()
        return usage_of_turns(found.turns) if found else SessionUsage()


_KEYS: dict[SortKey, Callable[[SessionHead], Any]] = {
    "last": lambda head: head.last_seen or head.started,
    "started": lambda head: head.found_started() or head.last_seen,
    "duration": lambda head: head.duration,
    "size": lambda head: folder_bytes(head.folder) if head.folder else None,
    "calls": lambda head: head.usage().calls,
    "cost": lambda head: head.usage().cost_usd,
    "project": lambda head: _name(head.found_project()),
}


def session_heads(
    folders: Mapping[str, Path],
    claude_dir: Path,
    sessions_map: Path,
    *,
    every: bool,
    captured: bool = False,
) -> list[SessionHead]:
    """Return the sessions with a capture or a transcript and the running ones, in any order.

    With `captured` those with only a transcript are left out; with `every` the unused ones and
    those that only sessions.json names are included.
    """
    entries: dict[str, list[SessionEntry]] = {}
    for entry in read_sessions(sessions_map):
        entries.setdefault(entry.session_id, []).append(entry)
    claude = ClaudeDir(claude_dir)
    live = {record.session_id: record for record in live_records(claude_dir) if record.session_id}
    transcripts = claude.main_files()
    running = {*live, *(name for name, known in entries.items() if known[-1].state == "active")}
    manifests = {name: read_manifest(folder) for name, folder in folders.items()}
    names = [*folders, *running]
    if every:
        names += [*entries, *transcripts]
    else:
        silent = {name for name in folders if not _has_turns(transcripts.get(name, ()))}
        unused = _unused_among(silent - running, folders, manifests)
        names = [name for name in names if name not in unused]
        if not captured:
            names += [name for name, paths in transcripts.items() if _has_turns(paths)]
    return [
        SessionHead(
            name,
            folders.get(name),
            manifests.get(name),
            entries[name][-1] if name in entries else None,
            live.get(name),
            transcripts.get(name, ()),
            claude,
            tuple(entries.get(name, ())),
        )
        for name in dict.fromkeys(names)
    ]


def chosen_sessions(
    heads: Iterable[SessionHead], chosen: SessionFilter
) -> tuple[list[SessionHead], int]:
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


def hook_records(entries: Iterable[SessionEntry]) -> HookRecords:
    """Return what the hooks recorded of one session."""
    entries = list(entries)
    processes = {(e.pid, e.process_created_at) for e in entries if e.pid is not None}
    return HookRecords([entry.source for entry in entries], len(processes))


def is_running(pid: int, started: float | None) -> bool:
    """Whether the process exists and began before the session (pids are reused)."""
    try:
        created = psutil.Process(pid).create_time()
    except psutil.Error:
        return False
    return started is None or created <= started + _STARTED_TOLERANCE


def _has_turns(transcripts: Iterable[Path]) -> bool:
    return any(map(_has_content, transcripts))


def _has_content(transcript: Path) -> bool:
    try:
        return transcript.stat().st_size > 0
    except OSError:  # removed meanwhile
        return False


def _name(project: str | None) -> str | None:
    return PurePath(project).name if project else None


def _fits(session: SessionHead, chosen: SessionFilter) -> bool:
    started = session.started if chosen.until is None else session.found_started()
    if not chosen.fits_time(started, session.last_seen):
        return False
    if chosen.project is None:
        return True
    return chosen.project.matches(session.found_project())


def _first(*moments: float | None) -> float | None:
    return min((moment for moment in moments if moment is not None), default=None)


def _last(*moments: float | None) -> float | None:
    return max((moment for moment in moments if moment is not None), default=None)
