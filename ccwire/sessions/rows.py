"""The list behind `ccwire sessions`: a row of what is known of each session.

Reads the index and the transcript of the listed sessions only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from addon.hooks.sessions import SessionEntry
from addon.identity.live_records import LiveRecord
from ccwire.sessions.filters import SessionFilter
from ccwire.sessions.heads import (
    SessionHead,
    chosen_sessions,
    hook_records,
    is_running,
    session_heads,
)
from ccwire.sessions.usage import SessionUsage, UsageSource, usage_of_calls, usage_of_turns
from ccwire.verdict_cache import VerdictCache
from ccwire.wire.format import Exchange
from correlate.captures.folder import read_exchanges
from correlate.captures.size import folder_bytes
from correlate.reconcile.match import join
from correlate.transcript.finality import Finality
from correlate.transcript.lineage import FirstAnswers, lineage_of
from correlate.transcript.reader import Transcript
from correlate.transcript.titles import title_of

_LOST = ("malformed", "not an object")  # of lines that may have been answers


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One row of `ccwire sessions`; None means unknown.

    Calls, tokens and cost are from the wire, or from the transcript of a session that is not
    captured (`usage_from`); `finality` says how far they are to be trusted: `unknown` if a part is
    missing, such as turns that were not captured. The transcript of a fork also has the turns of
    the session that it was `forked_from`. `branch` is the last one of git, `slug` the client's name
    for the session; `resumed` is None if nothing is known about it. `cost_usd` leaves out what has
    no known price, in `unpriced_calls`. `unexplained` is of the last `ccwire reconcile`, and None
    if the session has changed since.
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
    usage_from: UsageSource | None = None
    finality: Finality | None = None
    branch: str | None = None
    slug: str | None = None
    forked_from: str | None = None
    resumed: bool | None = None
    compactions: int = 0

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
    captured: bool = False,
    chosen: SessionFilter = SessionFilter(),  # noqa: B008, it is frozen
    clean: Callable[[str], str] = str,
    verdicts: VerdictCache | None = None,
) -> SessionList:
    """Return the sessions with a capture or a transcript, and the running ones.

    With `captured` those with only a transcript are left out, with `every` nothing is. `folders`
    are the captures by session, `clean` redacts titles. Most sessions of a large folder are not
    shown: of those, only the manifest is read.
    """
    heads = session_heads(folders, claude_dir, sessions_map, every=every, captured=captured)
    shown, more = chosen_sessions(heads, chosen)
    origins = FirstAnswers()
    rows = [_row(head, clean, origins) for head in shown]
    if verdicts is not None:
        rows = [_judged(row, folders.get(row.session_id), verdicts) for row in rows]
    return SessionList(rows, more)


def _row(session: SessionHead, clean: Callable[[str], str], origins: FirstAnswers) -> SessionRow:
    manifest, entry, live = session.manifest, session.entry, session.live
    exchanges = read_exchanges(session.folder) if session.folder else []
    transcript = session.read()
    if session.folder is not None:
        usage = usage_of_calls(e for e in exchanges if e.kind == "messages")
    else:
        usage = usage_of_turns(transcript.turns) if transcript else SessionUsage()
        if transcript and any(bad.reason in _LOST for bad in transcript.bad_lines):
            usage = replace(usage, finality="unknown")
    versions = (manifest.claude_versions if manifest else []) or (
        list(transcript.versions) if transcript else []
    )
    origin = origins.origin(session.transcript) if session.transcript else None
    if usage.usage_from == "wire" and transcript and origin is None:
        usage = _with_uncaptured(usage, exchanges, transcript)
    lineage = lineage_of(transcript, origin, hook_records(session.entries))
    return SessionRow(
        session_id=session.session_id,
        title=title_of(session.transcript, clean) if session.transcript else None,
        project=session.found_project(),
        version=(live.version if live else None)
        or (versions[-1] if versions else None)
        or (entry.claude_version if entry else None),
        state=_state(entry, live),
        pid=(live.pid if live else None) or (entry.pid if entry else None),
        started=session.found_started(),
        last_seen=session.last_seen,
        duration_seconds=session.duration,
        captured=session.folder is not None,
        bytes=folder_bytes(session.folder) if session.folder else 0,
        exchanges=len(exchanges),
        branch=transcript.branches[-1] if transcript and transcript.branches else None,
        slug=transcript.slug if transcript else None,
        **asdict(usage),
        **asdict(lineage),
    )


def _with_uncaptured(
    usage: SessionUsage, exchanges: Sequence[Exchange], transcript: Transcript
) -> SessionUsage:
    """Return the usage of captured calls, as not all of it if the transcript has other turns."""
    alone = join(exchanges, transcript.turns).turns_alone
    has_more = any(not turn.synthetic for turn in alone)
    return replace(usage, finality="unknown") if has_more else usage


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
