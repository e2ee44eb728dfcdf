"""Explain a printed cost that has no tokens with it, as the result of older clients. Pure.

Dollars alone prove less than tokens by model, so fewer rules are combined, and the sums must be
equal to a billionth: the client and `prices` add the same doubles.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

from ccwire.wire.usage import Tokens
from correlate.reconcile.prices import price
from correlate.reconcile.result import Finding
from correlate.reconcile.verdicts import ResidualCause
from correlate.reconcile.witnesses.counting import (
    Counting,
    ModelSums,
    countings,
    uncertain_calls,
    without,
)
from correlate.reconcile.witnesses.rates import UNKNOWN_MODELS
from correlate.reconcile.witnesses.restarts import NOTHING_DROPPED, Selection

# A cause, and the sentences that prove it.
type Explanation = tuple[ResidualCause, tuple[str, ...]]

_SAME = 1e-9
_MOST_SELECTIONS = 10
_MOST_MODELS = 4  # whose rates are combined


@dataclass(frozen=True, slots=True)
class Rates:
    """The model at whose rates each model is priced; cache writes have no ages."""

    models: Mapping[str, str]
    has_requests: bool  # whether requests, such as web searches, have a price


@dataclass(frozen=True, slots=True)
class _Rules:
    """One combination of rules."""

    way: Counting
    selection: Selection = NOTHING_DROPPED
    left_out: tuple[int, ...] = ()
    rates: Rates | None = None

    @property
    def number(self) -> int:
        named = sum(cause != "none" for cause in (self.way.cause, self.selection.cause))
        return named + bool(self.left_out) + (self.rates is not None)


def explain_cost(
    usd: float | None, calls: Sequence[Finding], selections: Sequence[Selection]
) -> Explanation:
    """Return why these dollars are what they are; the explanation with the fewest rules."""
    uncertain = uncertain_calls(calls)
    candidates = _candidates(calls, selections, _left_out(calls, uncertain))
    found = [rules for rules, total in candidates if _equals(total, usd)]
    if not found:
        return "unknown", ("the dollars differ from the wire; cause unknown",)
    return _because(min(found, key=lambda rules: rules.number), uncertain)


def _candidates(
    calls: Sequence[Finding],
    selections: Sequence[Selection],
    left_out_sets: Sequence[tuple[int, ...]],
) -> Iterator[tuple[_Rules, float | None]]:
    """Yield combinations of rules, and the dollars that they lead to."""
    chosen = (NOTHING_DROPPED, *selections[:_MOST_SELECTIONS])
    for way in _ways(calls):
        counted = [(f.call.sequence, way.count(f)) for f in calls if f.call]
        models = sorted({model for _, sums in counted for model in sums.tokens})[:_MOST_MODELS]
        for rates in (None, *_rates(models)):
            paid = [(n, sums.usd if rates is None else _at(rates, sums)) for n, sums in counted]
            for selection, left_out in product(chosen, left_out_sets):
                kept = (usd for n, usd in paid if selection.keeps(n) and n not in left_out)
                yield _Rules(way, selection, left_out, rates), _sum(kept)


def _ways(calls: Sequence[Finding]) -> Iterator[Counting]:
    has_starts = any(finding.call and finding.call.usage_at_start for finding in calls)
    for way in countings(calls):
        yield way
        if has_starts:
            yield _with_starts(way)


def _with_starts(way: Counting) -> Counting:
    """Old releases add the usage of message_start to that of message_delta.

    It has been wrong since message_delta repeats the counts of the prompt.
    """

    def count(finding: Finding) -> ModelSums:
        call = finding.call
        counted = way.count(finding)
        if call is None or not call.complete or call.usage_at_start is None:
            return counted
        usage = call.usage_at_start
        if way.cause != "none":  # the iterations name the model
            usage = {**(call.usage or {}), **usage}
        begun = replace(call, usage=usage)
        return counted + way.count(replace(finding, call=begun))

    evidence = "adds the usage of message_start to the final one"
    return Counting(count, "starts-added", (*way.evidence, evidence))


def _left_out(calls: Sequence[Finding], uncertain: Container[int]) -> list[tuple[int, ...]]:
    """Return what a release may leave out: nothing, what is not streamed, and what was cut off."""
    found = [f.call for f in calls if f.call and f.call.sequence in uncertain]
    unstreamed = tuple(call.sequence for call in found if call.stream is False)
    cut = tuple(call.sequence for call in found if call.stream is not False)
    return list(dict.fromkeys([(), unstreamed, cut, (*unstreamed, *cut)]))


def _rates(models: Sequence[str]) -> Iterator[Rates]:
    """Yield the rates that a release may use: without ages of writes, or of another model."""
    choices = [dict.fromkeys((model, UNKNOWN_MODELS.get(model, model))) for model in models]
    for *names, has_requests in product(*choices, (True, False)):
        yield Rates(dict(zip(models, map(str, names), strict=True)), bool(has_requests))


def _at(rates: Rates, sums: ModelSums) -> float | None:
    return _sum(
        _price(rates.models.get(model, model), tokens if rates.has_requests else _only(tokens))
        for model, tokens in sums.tokens.items()
    )


@lru_cache(maxsize=4096)
def _price(model: str, tokens: Tokens) -> float | None:
    """Price tokens with all cache writes as those of 5 m, as releases without ages do."""
    written = tokens.cache_write_5m + tokens.cache_write_1h
    usage = {**tokens.to_usage(), "cache_creation_input_tokens": written}
    del usage["cache_creation"]
    name = model if model.startswith("claude-") else f"claude-{model}"
    found = price(name, None, Tokens.of_top_level(usage), None)
    return found.client_usd if found else None


def _only(tokens: Tokens) -> Tokens:
    return tokens.with_requests_of(Tokens())


def _sum(amounts: Iterable[float | None]) -> float | None:
    total = 0.0
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total


def _equals(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) < _SAME


def _because(rules: _Rules, uncertain: Mapping[int, str]) -> Explanation:
    way, selection, rates = rules.way, rules.selection, rules.rates
    cause: ResidualCause = "calls-left-out" if rules.left_out else "none"
    ruled = " by a rule of the client" if rules.number else ""
    evidence = [f"equals the wire in dollars{ruled}, and has no tokens by model", *way.evidence]
    if rules.left_out:
        evidence.append(without(rules.left_out, uncertain))
    if selection.reason:
        evidence.append(selection.reason)
    if rates is not None:
        evidence += [f"prices {m} at the rates of {r}" for m, r in rates.models.items() if r != m]
        if not rates.has_requests:
            evidence.append("prices no web searches")
        evidence.append("prices all cache writes as those of 5 m")
        cause = "other-rates"
    for rule in (selection.cause, way.cause):
        cause = cause if rule == "none" else rule
    return cause, tuple(evidence)
