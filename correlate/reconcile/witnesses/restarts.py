"""Which calls a total of the client can cover, by the client's processes. Pure.

A client that resumes a session continues from the last `cost-state` in its transcript, adds its own
calls, and writes the new sum when it exits. So the calls of a client that was killed, or of a
release that writes no `cost-state`, are in no later sum, and calls after the last line are in none
yet. The transcript proves it: between the lines of those calls and the next client's there is no
`cost-state`.

The result that `-p` prints is the same sum on releases that restore it. On older ones it counts one
process alone, and in either case only the calls that had ended.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

from correlate.reconcile.result import Finding
from correlate.reconcile.verdicts import ResidualCause
from correlate.reconcile.witnesses.counting import listed
from correlate.transcript.records import CostState

# A line's place in the session's own files: the number of the file, and of the line.
type Place = tuple[int, int]

_MOST = 100  # selections that are tried


@dataclass(frozen=True, slots=True)
class Selection:
    """The calls that a total leaves out, and why.

    `added` are calls that it has from elsewhere: of the same process, under another session. Calls
    are given by sequence number; those from elsewhere have negative ones.
    """

    cause: ResidualCause
    reason: str
    dropped: frozenset[int]
    added: frozenset[int] = frozenset()

    def keeps(self, number: int) -> bool:
        return number in self.added if number < 0 else number not in self.dropped


NOTHING_DROPPED = Selection("none", "", frozenset())


@dataclass(frozen=True, slots=True)
class _Run:
    """The calls of one client process, as they ended, with their places in the transcript."""

    calls: tuple[Finding, ...]
    places: Mapping[int, Place]  # by sequence number; only calls of the main thread have one

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(finding.call.sequence for finding in self.calls if finding.call)

    @property
    def span(self) -> tuple[float, float]:
        started = (finding.call.started for finding in self.calls if finding.call)
        return min(started), max(map(_ended, self.calls))

    @property
    def version(self) -> str | None:
        return next((f.call.claude_version for f in self.calls if f.call), None)


def saved_selections(
    calls: Sequence[Finding], states: Sequence[CostState], files: Sequence[Path]
) -> tuple[Selection, ...]:
    """Return which calls may be missing from the last `cost-state`, by the lines around them."""
    if not states:
        return ()  # no release of this session keeps a sum
    runs = _runs(calls, files)
    saved = _saved(runs, [place for state in states if (place := _state_place(state, files))])
    choices = [
        list(_lost(run, last, is_apart=_is_apart(run, runs)))
        for run, last in zip(runs, saved, strict=True)
    ]
    found = (frozenset(n for lost in chosen for n in lost) for chosen in product(*choices))
    dropped = [one for one in islice(found, _MOST) if one]
    return tuple(_selection(runs, one) for one in dict.fromkeys(dropped))


def result_selections(
    calls: Sequence[Finding],
    saved: Sequence[Selection],
    files: Sequence[Path],
    elsewhere: Sequence[Finding] = (),
) -> tuple[Selection, ...]:
    """Return which calls may be missing from the result of one run of `-p`.

    `elsewhere` are calls of the same processes under other sessions: a client that continues a
    session may make its first calls under a session id of its own.
    """
    runs = _runs([*calls, *elsewhere], files)
    everything = frozenset(n for run in runs for n in run.numbers if n > 0)
    found = (
        one
        for at in range(len(runs) - 1, -1, -1)
        for one in _results_of(runs, at, saved, everything)
        if one.dropped or one.added
    )
    return tuple(islice(found, _MOST))


def _results_of(
    runs: Sequence[_Run], at: int, saved: Sequence[Selection], everything: frozenset[int]
) -> Iterator[Selection]:
    """Yield what the result of one run may count: the session so far, or this run alone."""
    later = frozenset(n for run in runs[at + 1 :] for n in run.numbers if n > 0)
    for earlier in dict.fromkeys(_earlier(runs[:at], one.dropped) for one in saved):
        yield _continued(runs, earlier, later)
    if later:
        yield _continued(runs, frozenset(), later)
    yield from _alone(runs[at], everything)


def _earlier(runs: Sequence[_Run], dropped: frozenset[int]) -> frozenset[int]:
    return dropped & frozenset(n for run in runs for n in run.numbers)


def _continued(runs: Sequence[_Run], earlier: frozenset[int], later: frozenset[int]) -> Selection:
    """Return the result that continues the session's sum, which lacks earlier calls."""
    reason = f"without call {listed(later)}, of a later run"
    if not earlier:
        return Selection("one-run", reason, later)
    lost = _selection(runs, earlier)
    if not later:
        return lost
    return Selection("one-run", f"{reason}; {lost.reason}", earlier | later)


