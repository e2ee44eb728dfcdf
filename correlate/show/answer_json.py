"""What a final answer took: tokens by class, calls, dollars and time. Pure.

The usage of a call is the wire's where it was captured, else the transcript's, which may be a lower
bound. A call belongs to the prompt whose lines have its answer. Subagents, and calls that the
transcript does not have, belong to the prompt before them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ccwire.wire.endpoints import CALL_KINDS
from ccwire.wire.format import Exchange
from ccwire.wire.usage import Tokens
from correlate.reconcile.match import join
from correlate.reconcile.prices import usd_of_call, usd_of_turn
from correlate.show.final_answer import PromptAnswer
from correlate.show.session_content import SessionContent
from correlate.transcript.finality import Finality, finality_of, finality_of_sum
from correlate.transcript.turns import Turn

_SLACK = 0.5  # seconds that a prompt's line may be written after its call began


@dataclass(frozen=True, slots=True)
class _Used:
    at: float | None
    tokens: Tokens
    finality: Finality
    usd: float | None
    message_id: str | None
    turn: Turn | None  # None if the transcript does not have the call


def answer_json(
    content: SessionContent, answers: Sequence[PromptAnswer], chosen: PromptAnswer, *, alone: bool
) -> dict[str, Any]:
    """Return an answer with what it took; with `alone` its own turn, else the whole session."""
    used = list(_used(content))
    counted = [chosen] if alone else list(answers)
    if alone:
        used = [one for one in used if _is_of(one, chosen, answers)]
    started = next((one.started for one in counted if one.started is not None), None)
    ended = max((one.ended for one in counted if one.ended is not None), default=None)
    took = None if started is None or ended is None else max(round((ended - started) * 1000), 0)
    usd = [one.usd for one in used]
    return {
        "session_id": content.session_id,
        "text": chosen.text,
        "parts": list(chosen.parts),
        "is_error": chosen.is_error,
        "stop_reason": chosen.stop_reason or _served_stop_reason(content, chosen),
        "model": chosen.model,
        "turns": len(counted),
        "calls": len(used),
        "duration_ms": took,
        "cost_usd": None if None in usd or not usd else sum(filter(None, usd)),
        "usage": sum((one.tokens for one in used), Tokens()).to_usage(),
        "finality": finality_of_sum(one.finality for one in used) or "unknown",
        "from": content.source,
    }


def _served_stop_reason(content: SessionContent, chosen: PromptAnswer) -> str | None:
    """Return that of the wire: some releases write none into their transcripts."""
    named = (c for c in content.exchanges if c.message_id and c.message_id == chosen.message_id)
    return next((call.stop_reason for call in named if call.complete), None)


def _used(content: SessionContent) -> Iterator[_Used]:
    calls = sorted(
        (call for call in content.exchanges if call.kind in CALL_KINDS),
        key=lambda call: (call.started, call.sequence),
    )
    joined = join(calls, content.transcript.turns)
    captured: list[tuple[Exchange, Turn | None]] = [(pair.call, pair.turn) for pair in joined.pairs]
    captured += [(call, None) for call in joined.calls_alone]
    for call, own in captured:
        usage = call.usage or call.usage_at_start
        if call.kind == "messages" and usage:
            finality: Finality = "exact" if call.usage and call.complete else "lower-bound"
            usd = usd_of_call(call, usage)
            tokens = Tokens.of(usage)
            yield _Used(call.started, tokens, finality, usd, call.message_id, own)
    for turn in joined.turns_alone:
        if turn.synthetic:
            continue
        tokens = Tokens.of(turn.usage)
        finality = finality_of(turn.usage, turn.stop_reason)
        yield _Used(turn.started, tokens, finality, usd_of_turn(turn), turn.message_id, turn)


def _is_of(one: _Used, answer: PromptAnswer, answers: Sequence[PromptAnswer]) -> bool:
    turn = one.turn
    if turn is not None and turn.agent_id is None and not turn.sidechain:
        lines = {(place.path, place.line) for place in turn.places}
        return one.message_id in answer.message_ids or not lines.isdisjoint(answer.lines)
    if turn is not None:
        return _within(turn.started, answer, 0.0)
    if any(one.message_id in each.message_ids for each in answers):  # read from the wire
        return one.message_id in answer.message_ids
    return _within(one.at, answer, _SLACK)


def _within(at: float | None, answer: PromptAnswer, slack: float) -> bool:
    if at is None or answer.started is None:
        return False
    until = answer.until
    return answer.started - slack <= at and (until is None or at < until - slack)
