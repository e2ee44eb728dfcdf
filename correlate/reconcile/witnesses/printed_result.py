"""Read what `claude -p` printed, in any of its shapes, and check what it counts besides tokens.

An object, an array (`--verbose`), or stream-json lines, with other output around them; releases up
to 0.2.114 indent it. Pure; does not compare the totals by model and dollars, which `compare` does.

How the client counts turns (measured on 1.0.100, 2.0.73, 2.1.39, 2.1.168 and 2.1.325): from 2.0 on
one, and one more for each round of tool results, or for each result of parallel tools (2.1.168),
also if that round is the one that `--max-turns` forbids; before that, each message. 2.0.73 counts
more for a `/compact`, which is not checked. `duration_ms` is of the prompt that the result answers:
a client that is woken up by a background agent prints the result of that prompt alone. So turns
have only an upper limit, and a duration has a lower one only if the run has one result.

In a plain run, one prompt whose calls all call tools except the last, each call of the main thread
is at least one turn, and `usage` is their sum.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ccwire.wire.counting import RawUsage
from ccwire.wire.format import Exchange
from ccwire.wire.json_text import as_dict, number, parse_json, text, whole
from ccwire.wire.usage import TOKEN_GROUPS, Tokens, billed_iterations
from ccwire.wire.versions import parse_version
from correlate.reconcile.result import Finding
from correlate.reconcile.witnesses.client_totals import ClientTotals, result_in, result_totals

_COUNTS_ROUNDS = (2, 0, 0)  # releases before count messages
_ONE_RESULT = ("Bash", "Task", "Agent")  # tools whose result is one message
_SIDE_CALLS = ("auxiliary", "count_tokens")
_CLOSED_BY = {b"{": b"}", b"[": b"]"}  # an indented value ends at such a line
_SILENT_END = 5.0  # seconds that a client may go on unseen, as in a Stop hook
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
    usage: RawUsage | None = None
    is_success: bool = True


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
        as_dict(last.get("usage")) or None,
        last.get("subtype") == "success" and last.get("is_error") is not True,
    )


def result_notes(
    result: PrintedResult,
    calls: Sequence[Finding],
    turns: Sequence[Finding],
    lines: int,
    last_seen: float | None = None,
) -> tuple[str, ...]:
    """Return where turns, duration and usage certainly contradict the calls.

    `lines`: the user and assistant lines of the transcript; `last_seen`: the last sign of the
    client, which may be later than its last call.
    """
    plain = [] if turns else _plain_run(result, calls)
    notes = (
        _turns_of_plain_run(result, plain) if plain else _turns_note(result, calls, turns, lines),
        _usage_note(result, plain),
        _duration_note(result, calls),
        _too_long_note(result, calls, last_seen),
    )
    return tuple(note for note in notes if note)


@dataclass(frozen=True, slots=True)
class Written:
    """What a transcript shows of the run: its first and last time, and whether it is one prompt."""

    first: float
    last: float
    is_one_prompt: bool  # which no background task went on with


def uncaptured_notes(
    result: PrintedResult,
    turns: Sequence[Finding],
    lines: int,
    written: Written | None,
    *,
    is_compacted: bool,
) -> tuple[str, ...]:
    """Return where turns and duration certainly contradict a transcript without a capture."""
    notes = (
        None if is_compacted else _turns_note(result, (), turns, lines),
        None if written is None else _written_note(result, turns, written),
    )
    return tuple(note for note in notes if note)


def _results(data: bytes) -> Iterator[Mapping[str, Any]]:
    try:
        yield from _in(parse_json(data))
    except ValueError:
        for value in _values(data.splitlines()):
            yield from _in(value)


def _values(lines: Sequence[bytes]) -> Iterator[Any]:
    """Yield the JSON values among the lines: of one line each, or indented, as before 0.2.109."""
    after = 0
    for start, line in enumerate(lines):
        begun = line.strip()
        if start < after or not begun.startswith((b"{", b"[")):
            continue
        value = _value(begun)
        if value is None and begun in _CLOSED_BY:
            rest = range(start + 1, len(lines))
            end = next((n for n in rest if lines[n].rstrip() == _CLOSED_BY[begun]), start)
            value = _value(b"\n".join(lines[start : end + 1]))
            after = after if value is None else end + 1
        yield value


def _value(text: bytes) -> Any:
    """Return the value of JSON; None for other output."""
    try:
        return parse_json(text)
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
    versions = _versions(calls, turns)
    rounds = bool(versions) and min(map(parse_version, versions)) >= _COUNTS_ROUNDS
    is_compacted = any(finding.kind == "compaction" for finding in calls)
    if is_compacted or (not rounds and not lines):
        return None
    own = [f for f in (*calls, *turns) if f.agent_id is None and f.verdict != "inherited"]
    most = (len(own) + len(_tools_used(own)) if rounds else lines) + 1
    if result.turns <= most:
        return None
    what = "calls" if calls else "turns"
    unit = f"{len(own)} {what} of the main thread" if rounds else f"{lines} messages"
    return f"the result says {result.turns} turns; {unit} allow at most {most}"


def _versions(calls: Sequence[Finding], turns: Sequence[Finding]) -> list[str]:
    """Return the releases that made the calls; without a call, those that wrote the turns."""
    named = [f.call.claude_version for f in calls if f.call]
    if not calls:
        named = [f.turn.version for f in turns if f.turn and f.verdict != "inherited"]
    return [version for version in named if version]


def _plain_run(result: PrintedResult, calls: Sequence[Finding]) -> list[Finding]:
    """Return the calls of the main thread, if they are those of one prompt that went well."""
    main = [f for f in calls if f.call and f.turn and f.agent_id is None]
    made = [f.call for f in main if f.call]
    alone = [f for f in calls if f.turn is None and f.agent_id is None]
    stops = [call.stop_reason for call in made]
    is_plain = (
        result.is_success
        and result.results == 1
        and all(finding.kind in _SIDE_CALLS for finding in alone)  # some count what was cut off
        and len({(call.pid, call.process_started) for call in made}) == 1
        and all(call.complete and call.stream and _counts_rounds(call) for call in made)
        and stops == ["tool_use"] * (len(stops) - 1) + ["end_turn"]
    )
    return main if is_plain else []


def _counts_rounds(call: Exchange) -> bool:
    version = call.claude_version
    return version is not None and parse_version(version) >= _COUNTS_ROUNDS


def _turns_of_plain_run(result: PrintedResult, main: Sequence[Finding]) -> str | None:
    used = _tools_used(main)
    most = 1 + len(used) + sum(tool not in _ONE_RESULT for tool in used)
    if result.turns is None or len(main) <= result.turns <= most:
        return None
    allowed = f"{len(main)}" if most == len(main) else f"{len(main)} to {most}"
    return f"the result says {result.turns} turns; the calls of the main thread make {allowed}"


def _tools_used(findings: Sequence[Finding]) -> list[str | None]:
    turns = [finding.turn for finding in findings if finding.turn]
    return [block.tool for turn in turns for block in turn.blocks if block.type == "tool_use"]


def _usage_note(result: PrintedResult, main: Sequence[Finding]) -> str | None:
    usages = [finding.wire_usage for finding in main]
    if result.usage is None or not main or any(map(billed_iterations, usages)):
        return None
    wire = sum(map(Tokens.of_top_level, usages), Tokens())
    said = Tokens.of_top_level(result.usage)
    apart = [
        f"{said.of_group(group):,} {group.column}, not {wire.of_group(group):,}"
        for group in TOKEN_GROUPS
        if group.kind != "requests" and said.of_group(group) != wire.of_group(group)
    ]
    if not apart:
        return None
    return f"the usage of the result is not that of the main thread: {'; '.join(apart)}"


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


def _written_note(result: PrintedResult, turns: Sequence[Finding], written: Written) -> str | None:
    """Compare the duration with the lines: those of the answers, and all that there are."""
    if result.seconds is None:
        return None
    said = f"the result says {result.seconds:.1f} s"
    whole_span = written.last - written.first
    if result.seconds > whole_span + _SILENT_END:
        return f"{said}; from the first line of the transcript to the last are {whole_span:.1f} s"
    main = [f.turn for f in turns if f.turn and f.agent_id is None and not f.turn.synthetic]
    times = [at for turn in main for at in (turn.started, turn.ended) if at is not None]
    span = max(times, default=0.0) - min(times, default=0.0)
    is_of_all = written.is_one_prompt and result.results == 1
    if not is_of_all or result.seconds >= span - _TOLERANCE:
        return None
    return f"{said}; from the first line of the answers to the last are {span:.1f} s"


def _too_long_note(
    result: PrintedResult, calls: Sequence[Finding], last_seen: float | None
) -> str | None:
    own = [f.call for f in calls if f.call and not f.is_other_program]
    started = {call.process_started for call in own}
    if result.seconds is None or len(started) != 1 or None in started:
        return None
    began = max(moment for moment in started if moment is not None)
    ended = max([last_seen or 0.0, *(call.ended or call.started for call in own)])
    if result.seconds <= ended - began + _SILENT_END:
        return None
    return (
        f"the result says {result.seconds:.1f} s; the client was last seen"
        f" {ended - began:.1f} s after its start"
    )
