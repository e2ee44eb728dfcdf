"""Picks a session's calls out of `unknown/`, where those land that name no session. Pure.

The oldest clients send no session id at all: there only the answers' ids, which their transcript
repeats, and the process that sent the calls can tell.
"""

from collections.abc import Iterable, Sequence

from ccwire.wire.format import Exchange
from correlate.transcript.turns import Turn

_SOON = 5.0  # seconds after a failed call in which the client writes a line of its own about it
_AROUND = 60.0  # seconds before and after its known calls in which a process works on a session


def unassigned_calls(exchanges: Sequence[Exchange], turns: Iterable[Turn]) -> list[Exchange]:
    """The calls whose ids the turns have, and what the same processes sent around them."""
    turns = list(turns)
    ids = {name for turn in turns for name in (turn.message_id, turn.request_id) if name}
    own = [e for e in exchanges if e.message_id in ids or e.request_id in ids]
    if not own:
        own = [e for e in exchanges if any(_told_of(turn, e) for turn in turns)]
    if not own:
        return []
    pids = {exchange.pid for exchange in own if exchange.pid is not None}
    first = min(exchange.started for exchange in own) - _AROUND
    last = max(exchange.ended or exchange.started for exchange in own) + _AROUND
    return [
        exchange
        for exchange in exchanges
        if exchange in own or (exchange.pid in pids and first <= exchange.started <= last)
    ]


def _told_of(turn: Turn, exchange: Exchange) -> bool:
    """A line about an error has no id of the call that failed: only the time ties them."""
    if not turn.synthetic or turn.started is None or not exchange.failed:
        return False
    return 0 <= turn.started - (exchange.ended or exchange.started) <= _SOON
