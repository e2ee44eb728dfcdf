"""Read what `claude -p` printed, in any of its shapes, and check what it counts besides tokens.

An object, an array (`--verbose`), or stream-json lines, with other output around them. Pure; does
not compare tokens or dollars, which `compare` does.

How the client counts turns (measured on 1.0.100, 2.0.73, 2.1.39, 2.1.168 and 2.1.325): from 2.0 on
one, and one more for each round of tool results, also if that round is the one that `--max-turns`
forbids; before that, each message. `duration_ms` is of the prompt that the result answers: a client
that is woken up by a background agent prints the result of that prompt alone. So turns have only an
upper limit, and a duration has a lower one only if the run has one result.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ccwire.wire.json_text import as_dict, number, parse_json, text, whole
from ccwire.wire.versions import parse_version
from correlate.reconcile.result import Finding
from correlate.reconcile.witnesses.client_totals import ClientTotals, result_in, result_totals

_COUNTS_ROUNDS = (2, 0, 0)  # releases before count messages
_TOLERANCE = 0.5  # seconds by which the clocks of client and proxy may differ


@dataclass(frozen=True, slots=True)
class PrintedResult:
    """The last result of a run of `-p`; `totals` is None if it counts no dollars and no tokens.

    `results` is how many the run printed: with several, turns and duration are of the last prompt.
    """

    totals: ClientTotals | None
    session_id: str | None = None
    turns: int | None = None
    seconds: float | None = None
    results: int = 1


def printed_result(data: bytes) -> PrintedResult | None:
    """Return the last result in the output of `-p`; None if there is none."""
    found = list(_results(data))
    if not found:
        return None
    last = found[-1]
    milliseconds = number(last.get("duration_ms"))
    is_later = bool(whole(last.get("result_index"))) or "origin" in last
    return PrintedResult(
        result_totals(last),
        text(last.get("session_id")),
        whole(last.get("num_turns")),
        None if milliseconds is None else milliseconds / 1000,
        max(len(found), 2 if is_later else 1),
    )


def result_notes(
    result: PrintedResult, calls: Sequence[Finding], turns: Sequence[Finding], lines: int
) -> tuple[str, ...]:
    """Return where turns and duration certainly contradict the calls.

    `lines`: the user and assistant lines of the transcript.
    """
    notes = (_turns_note(result, calls, turns, lines), _duration_note(result, calls))
    return tuple(note for note in notes if note)


def _results(data: bytes) -> Iterator[Mapping[str, Any]]:
    try:
        yield from _in(parse_json(data))
    except ValueError:
        for line in data.splitlines():
            yield from _in(_value(line.strip()))


def _value(line: bytes) -> Any:
    """Return the JSON of a line; None for other output."""
    if not line.startswith((b"{", b"[")):
        return None
    try:
        return parse_json(line)
    except ValueError:
        return None


def _in(printed: Any) -> Iterator[Mapping[str, Any]]:
    for item in printed if isinstance(printed, list) else [printed]:
        if as_dict(item) and (found := result_in(item)) is not None:
            yield found


def _turns_note(
    result: PrintedResult, calls: Sequence[Finding], turns: Sequence[Finding], lines: int
) -> str | None:
    if result.turns is None:
        return None
    versions = [f.call.claude_version for f in calls if f.call and f.call.claude_version]
    rounds = bool(versions) and min(map(parse_version, versions)) >= _COUNTS_ROUNDS
    if not rounds and not lines:
        return None
    own = [f for f in (*calls, *turns) if f.agent_id is None and f.verdict != "inherited"]
    most = (len(own) if rounds else lines) + 1
    if result.turns <= most:
        return None
    unit = "calls of the main thread" if rounds else "messages of the transcript"
    return f"the result says {result.turns} turns; the {most - 1} {unit} allow at most {most}"


def _duration_note(result: PrintedResult, calls: Sequence[Finding]) -> str | None:
    main = [f.call for f in calls if f.call and f.turn and f.agent_id is None]
    processes = {(call.pid, call.process_started) for call in main}
    if result.seconds is None or result.results > 1 or len(processes) != 1:
        return None
    if None in {call.pid for call in main}:
        return None
    span = max(call.ended or call.started for call in main) - min(call.started for call in main)
    if result.seconds >= span - _TOLERANCE:
        return None
    return (
        f"the result says {result.seconds:.1f} s; from the first call of the main thread to the end"
        f" of the last it took {span:.1f} s"
    )
