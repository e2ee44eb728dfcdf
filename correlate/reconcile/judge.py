"""Give each call and each turn a verdict with evidence. Pure: no files, no clock.

The rules are tried in the order in which they are written; the first with evidence decides.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ccwire.wire.format import NO_STREAM, Exchange, is_run_id
from ccwire.wire.usage import Difference, differences, output_of
from correlate.reconcile.match import Joined, Pair
from correlate.reconcile.purpose import (
    Reason,
    Surroundings,
    clients_of,
    is_of_program,
    purpose_of,
    searches_in,
)
from correlate.reconcile.repeats import Alike
from correlate.reconcile.request_facts import RequestFacts
from correlate.reconcile.result import Finding, Origin
from correlate.reconcile.verdicts import FindingKind, RequestClass, Verdict
from correlate.schema.flaws import flaws_of
from correlate.transcript.finality import finality_of
from correlate.transcript.reader import Transcript
from correlate.transcript.turns import Turn

# Blocks that every release writes; some leave out those of the API's own tools.
_WRITTEN_TYPES = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})
_NO_LINE = "complete answer, but no transcript line has its request id or message id"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeContext:
    """Evidence for the calls without a turn and the turns without a call.

    `facts`, `empty_answers` and `sent_outputs` are by sequence: what requests say, whole answers
    without content, and the output counts that the events of an answer had. `origins` is by message
    id; `began` is the start of this session's capture, and `numbered_from_one` whether it still
    contains the first exchange. Without `is_captured`, nothing but the transcript is known.
    """

    facts: Mapping[int, RequestFacts] = field(default_factory=dict)
    empty_answers: frozenset[int] = frozenset()
    sent_outputs: Mapping[int, frozenset[int]] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)
    is_captured: bool = True
    began: float | None = None
    numbered_from_one: bool = True
    missing_sequences: tuple[int, ...] = ()


def judge(
    joined: Joined, transcript: Transcript, evidence: JudgeContext
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the findings for all calls, by sequence, and for turns without a call, by time."""
    alone = _Alone(joined, transcript, evidence)
    pairs = [_judge_pair(pair, evidence.sent_outputs) for pair in joined.pairs]
    calls = [*pairs, *map(alone.call, joined.calls_alone)]
    turns = [alone.turn(turn) for turn in joined.turns_alone]
    return (
        tuple(sorted(calls, key=lambda finding: finding.call.sequence if finding.call else 0)),
        tuple(sorted(turns, key=lambda finding: finding.at or 0)),
    )


def _judge_pair(pair: Pair, sent_outputs: Mapping[int, frozenset[int]]) -> Finding:
    call, turn = pair.call, pair.turn
    verdict, reasons = _compare(call, turn, sent_outputs.get(call.sequence, frozenset()))
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


