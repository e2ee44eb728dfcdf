"""Match each call on the wire with its turn in the transcript. Pure.

By both ids, then by message id, then by request id if one side has no message id: older clients
write the answer of a retry under the request id of the first attempt, and only the message id tells
them apart. Lines with neither id are matched by token counts and time, and such a pair is marked as
heuristic. Lines that the client wrote itself, for example about an error, do not match a call.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ccwire.wire.format import Exchange
from ccwire.wire.usage import fingerprint
from correlate.transcript.turns import Turn

_SLACK = 1.0  # tolerated clock difference in seconds
_LATEST = 60.0  # seconds after an answer's end within which its line is written

JoinedBy = Literal["request_id", "message_id", "heuristic"]


class WrittenAnswer(Protocol):
    """An answer as a transcript has it."""

    @property
    def message_id(self) -> str | None: ...
    @property
    def request_id(self) -> str | None: ...
    @property
    def usage(self) -> Mapping[str, Any] | None: ...
    @property
    def started(self) -> float | None: ...
    @property
    def has_ids(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Pair:
    """A call and its turn, and what joins them."""

    call: Exchange
    turn: Turn
    by: JoinedBy


@dataclass(frozen=True, slots=True)
class Joined:
    pairs: tuple[Pair, ...]
    calls_alone: tuple[Exchange, ...]
    turns_alone: tuple[Turn, ...]


def join(calls: Sequence[Exchange], turns: Sequence[Turn]) -> Joined:
    """Match calls to /v1/messages and count_tokens with turns; count_tokens never has one."""
    pairing = Pairing(calls, [turn for turn in turns if not turn.synthetic])
    pairing.by_ids()
    pairing.by_numbers()
    pairs = tuple(Pair(call, turn, by) for call, turn, by in pairing.pairs)
    taken = {id(pair.turn) for pair in pairs}
    alone = tuple(turn for turn in turns if id(turn) not in taken)
    return Joined(pairs, tuple(pairing.calls), alone)


class Pairing[T: WrittenAnswer]:
    """Applies the rules in order; each matches what the previous ones left."""

    def __init__(self, calls: Iterable[Exchange], turns: Iterable[T]) -> None:
        self.calls = list(calls)
        self.turns = {id(turn): turn for turn in turns}
        self.pairs: list[tuple[Exchange, T, JoinedBy]] = []

    def by_ids(self) -> None:
        self._by_request_id(_same_answer)
        self._by_message_id()
        self._by_request_id(_no_contradiction)

    def _by_request_id(self, agree: Callable[[Exchange, WrittenAnswer], bool]) -> None:
        """Match by request id those whose message ids agree."""
        found: dict[str, list[T]] = {}
        for turn in self.turns.values():
            if turn.request_id:
                found.setdefault(turn.request_id, []).append(turn)
        self._pair(
            "request_id",
            lambda call: [t for t in found.get(call.request_id or "", ()) if agree(call, t)],
        )

    def _by_message_id(self) -> None:
        found = {turn.message_id: turn for turn in self.turns.values() if turn.message_id}
        self._pair(
            "message_id",
            lambda call: [found[call.message_id]] if call.message_id in found else (),
        )

    def by_numbers(self) -> None:
        """Match answers without ids; to be used on the calls and answers of one session."""
        for turn in [turn for turn in self.turns.values() if not turn.has_ids]:
            call = _nearest(turn, self.calls)
            if call is not None:
                self.calls.remove(call)
                self._take(call, turn, "heuristic")

    def _pair(self, by: JoinedBy, candidates: Callable[[Exchange], Sequence[T]]) -> None:
        left = []
        for call in self.calls:
            fitting = candidates(call) if call.kind == "messages" else ()
            turn = next((t for t in fitting if id(t) in self.turns), None)
            if turn is None:
                left.append(call)
            else:
                self._take(call, turn, by)
        self.calls = left

    def _take(self, call: Exchange, turn: T, by: JoinedBy) -> None:
        del self.turns[id(turn)]
        self.pairs.append((call, turn, by))


def _same_answer(call: Exchange, turn: WrittenAnswer) -> bool:
    return call.message_id is not None and call.message_id == turn.message_id


def _no_contradiction(call: Exchange, turn: WrittenAnswer) -> bool:
    return call.message_id is None or turn.message_id in (None, call.message_id)


def _nearest(turn: WrittenAnswer, calls: Iterable[Exchange]) -> Exchange | None:
    fitting = [call for call in calls if call.kind == "messages" and _fits(call, turn)]
    return (
        min(fitting, key=lambda call: abs((turn.started or 0) - (call.ended or call.started)))
        if fitting
        else None
    )


def _fits(call: Exchange, turn: WrittenAnswer) -> bool:
    numbers = fingerprint(turn.usage)
    if numbers is None or turn.started is None:
        return False
    if numbers not in (fingerprint(call.usage), fingerprint(call.usage_at_start)):
        return False
    latest = (call.ended or call.started) + _LATEST
    return call.started - _SLACK <= turn.started <= latest
