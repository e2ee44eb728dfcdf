"""Pairs each call on the wire with its turn in the transcript. Pure.

By request id, then by message id. By numbers and time only where a line carries neither id; such a
pair is marked as a guess.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from addon.format import Exchange
from correlate.turns import Turn
from correlate.usage import fingerprint

_SLACK = 1.0  # seconds by which two clocks' readings of one moment may differ
_LATEST = 60.0  # seconds after an answer's end by which its line is written


@dataclass(frozen=True, slots=True)
class Pair:
    """A call and its turn; `by` is request_id, message_id or heuristic."""

    call: Exchange
    turn: Turn
    by: str


@dataclass(frozen=True, slots=True)
class Joined:
    pairs: tuple[Pair, ...]
    calls_alone: tuple[Exchange, ...]
    turns_alone: tuple[Turn, ...]


def join(calls: Sequence[Exchange], turns: Sequence[Turn]) -> Joined:
    """`calls` are those to /v1/messages and its count_tokens, which never has a turn."""
    by_request = {turn.request_id: turn for turn in turns if turn.request_id}
    by_message = {turn.message_id: turn for turn in turns if turn.message_id}
    pairs: list[Pair] = []
    taken: set[int] = set()
    left: list[Exchange] = []
    for call in calls:
        pair = _by_ids(call, by_request, by_message) if call.kind == "messages" else None
        if pair is not None and id(pair.turn) not in taken:
            taken.add(id(pair.turn))
            pairs.append(pair)
        else:
            left.append(call)
    unnamed = [turn for turn in turns if id(turn) not in taken and not turn.has_ids]
    for turn in unnamed:
        nearest = _nearest(turn, left)
        if nearest is not None:
            left.remove(nearest)
            taken.add(id(turn))
            pairs.append(Pair(nearest, turn, "heuristic"))
    return Joined(tuple(pairs), tuple(left), tuple(turn for turn in turns if id(turn) not in taken))


def _by_ids(
    call: Exchange, by_request: dict[str, Turn], by_message: dict[str, Turn]
) -> Pair | None:
    if call.request_id and (turn := by_request.get(call.request_id)):
        return Pair(call, turn, "request_id")
    if call.message_id and (turn := by_message.get(call.message_id)):
        return Pair(call, turn, "message_id")
    return None


def _nearest(turn: Turn, calls: Iterable[Exchange]) -> Exchange | None:
    fitting = [call for call in calls if call.kind == "messages" and _fits(call, turn)]
    return (
        min(fitting, key=lambda call: abs((turn.started or 0) - (call.ended or call.started)))
        if fitting
        else None
    )


def _fits(call: Exchange, turn: Turn) -> bool:
    numbers = fingerprint(turn.usage)
    if numbers is None or turn.started is None:
        return False
    if numbers not in (fingerprint(call.usage), fingerprint(call.usage_at_start)):
        return False
    latest = (call.ended or call.started) + _LATEST
    return call.started - _SLACK <= turn.started <= latest