def _compare(
    call: Exchange, turn: Turn, sent_outputs: frozenset[int]
) -> tuple[Verdict, tuple[str, ...]]:
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
    if start is None and call.stream and output_of(turn.usage) is None:
        return "placeholder", ("message_start has no usage, and neither has the transcript",)
    if _is_partial(found, turn, start, wire) and output_of(turn.usage) in sent_outputs:
        reason = f"output {output_of(turn.usage)} was sent between {output_of(start)} and "
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
    if call.complete and call.blocks and call.blocks.keys() <= _WRITTEN_TYPES:
        written = Counter(block.type for block in turn.blocks)
        for name, count in call.blocks.items():
            if written[name] < count:
                there = f"{written[name]} of {count} {name} blocks"
                return f"the transcript has {there} of the answer"
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
        self._clients = clients_of(calls)
        self._errors = {e.request_id: e for e in transcript.api_errors if e.request_id}
        self._synthetic = {turn.request_id for turn in transcript.turns if turn.synthetic}
        refs = {turn.request_ref for turn in transcript.turns}
        self._around = Surroundings(
            session_id=transcript.files.session_id,
            sources=tuple(r for r in transcript.api_requests.values() if r.id not in refs),
            searches=searches_in(transcript.turns),
            compacted=tuple(c.timestamp for c in transcript.compactions if c.timestamp is not None),
            turns_offer_tools=any(pair.call.tools for pair in joined.pairs),
            calls=tuple(calls),
            facts=evidence.facts,
        )

    def call(self, call: Exchange) -> Finding:
        kind = self._kind(call)
        return Finding(
            verdict="wire-only",
            kind=kind.name,
            evidence=kind.evidence,
            call=call,
        )

    def _kind(self, call: Exchange) -> Reason:
        if self._clients and is_of_program(call, self._clients):
            reason = "its user agent is not the client's: made by a program that the client started"
            return Reason("other-program", (reason,))
        if call.kind == "count_tokens":
            return Reason("count_tokens", ("a count_tokens call has no turn and is not billed",))
        if call.broken and (found := self._broken_kind(call)):
            return found
        return (
            purpose_of(call, self._around)
            or self._discarded(call)
            or self._without_transcript()
            or Reason("unknown", (_NO_LINE,))
        )

    def _broken_kind(self, call: Exchange) -> Reason | None:
        """Return why there is no answer; None if all but the end of one was received."""
        why = (*_what_broke(call), *self._written_about(call))
        retry = self._alike.retry_of(call)
        if retry is not None:
            later, reason = retry
            why = (*why, f"retried by call {later.sequence}: {reason}")
        else:
            why = (*why, "no later call retries it")
        if _is_other_body(call):
            return Reason("not-an-answer", why)
        if retry is not None:
            return Reason("retried", why)
        if call.ended_by == "client_disconnect":
            return Reason("aborted", why)
        return None if call.stop_reason and not call.failed else Reason("failed", why)

    def _discarded(self, call: Exchange) -> Reason | None:
        """Return why the client wrote no line although the answer is whole; None if it should."""
        if call.sequence in self._evidence.empty_answers:
            what = "a refusal" if call.stop_reason == "refusal" else "an answer"
            reason = (
                f"{what} without content ({call.stop_reason}), for which the client has no line"
            )
            return Reason("discarded", (reason, *self._written_about(call)))
        retry = self._alike.retry_of(call)
        if call.stream and call.usage_at_start is None and retry and retry[0].stream is False:
            reason = "its message_start has no usage, which older clients cannot read"
            again = f"repeated without streaming by call {retry[0].sequence}: {retry[1]}"
            return Reason("discarded", (reason, again))
        return None

    def _without_transcript(self) -> Reason | None:
        files = self._transcript.files
        if files.exists:
            return None
        what = "a program without a session" if is_run_id(files.session_id) else "the session"
        return Reason("no-transcript", (f"{what} has no transcript file",))

    def _written_about(self, call: Exchange) -> tuple[str, ...]:
        """Return what the transcript has about a call instead of its answer."""
        found = []
        error = self._errors.get(call.request_id) if call.request_id else None
        if error is not None:
            attempt = "" if error.retry_attempt is None else f", attempt {error.retry_attempt}"
            found.append(f"system/api_error contains its request id{attempt}")
        if call.request_id and call.request_id in self._synthetic:
            found.append("a synthetic line contains its request id")
        return tuple(found)

    def turn(self, turn: Turn) -> Finding:
        verdict, reasons = self._turn_verdict(turn)
        return Finding(
            verdict=verdict,
            kind=_thread(None, turn),
            evidence=(*reasons, f"transcript {turn.places[0]}"),
            turn=turn,
            flaws=flaws_of(turn.version) if verdict == "uncaptured" else (),
        )

    def _turn_verdict(self, turn: Turn) -> tuple[Verdict, tuple[str, ...]]:
        evidence = self._evidence
        if turn.synthetic:
            return "synthetic", (f"written by the client itself (model {turn.model})",)
        before = evidence.began is None or (turn.ended is not None and turn.ended < evidence.began)
        origin = evidence.origins.get(turn.message_id or "")
        if origin is not None and (before or origin.captured):
            return "inherited", (origin.evidence,)
        if not evidence.is_captured:
            return "uncaptured", _written_usage(turn)
        if before and evidence.numbered_from_one:
            return "before-capture", ("older than the session's first captured exchange",)
        reason = "no captured exchange has its request id or message id"
        if missing := evidence.missing_sequences:
            named = ", ".join(map(str, missing[:5])) + ("…" if len(missing) > 5 else "")
            return "not-captured", (reason, f"exchanges.jsonl lacks sequence {named}")
        return "not-captured", (reason,)


def _written_usage(turn: Turn) -> tuple[str, ...]:
    """Return how far the usage of a turn can be trusted that nothing was captured of."""
    output = output_of(turn.usage)
    match finality_of(turn.usage, turn.stop_reason):
        case "exact":
            return ("the line has a stop reason: its usage is final",)
        case "lower-bound":
            flaw = next((f for f in flaws_of(turn.version) if f.key == "placeholder"), None)
            why = f"; in {turn.version}, {flaw.sentence}" if flaw else ""
            return (f"no line has a stop reason: at least {output or 0} output tokens{why}",)
    return ("the line has no usage",)


def _is_other_body(call: Exchange) -> bool:
    """Whether the body arrived, and is not what was asked for."""
    if call.failed or call.ended_by != "http_end":
        return False
    is_whole = (call.error or "").startswith(NO_STREAM)
    return is_whole or (call.message_id is None and call.usage_at_start is None)


def _what_broke(call: Exchange) -> tuple[str, ...]:
    if call.status is None:
        return (f"no response ({call.error or call.ended_by})",)
    if _is_other_body(call):
        return (f"status {call.status}, but no answer: {call.error or 'the body is empty'}",)
    if call.failed:
        return (f"status {call.status}" + (f", {call.error}" if call.error else ""),)
    return (f"the answer was cut off ({call.ended_by})",)
