"""The rates at which the client priced its tokens, if they are not those of the wire. Pure.

- A release that does not know a model's price takes that of another: 2.1.39 prices
  `claude-sonnet-4-5-20250929` as Opus.
- Releases that do not tell the ages of cache writes price those of 1 h as those of 5 m.
- The result of `-p` may have dollars from before its last calls ended, and tokens from after.

The client's dollars by model prove it: they equal its tokens at these rates exactly.
"""

from collections.abc import Mapping, Sequence

from ccwire.wire.models import model_key
from ccwire.wire.usage import Tokens
from correlate.reconcile.prices import price
from correlate.reconcile.witnesses.counting import ModelSums, listed

# Models that releases did not know, by key, and the model at whose rates they priced them. These
# are measured: a release that takes another price is not explained by it.
UNKNOWN_MODELS: Mapping[str, str] = {
    "haiku-4-5": "claude-sonnet-4-5",  # 1.0.0 to 1.0.100
    "opus-4-5": "claude-opus-4-1",  # 1.0.0 to 1.0.70
    "sonnet-4-5": "claude-opus-4-5",  # 2.1.39
    "sonnet-4-6": "claude-opus-4-5",  # 2.1.52
    "sonnet-5-5": "claude-sonnet-5",  # 2.1.291
}
_SAME = 1e-7


def other_rates(
    tokens: Mapping[str, Tokens],
    usd: Mapping[str, float],
    total: float | None,
    calls: Sequence[tuple[int, ModelSums]] = (),
    *,
    hour_writes: frozenset[str] = frozenset(),
    late: frozenset[int] = frozenset(),
) -> tuple[str, ...]:
    """Return how the client priced; empty if that does not explain its dollars.

    Every model's dollars must be its tokens at its own or at known other rates, and all of them
    together the total. `calls`: those that the tokens are of, in the order in which they ended.
    `hour_writes`: models, by key, whose cache writes of 1 h the tokens do not tell from others.
    `late`: the calls that may have ended after the total was taken.
    """
    if total is None or set(usd) != set(tokens):
        return ()
    found = []
    rates: dict[str, str] = {}
    for model, counts in tokens.items():
        amounts = _amounts(model, counts, calls)
        own = _sum_at(model, amounts)
        names = (model, UNKNOWN_MODELS.get(model_key(model), model))
        rate = next((name for name in names if _equals(_sum_at(name, amounts), usd[model])), None)
        if rate is None:
            return ()
        rates[model_key(model)] = rate
        if rate != model:
            listed = "unknown" if own is None else f"${own:.4f}"
            found.append(f"prices {model} at the rates of {rate}: ${usd[model]:.4f}, not {listed}")
        if model_key(model) in hour_writes:
            found.append(f"prices cache writes of 1 h on {model} at the rate of those of 5 m")
    if _equals(sum(usd.values()), total):
        return tuple(found)
    later = _ended_later(calls, rates, total, late)
    return (*found, later) if later else ()


def _amounts(
    model: str, counts: Tokens, calls: Sequence[tuple[int, ModelSums]]
) -> Sequence[Tokens]:
    """Return a model's tokens call by call, because the price of a call depends on its size.

    They are returned in one sum if the client has counted more than these calls.
    """
    found = [sums.tokens.get(model_key(model), Tokens()) for _, sums in calls]
    return found if sum(found, Tokens()) == counts else [counts]


def _sum_at(model: str, amounts: Sequence[Tokens]) -> float | None:
    found = [_at(model, tokens) for tokens in amounts if tokens]
    known = [usd for usd in found if usd is not None]
    return sum(known) if len(known) == len(found) else None


def _ended_later(
    calls: Sequence[tuple[int, ModelSums]],
    rates: Mapping[str, str],
    total: float,
    late: frozenset[int],
) -> str | None:
    """Return which calls ended after the total was taken; None if that does not explain it."""
    paid = [sum(_at(rates[m], t) or 0.0 for m, t in sums.tokens.items()) for _, sums in calls]
    for kept in range(len(calls) - 1, 0, -1):
        if calls[kept][0] not in late:
            return None
        if _equals(sum(paid[:kept]), total):
            named = listed(number for number, _ in calls[kept:])
            return f"the dollars are from before call {named} ended, the tokens from after"
    return None


def _at(model: str, tokens: Tokens) -> float | None:
    found = price(model, None, tokens, None)
    return found.client_usd if found else None


def _equals(one: float | None, other: float) -> bool:
    return one is not None and abs(one - other) < _SAME
