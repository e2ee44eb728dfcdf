"""Select a session's calls from `unknown/`, which contains calls without a session id. Pure.

The oldest clients send no session id at all. Their calls are identified by the ids of the answers,
which the transcript repeats, and by the process that sent them.
"""

from collections.abc import Iterable, Sequence

from ccwire.wire.format import Exchange, may_report
from correlate.transcript.turns import Turn

_AROUND = 60.0  # seconds around known calls in which a process belongs to the session


def unassigned_calls(exchanges: Sequence[Exchange], turns: Iterable[Turn]) -> list[Exchange]:
    """Return the calls whose ids occur in the turns, and those of the same processes near them."""
    turns = list(turns)
    ids = {name for turn in turns for name in (turn.message_id, turn.request_id) if name}
    own = [e for e in exchanges if e.message_id in ids or e.request_id in ids]
    if not own:
        own = [e for e in exchanges if any(_belongs_to(turn, e) for turn in turns)]
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


def _belongs_to(turn: Turn, exchange: Exchange) -> bool:
    """Whether a turn reports this failed call; such a line has no ids, only the time matches."""
    if not turn.synthetic or turn.started is None or not exchange.failed:
        return False
    return may_report(turn.started, exchange.ended or exchange.started)