def _alone(run: _Run, everything: frozenset[int]) -> Iterator[Selection]:
    """Yield the results that count one run alone, up to the calls that had ended."""
    numbers = run.numbers
    for ended in range(len(numbers), 0, -1):
        kept = numbers[:ended]
        if not run.places.keys() <= set(kept):
            break  # a call with a line in the main thread had ended
        own = frozenset(n for n in kept if n > 0)
        added = frozenset(kept) - own
        reason = f"counts call {listed(own)} alone"
        if added:
            reason += f" and {len(added)} of the same process under another session"
        reason += f": the result of {run.version or 'this release'} is of one run"
        if ended < len(numbers):
            reason += ", up to the calls that had ended"
        yield Selection("one-run", reason, everything - own, added)


def _runs(calls: Sequence[Finding], files: Sequence[Path]) -> list[_Run]:
    """Group calls by process, in the order in which the processes began to call."""
    by_process: dict[tuple[object, ...], list[Finding]] = {}
    for finding in sorted(calls, key=lambda f: f.call.started if f.call else 0.0):
        if call := finding.call:
            known = (call.pid, call.process_started)
            process = known if call.pid is not None else ("version", call.claude_version)
            by_process.setdefault(process, []).append(finding)
    return [
        _Run(
            tuple(sorted(found, key=_ended)),
            {
                f.call.sequence: place
                for f in found
                if f.call and (place := _turn_place(f, files)) is not None
            },
        )
        for found in by_process.values()
    ]


def _ended(finding: Finding) -> float:
    call = finding.call
    return (call.ended or call.started) if call else 0.0


def _turn_place(finding: Finding, files: Sequence[Path]) -> Place | None:
    if finding.turn is None or finding.agent_id is not None:
        return None
    found = [(files.index(p.path), p.line) for p in finding.turn.places if p.path in files]
    return max(found, default=None)


def _state_place(state: CostState, files: Sequence[Path]) -> Place | None:
    return (files.index(state.path), state.line) if state.path in files else None


def _saved(runs: Sequence[_Run], states: Sequence[Place]) -> list[Place | None]:
    """Return the last `cost-state` of each run: those after its first line, before the next's."""
    firsts = [min(run.places.values(), default=None) for run in runs]
    saved: list[Place | None] = [None] * len(runs)
    for state in sorted(states):
        before = [(first, n) for n, first in enumerate(firsts) if first and first < state]
        if before:
            saved[max(before)[1]] = state
    return saved


def _is_apart(run: _Run, runs: Sequence[_Run]) -> bool:
    """Whether no run with lines was under way during this one."""
    first, last = run.span
    others = (one.span for one in runs if one is not run and one.places)
    return not any(start <= last and first <= end for start, end in others)


def _lost(run: _Run, saved: Place | None, *, is_apart: bool) -> Iterator[frozenset[int]]:
    """Yield which calls of a run may be in no sum: none, if it saved one after its last line."""
    numbers = run.numbers
    if not run.places:
        yield frozenset()  # no line tells
        if is_apart:
            yield frozenset(numbers)
    elif saved is None:
        yield frozenset(numbers)
    elif after := {n for n, place in run.places.items() if place > saved}:
        first = min(numbers.index(n) for n in after)
        for start in range(first, -1, -1):
            if numbers[start] in run.places and run.places[numbers[start]] <= saved:
                break
            yield frozenset(numbers[start:])
    else:
        yield frozenset()


def _selection(runs: Sequence[_Run], dropped: frozenset[int]) -> Selection:
    lost = [run for run in runs if dropped & set(run.numbers)]
    versions = dict.fromkeys(run.version for run in lost if run.version)
    named = f"call {listed(dropped)} of Claude Code {', '.join(versions) or 'unknown version'}"
    if lost[-1] is runs[-1] and len(lost) == 1:
        reason = f"without {named}: no cost-state was written after it"
        return Selection("written-earlier", reason, dropped)
    reason = f"restarted: without {named}, after which no cost-state was written"
    return Selection("restarted", f"{reason} before the session was resumed", dropped)
