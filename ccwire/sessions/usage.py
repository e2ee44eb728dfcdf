"""The calls, tokens and cost of a session in the list: from the wire, else from its transcript.

A transcript leaves out the calls that the client never writes; of an answer that had not ended when
its line was written, it has a lower bound.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ccwire.wire.endpoints import endpoint_of
from ccwire.wire.format import Exchange
from ccwire.wire.parts import parts_of
from ccwire.wire.usage import Tokens
from correlate.reconcile.prices import price_of_part, prices_of_turn
from correlate.transcript.finality import Finality, finality_of, finality_of_sum
from correlate.transcript.turns import Turn

UsageSource = Literal["wire", "transcript"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionUsage:
    """The sums of a session; `finality` is that of the least certain call."""

    usage_from: UsageSource | None = None
    finality: Finality | None = None
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    unpriced_calls: int = 0


def usage_of_calls(calls: Iterable[Exchange]) -> SessionUsage:
    """Return what crossed the wire; a call that was cut off has the usage of its start."""
    calls = list(calls)
    used = [call for call in calls if call.usage]
    tokens = [Tokens.of(call.usage) for call in used]
    cost, unpriced = cost_of_calls(calls)
    return SessionUsage(
        usage_from="wire",
        finality=finality_of_sum(finality_of(call.usage, call.stop_reason) for call in used),
        calls=len(calls),
        input_tokens=sum(t.context for t in tokens),
        output_tokens=sum(t.output for t in tokens),
        cost_usd=cost,
        unpriced_calls=unpriced,
    )


def usage_of_turns(turns: Iterable[Turn]) -> SessionUsage:
    """Return what the transcript has, copied turns of a fork included."""
    turns = [turn for turn in turns if not turn.synthetic]
    tokens = [Tokens.of(turn.usage) for turn in turns if turn.usage]
    known: list[float] = []
    unpriced = 0
    for turn in turns:
        prices = prices_of_turn(turn)
        known += [found.client_usd for found in prices if found is not None]
        unpriced += None in prices
    return SessionUsage(
        usage_from="transcript" if turns else None,
        finality=finality_of_sum(finality_of(turn.usage, turn.stop_reason) for turn in turns),
        calls=len(turns),
        input_tokens=sum(t.context for t in tokens),
        output_tokens=sum(t.output for t in tokens),
        cost_usd=sum(known) if known else None,
        unpriced_calls=unpriced,
    )


def cost_of_calls(calls: Iterable[Exchange]) -> tuple[float | None, int]:
    """Return the cost of what has a known price, None if nothing has, and the calls without one."""
    known: list[float] = []
    unpriced = 0
    for call in calls:
        if not call.usage:
            continue
        provider = endpoint_of(call.host, call.path).provider
        parts = parts_of(call.model, call.served_model, call.usage)
        prices = [price_of_part(part, call.usage, call.started, provider) for part in parts]
        known += [found.client_usd for found in prices if found is not None]
        unpriced += None in prices
    return (sum(known) if known else None), unpriced
