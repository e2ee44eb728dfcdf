"""Give each call and each turn a verdict with evidence. Pure: no files, no clock.

The rules are tried in the order in which they are written; the first with evidence decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ccwire.wire.format import Exchange, is_run_id
from ccwire.wire.usage import Difference, differences, output_of
from correlate.reconcile.match import Joined, Pair
from correlate.reconcile.purpose import (
    Alike,
    Reason,
    RequestFacts,
    is_of_program,
    purpose_of,
    repeats,
)
from correlate.reconcile.result import Finding, Origin
from correlate.reconcile.verdicts import FindingKind, RequestClass, Verdict
from correlate.transcript.reader import Transcript
from correlate.transcript.turns import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeContext:
    """Evidence for the calls without a turn and the turns without a call.

    `origins` is by message id; `began` is the start of this session's capture, and
    `numbered_from_one` whether it still contains the first exchange.
    """

    facts: Mapping[int, RequestFacts] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)
    began: float | None = None
    numbered_from_one: bool = True
    missing_sequences: tuple[int, ...] = ()


def judge(
    joined: Joined, transcript: Transcript, evidence: JudgeContext
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the findings for all calls, by sequence, and for turns without a call, by time."""
    alone = _Alone(joined, transcript, evidence)
    calls = [*map(_judge_pair, joined.pairs), *map(alone.call, joined.calls_alone)]
    turns = [alone.turn(turn) for turn in joined.turns_alone]
    return (
        tuple(sorted(calls, key=lambda finding: finding.call.sequence if finding.call else 0)),
        tuple(sorted(turns, key=lambda finding: finding.at or 0)),
    )


def _judge_pair(pair: Pair) -> Finding:
    call, turn = pair.call, pair.turn
    verdict, reasons = _compare(call, turn)
    missing = _missing_blocks(call, turn)
    if missing and verdict in ("match", "placeholder", "partial"):
        verdict, reasons = "differs", (missing,)
    how = f"joined by {pair.by}"
    if pair.by == "message_id" and turn.request_id and call.request_id:
        how += f"; the line has the request id of another attempt, {turn.request_id}"
    if pair.by == "heuristic":
        how = "heuristic: the line has no ids; joined by token counts and time"
    return Finding(
        verdict=verdict,
        kind=_thread(call, turn),
        evidence=(how, *reasons),
        call=call,
        turn=turn,
    )


def _compare(call: Exchange, turn: Turn) -> tuple[Verdict, tuple[str, ...]]:
    wire = call.usage or call.usage_at_start
    found = differences(wire, turn.usage)
    if not found:
        cut = (
            () if call.complete else ("the answer was cut off; both sides have its initial usage",)
        )
        return "match", ("every usage field is equal", *cut)
    start = call.usage_at_start
    if start is not None and not differences(start, turn.usage):
        reason = f"equals the usage in message_start (output {output_of(start)}); "
        return "placeholder", (reason + f"final output is {output_of(wire)}",)
    if _is_partial(found, turn, start, wire):
        reason = f"output {output_of(turn.usage)} is between {output_of(start)} and "
        return "partial", (reason + f"{output_of(wire)}, and no line has a stop reason",)
    return "differs", tuple(str(difference) for difference in found)


def _is_partial(found: Sequence[Difference], turn: Turn, start: object, wire: object) -> bool:
    if turn.stop_reason is not None or not isinstance(start, dict) or not isinstance(wire, dict):
        return False
    least, seen, most = output_of(start), output_of(turn.usage), output_of(wire)
    if least is None or seen is None or most is None or not least <= seen <= most:
        return False
    return all(d.field == "output_tokens" or d.field.startswith("output_") for d in found)


def _missing_blocks(call: Exchange, turn: Turn) -> str | None:
    """Return evidence that a content block is missing from the transcript, or None."""
    if turn.missing_blocks:
        named = ", ".join(map(str, turn.missing_blocks))
        return f"content block {named} of the answer is missing from the transcript"
    called = any(block.type == "tool_use" for block in turn.blocks)
    if call.complete and call.stop_reason == "tool_use" and not called:
        return "the answer's tool call is missing from the transcript"
    return None


def _thread(call: Exchange | None, turn: Turn | None) -> FindingKind | RequestClass:
    """Return the request class from the client, else main or subagent."""
    if call is not None and call.request_class:
        return RequestClass(call.request_class)
    agent = (call.agent_id if call else None) or (turn.agent_id if turn else None)
    return "subagent" if agent or (turn is not None and turn.sidechain) else "main"


