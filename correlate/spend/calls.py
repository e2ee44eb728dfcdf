"""All calls of a user, each once: the wire's where captured, the transcript's where not.

Lines that a fork or a resumed session has copied carry the ids of the original: the earliest one
decides to which session a call belongs, the most final one what it used. A side conversation may
repeat answers of the session under other request ids: there, the message id alone is the call's.
Calls and lines are matched as `correlate.reconcile.match` does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, Literal

from ccwire.wire.endpoints import endpoint_of
from ccwire.wire.format import SYNTHETIC_MODEL, Exchange
from ccwire.wire.usage import Tokens
from ccwire.wire.vocabulary import Provider
from correlate.captures.folder import has_session, read_exchanges, read_manifest
from correlate.reconcile.match import Pairing
from correlate.spend.files import (
    FileRecord,
    FileTurn,
    agent_of_path,
    kept_usage,
    meta_agent_type,
    rank,
)
from correlate.transcript.finality import Finality, finality_of
from correlate.transcript.lineage import is_copy

MAIN, SUBAGENT = "main", "subagent"
Source = Literal["wire", "transcript"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendCall:
    """A call: when, whose, what it used, and how far that is known."""

    at: float | None
    session_id: str | None
    project: str | None
    branch: str | None
    version: str | None
    agent: str
    asked: str | None
    served: str | None = None
    usage: dict[str, Any] | None
    finality: Finality
    source: Source
    provider: Provider = "anthropic"


@dataclass(slots=True)
class Collected:
    """The calls, and what else the files say about sessions."""

    calls: list[SpendCall] = field(default_factory=list)
    cost_records: dict[str, float] = field(default_factory=dict)
    captured: set[str] = field(default_factory=set)
    with_copies: set[str] = field(default_factory=set)  # sessions that repeat others' calls
    sessions: set[str] = field(default_factory=set)
    lines: dict[tuple[str, str], Tokens] = field(default_factory=dict)  # by UTC day and model


@dataclass(slots=True, eq=False)
class _Merged:
    """A turn and its copies: the first of them, and the one with the most final usage."""

    first: FileTurn
    best: FileTurn
    agent: str

    @property
    def message_id(self) -> str | None:
        return self.first.message_id

    @property
    def request_id(self) -> str | None:
        return self.first.request_id

    @property
    def usage(self) -> Mapping[str, Any] | None:
        return self.best.usage

    @property
    def started(self) -> float | None:
        return self.first.at

    @property
    def has_ids(self) -> bool:
        return self.message_id is not None or self.request_id is not None


def collect(
    records: Mapping[str, FileRecord], session_folders: Iterable[Path], unknown: Iterable[Path]
) -> Collected:
    """Join the transcripts with the exchanges of captured sessions and of `unknown/`."""
    found = Collected()
    types = _agent_types(records)
    turns = _merged(records, types, found)
    captured = list(_captured(session_folders, unknown, found))
    answers = _answers(captured, turns)
    found.calls += [_of_wire(one, answers.get(id(one.call)), types) for one in captured]
    on_wire = {id(turn) for turn in answers.values()}
    found.calls += [_of_turn(turn) for turn in turns if id(turn) not in on_wire]
    return found


@dataclass(frozen=True, slots=True)
class _Captured:
    """A call, the session in whose folder it is, None in `unknown/`, and that session's folder."""

    call: Exchange
    session_id: str | None
    cwd: str | None


def _captured(
    session_folders: Iterable[Path], unknown: Iterable[Path], found: Collected
) -> Iterator[_Captured]:
    """Yield the calls that used anything, once those of a session with two folders."""
    seen: set[tuple[str | None, str | None, str]] = set()
    for folder in [*session_folders, *unknown]:
        session = folder.name if has_session(folder) else None
        cwd = read_manifest(folder).cwd if session else None
        for call in read_exchanges(folder):
            if call.kind != "messages" or (call.failed and not call.usage_at_start):
                continue
            ids = (call.request_id, call.message_id, "" if call.request_id else call.flow_id)
            if ids in seen:
                continue
            seen.add(ids)
            if session:
                found.captured.add(session)
                found.sessions.add(session)
            yield _Captured(call, session, cwd)


def _answers(captured: Sequence[_Captured], turns: Sequence[_Merged]) -> dict[int, _Merged]:
    """Return the turn of each call that has one, by the identity of the call."""
    pairing = Pairing((one.call for one in captured), turns)
    pairing.by_ids()
    pairs = pairing.pairs
    unpaired = {id(call) for call in pairing.calls}
    calls: dict[str, list[Exchange]] = {}
    for one in captured:
        if one.session_id and id(one.call) in unpaired:
            calls.setdefault(one.session_id, []).append(one.call)
    nameless: dict[str, list[_Merged]] = {}
    for turn in pairing.turns.values():
        if turn.first.session_id in calls:
            nameless.setdefault(turn.first.session_id, []).append(turn)
    for session, some in nameless.items():
        in_session = Pairing(calls[session], some)
        in_session.by_numbers()
        pairs += in_session.pairs
    return {id(call): turn for call, turn, _ in pairs}


