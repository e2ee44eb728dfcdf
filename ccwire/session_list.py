"""The list behind `ccwire sessions`: captured and running sessions, and those with a transcript."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from addon.hooks.sessions import SessionEntry, read_sessions
from addon.identity.live_records import LiveRecord, live_records
from ccwire.wire.endpoints import CALL_KINDS, endpoint_of
from ccwire.wire.format import Exchange
from ccwire.wire.parts import parts_of
from ccwire.wire.usage import Tokens
from correlate.captures.folder import read_exchanges, read_manifest
from correlate.reconcile.prices import price_of_part
from correlate.transcript.locate import ClaudeDir, first_cwd
from correlate.transcript.titles import title_of

_STARTED_TOLERANCE = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One row of `ccwire sessions`; None means unknown."""

    session_id: str
    title: str | None = None
    project: str | None = None
    version: str | None = None
    state: str | None = None
    pid: int | None = None
    started: float | None = None
    last_seen: float | None = None
    captured: bool = False
    exchanges: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def session_rows(
    folders: Mapping[str, Path],
    claude_dir: Path,
    sessions_map: Path,
    *,
    every: bool,
    clean: Callable[[str], str] = str,
) -> list[SessionRow]:
    """Return captured and running sessions, with `every` also those with only a transcript.

    `folders` has the folder of each captured session. `clean` redacts titles.
    """
    claude = ClaudeDir(claude_dir)
    entries = {entry.session_id: entry for entry in read_sessions(sessions_map)}
    live = {record.session_id: record for record in live_records(claude_dir) if record.session_id}
    transcripts = claude.session_ids()
    running = {*live, *(name for name, entry in entries.items() if entry.state == "active")}
    captured = {name: read_exchanges(folder) for name, folder in folders.items()}
    names = [*folders, *running]
    if every:
        names += [*entries, *transcripts]
    else:
        silent = {name for name in captured if not _has_turns(transcripts.get(name))}
        unused = unused_sessions(captured, silent - running)
        names = [name for name in names if name not in unused]
    rows = [
        _row(
            name,
            folders.get(name),
            captured.get(name, []),
            entries.get(name),
            live.get(name),
            transcripts.get(name),
            clean,
        )
        for name in dict.fromkeys(names)
    ]
    return sorted(rows, key=lambda row: row.last_seen or row.started or 0, reverse=True)


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


def _row(
    session_id: str,
    folder: Path | None,
    exchanges: Sequence[Exchange],
    entry: SessionEntry | None,
    live: LiveRecord | None,
    transcript: Path | None,
    clean: Callable[[str], str],
) -> SessionRow:
    manifest = read_manifest(folder) if folder else None
    calls = [exchange for exchange in exchanges if exchange.kind == "messages"]
    tokens = [Tokens.of(call.usage) for call in calls if call.usage]
    versions = manifest.claude_versions if manifest else []
    written = transcript.stat().st_mtime if transcript else None
    return SessionRow(
        session_id=session_id,
        title=title_of(transcript, clean) if transcript else None,
        project=(manifest.cwd if manifest else None)
        or (entry.project_dir if entry else None)
        or (live.cwd if live else None)
        or (first_cwd(transcript) if transcript else None),
        version=(live.version if live else None)
        or (versions[-1] if versions else None)
        or (entry.claude_version if entry else None),
        state=_state(entry, live),
        pid=(live.pid if live else None) or (entry.pid if entry else None),
        started=_first(
            entry.started_at if entry else None,
            live.started_at if live else None,
            manifest.first_seen if manifest else None,
        ),
        last_seen=(manifest.last_seen if manifest else None)
        or (live.updated_at if live else None)
        or (entry.seen_at if entry else None)
        or written,
        captured=folder is not None,
        exchanges=len(exchanges),
        calls=len(calls),
        input_tokens=sum(t.context for t in tokens),
        output_tokens=sum(t.output for t in tokens),
        cost_usd=_cost(calls),
    )


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


def _cost(calls: Iterable[Exchange]) -> float | None:
    """Return the cost of the calls with a known price; None if there are none."""
    prices = [
        price_of_part(part, c.usage, c.started, endpoint_of(c.host, c.path).provider)
        for c in calls
        if c.usage
        for part in parts_of(c.model, c.served_model, c.usage)
    ]
    known = [found.client_usd for found in prices if found is not None]
    return sum(known) if known else None