class _Alone:
    """Judges calls without a turn and turns without a call."""

    def __init__(self, joined: Joined, transcript: Transcript, evidence: JudgeContext) -> None:
        self._transcript = transcript
        self._evidence = evidence
        calls = [*(pair.call for pair in joined.pairs), *joined.calls_alone]
        self._alike = Alike(calls, evidence.facts)
        self._has_client = any(call.claude_version for call in calls)
        self._errors = {e.request_id: e for e in transcript.api_errors if e.request_id}
        self._synthetic = {turn.request_id for turn in transcript.turns if turn.synthetic}
        refs = {turn.request_ref for turn in transcript.turns}
        self._sources = [r for r in transcript.api_requests.values() if r.id not in refs]
        self._turns_offer_tools = any(pair.call.tools for pair in joined.pairs)

    def call(self, call: Exchange) -> Finding:
        kind = self._kind(call)
        return Finding(
            verdict="wire-only",
            kind=kind.name,
            evidence=kind.evidence,
            call=call,
        )

    def _kind(self, call: Exchange) -> Reason:
        if call.kind == "count_tokens":
            return Reason("count_tokens", ("a count_tokens call has no turn and is not billed",))
        if self._has_client and is_of_program(call):
            reason = "its user agent is not the client's: made by a program that the client started"
            return Reason("program", (reason,))
        if call.broken:
            return self._broken_kind(call)
        found = purpose_of(
            call,
            self._evidence.facts.get(call.sequence),
            self._sources,
            turns_offer_tools=self._turns_offer_tools,
        )
        if found is not None:
            return found
        files = self._transcript.files
        if not files.exists:
            what = "a program without a session" if is_run_id(files.session_id) else "the session"
            return Reason("no-transcript", (f"{what} has no transcript file",))
        if call.agent_id and call.agent_id not in {agent.agent_id for agent in files.agents}:
            reason = f"agent {call.agent_id} has no transcript file"
            return Reason("no-transcript", (reason,))
        reason = "complete answer, but no transcript line has its request id or message id"
        return Reason("unknown", (reason,))

    def _broken_kind(self, call: Exchange) -> Reason:
        why = _what_broke(call)
        error = self._errors.get(call.request_id) if call.request_id else None
        if error is not None:
            attempt = "" if error.retry_attempt is None else f", attempt {error.retry_attempt}"
            why = (*why, f"system/api_error contains its request id{attempt}")
        if call.request_id and call.request_id in self._synthetic:
            why = (*why, "a synthetic line contains its request id")
        for later in self._alike.to(call):
            if reason := repeats(call, later, self._evidence.facts):
                return Reason("retried", (*why, f"retried by call {later.sequence}: {reason}"))
        aborted = call.ended_by == "client_disconnect"
        return Reason("aborted" if aborted else "failed", (*why, "no later call retries it"))

    def turn(self, turn: Turn) -> Finding:
        verdict, reasons = self._turn_verdict(turn)
        return Finding(
            verdict=verdict,
            kind=_thread(None, turn),
            evidence=(*reasons, f"transcript {turn.places[0]}"),
            turn=turn,
        )

    def _turn_verdict(self, turn: Turn) -> tuple[Verdict, tuple[str, ...]]:
        evidence = self._evidence
        if turn.synthetic:
            return "synthetic", (f"written by the client itself (model {turn.model})",)
        before = evidence.began is None or (turn.ended is not None and turn.ended < evidence.began)
        origin = evidence.origins.get(turn.message_id or "")
        if origin is not None and (before or origin.captured):
            return "inherited", (origin.evidence,)
        if before and evidence.numbered_from_one:
            return "before-capture", ("older than the session's first captured exchange",)
        reason = "no captured exchange has its request id or message id"
        if missing := evidence.missing_sequences:
            named = ", ".join(map(str, missing[:5])) + ("…" if len(missing) > 5 else "")
            return "not-captured", (reason, f"exchanges.jsonl lacks sequence {named}")
        return "not-captured", (reason,)


def _what_broke(call: Exchange) -> tuple[str, ...]:
    if call.status is None:
        return (f"no response ({call.error or call.ended_by})",)
    if call.failed:
        return (f"status {call.status}" + (f", {call.error}" if call.error else ""),)
    return (f"the answer was cut off ({call.ended_by})",)
