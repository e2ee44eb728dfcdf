"""The threads of a session: which thread made each call, and where it lost its cache. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ccwire.wire.safe_text import visible
from ccwire.wire.vocabulary import one_of
from correlate.reconcile.result import Finding

MAIN = "main"
SIDE = "side"  # calls outside the conversation: titles, topics, counting tokens

_SIDE_KINDS = ("auxiliary", "count_tokens", "other-program")
Outcome = Literal["answered", "retried", "failed", "aborted", "cut"]

_ENDED_BADLY: tuple[Outcome, ...] = ("retried", "failed", "aborted")
_LONGEST_TASK = 200
_LEAST_CACHED = 1024  # the API does not cache shorter prefixes


@dataclass(frozen=True, slots=True)
class Lane:
    """One thread: the main one, the side calls, or a subagent by its id and its task."""

    id: str
    name: str
    description: str | None = None


def lane_of(finding: Finding) -> str:
    if finding.agent_id:
        return finding.agent_id
    asked = finding.call.request_class if finding.call else None
    return SIDE if finding.kind in _SIDE_KINDS or asked in _SIDE_KINDS else MAIN


def lanes_of(
    findings: Iterable[Finding],
    types: Mapping[str, str | None],
    clean: Callable[[str], str] = str,
    described: Mapping[str, str | None] = MappingProxyType({}),
) -> tuple[Lane, ...]:
    """Return the threads: main, then side calls, then subagents in order of appearance.

    `clean` redacts an id or a task before it is cut.
    """
    ids = dict.fromkeys(lane_of(finding) for finding in findings)
    first = [lane for lane in (MAIN, SIDE) if lane in ids]
    names = {MAIN: "main", SIDE: "side calls"}
    return tuple(
        Lane(
            lane,
            names.get(lane) or _agent_name(clean(lane), types.get(lane)),
            visible(clean(task))[:_LONGEST_TASK] if (task := described.get(lane)) else None,
        )
        for lane in dict.fromkeys([*first, *ids])
    )


def outcome_of(finding: Finding) -> Outcome:
    """Return a call's outcome: answered, retried, failed, aborted or cut."""
    if outcome := one_of(_ENDED_BADLY, finding.kind):
        return outcome
    call = finding.call
    if call is None or call.failed:
        return "failed"
    return "answered" if call.complete else "cut"


def cache_drops(calls: Sequence[Finding], compacted_at: Sequence[float]) -> frozenset[int]:
    """Return the calls that read less than half of what the previous call left in the cache.

    Calls after a compaction are excluded: their prompt is shorter.
    """
    before: dict[tuple[str, str | None], Finding] = {}
    drops = set()
    for finding in calls:
        tokens, call = finding.wire_tokens, finding.call
        if call is None or not tokens.context:
            continue
        key = (lane_of(finding), call.model)
        last = before.get(key)
        before[key] = finding
        if last is None or last.call is None or _between(compacted_at, last, finding):
            continue
        kept = last.wire_tokens.cached
        if kept >= _LEAST_CACHED and tokens.cache_read < kept / 2:
            drops.add(call.sequence)
    return frozenset(drops)


def _between(times: Sequence[float], one: Finding, other: Finding) -> bool:
    return any((one.at or 0) < at <= (other.at or 0) for at in times)


def _agent_name(agent_id: str, kind: str | None) -> str:
    return f"{kind} {agent_id[:5]}" if kind else agent_id[:16]