def _merged(
    records: Mapping[str, FileRecord], types: Mapping[str, str], found: Collected
) -> list[_Merged]:
    named: dict[tuple[str | None, str | None], _Merged] = {}
    by_message: dict[str, _Merged] = {}
    unnamed: list[_Merged] = []
    for path, record in records.items():
        stem = None if agent_of_path(path) else Path(path).stem
        if stem and record.cost_usd is not None:
            found.cost_records[stem] = record.cost_usd
        for place, tokens in record.lines.items():
            found.lines[place] = found.lines.get(place, Tokens()) + tokens
    copies = _copies(records)
    turns = [
        (turn, path in copies, record.modified)
        for path, record in records.items()
        for turn in (*record.turns, *record.unfinished)
    ]
    for turn, _, _ in sorted(turns, key=_order):
        if turn.session_id:
            found.sessions.add(turn.session_id)
        if turn.model == SYNTHETIC_MODEL:
            continue
        new = _Merged(turn, turn, _agent(turn, types))
        if not new.has_ids:
            unnamed.append(new)
            continue
        key = (turn.message_id, turn.request_id)
        same = named.get(key) or _repeated(turn, by_message.get(turn.message_id or ""))
        if same is None:
            named[key] = new
            if turn.message_id:
                by_message.setdefault(turn.message_id, new)
            continue
        if turn.session_id and turn.session_id != same.first.session_id:
            found.with_copies.add(turn.session_id)
        if rank(turn) > rank(same.best):
            same.best = turn
        if same.agent == SUBAGENT:
            same.agent = new.agent if new.agent != MAIN else SUBAGENT
    return [*named.values(), *unnamed]


def _order(found: tuple[FileTurn, bool, int]) -> tuple[float, bool, bool, int]:
    """Return what sorts a copy after its original.

    Copied lines have the original's times. A file may show that it is a copy, else the file that
    was written first is the original, as in `correlate.transcript.lineage`.
    """
    turn, is_in_copy, modified = found
    return turn.at if turn.at is not None else inf, turn.sidechain, is_in_copy, modified


def _copies(records: Mapping[str, FileRecord]) -> set[str]:
    """Return the files that show to be copies; read are only those that share a turn."""
    places: dict[tuple[str | None, str | None], str] = {}
    sharing: set[str] = set()
    for path, record in records.items():
        if agent_of_path(path):
            continue
        for turn in record.turns:
            ids = (turn.message_id, turn.request_id)
            if any(ids) and (other := places.setdefault(ids, path)) != path:
                sharing |= {path, other}
    return {path for path in sharing if is_copy(Path(path))}


def _repeated(turn: FileTurn, known: _Merged | None) -> _Merged | None:
    """Return the call with the same message id, if the turn repeats it under other ids."""
    if known is None:
        return None
    is_side = turn.sidechain or known.first.sidechain
    return known if is_side or None in (turn.request_id, known.first.request_id) else None


def _agent_types(records: Mapping[str, FileRecord]) -> dict[str, str]:
    launches: dict[str, str] = {}
    tool_of: dict[str, str] = {}
    types: dict[str, str] = {}
    for record in records.values():
        launches.update(record.launches)
        tool_of.update(record.results)
    for path in records:
        if agent := agent_of_path(path):
            kind, tool = meta_agent_type(path)
            if tool:
                tool_of[agent] = tool
            if kind:
                types[agent] = kind[:80]
    types.update({agent: launches[tool] for agent, tool in tool_of.items() if tool in launches})
    return types


def _agent(turn: FileTurn, types: Mapping[str, str]) -> str:
    if turn.agent_id is None and not turn.sidechain:
        return MAIN
    return types.get(turn.agent_id or "") or turn.agent_type or SUBAGENT


def _of_turn(merged: _Merged) -> SpendCall:
    first, best = merged.first, merged.best
    return SpendCall(
        at=first.at,
        session_id=first.session_id,
        project=first.cwd,
        branch=first.branch,
        version=first.version,
        agent=merged.agent,
        asked=best.model,
        usage=best.usage,
        finality=finality_of(best.usage, best.stop_reason),
        source="transcript",
    )


def _of_wire(one: _Captured, turn: _Merged | None, types: Mapping[str, str]) -> SpendCall:
    call = one.call
    usage, stop_reason = call.usage or call.usage_at_start, call.stop_reason if call.usage else None
    type_ = call.agent_type or types.get(call.agent_id or "") or SUBAGENT
    of_call = SpendCall(
        at=call.started,
        session_id=one.session_id,
        project=one.cwd,
        branch=None,
        version=call.claude_version,
        agent=type_ if call.agent_id else MAIN,
        asked=call.model,
        served=call.served_model,
        usage=None if usage is None else kept_usage(usage),
        finality=finality_of(usage, stop_reason),
        source="wire",
        provider=endpoint_of(call.host, call.path).provider,
    )
    if turn is None:
        return of_call
    first, best = turn.first, turn.best
    if of_call.finality != "exact" and best.usage is not None and best.stop_reason is not None:
        # The capture was cut off, the client was not.
        of_call = replace(
            of_call, usage=best.usage, finality=finality_of(best.usage, best.stop_reason)
        )
    return replace(
        of_call,
        session_id=one.session_id or first.session_id,
        project=first.cwd or one.cwd,
        branch=first.branch,
        version=call.claude_version or first.version,
        agent=of_call.agent if turn.agent == SUBAGENT and call.agent_id else turn.agent,
    )


def chosen(
    calls: Sequence[SpendCall], since: float | None, until: float | None
) -> Iterator[SpendCall]:
    """Yield the calls of a time; one without a time is in none."""
    for call in calls:
        if since is not None and (call.at is None or call.at < since):
            continue
        if until is not None and (call.at is None or call.at >= until):
            continue
        yield call
