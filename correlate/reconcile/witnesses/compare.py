"""Compare the client's own totals with the wire. Pure.

They count every call of a session, including side calls that are not in the transcript, by rules of
their own (`counting`, `restarts`, `rates`). A rule explains a total only if tokens by model and
dollars are then equal.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from ccwire.wire.models import model_key
from ccwire.wire.usage import TOKEN_CLASSES, TOKEN_GROUPS, Tokens
from correlate.reconcile.result import Finding, Witness
from correlate.reconcile.verdicts import ResidualCause, residual_agrees, residual_explained
from correlate.reconcile.witnesses.client_totals import ClientTotals
from correlate.reconcile.witnesses.counting import (
    Counting,
    ModelSums,
    billed_sums,
    by_key,
    countings,
    sum_of,
    uncertain_calls,
    usd_by_model,
    without,
)
from correlate.reconcile.witnesses.printed_cost import Explanation, explain_cost
from correlate.reconcile.witnesses.rates import other_rates
from correlate.reconcile.witnesses.restarts import NOTHING_DROPPED, Selection

_MOST_WITH_SUBSETS = 10  # selections that are combined with subsets of uncertain calls
_SAME_USD = 0.0001  # the client sums in doubles, and may round otherwise


def hold_against(
    account: ClientTotals,
    calls: Sequence[Finding],
    turns: Sequence[Finding],
    bases: Iterable[ClientTotals],
    *,
    earlier_unseen: bool,
    selections: Sequence[Selection] = (),
    elsewhere: Sequence[Finding] = (),
    cut_texts: Mapping[int, int] | None = None,
) -> Witness:
    """Compare the client's totals with the wire: tokens by model, and dollars.

    `bases`: totals the session may have started with, from the session it was forked from.
    `earlier_unseen`: the capture started mid-session, so side calls may be missing from it.
    `selections`: which calls the total may leave out, because it is of some processes only.
    `elsewhere`: calls of these processes under other sessions, with negative numbers.
    `cut_texts`: the characters of answers that were cut off, by number.
    """
    calls = [f for f in calls if not f.is_other_program]
    uncaptured = [f for f in turns if f.verdict in ("before-capture", "not-captured")]
    off_wire = sum_of(_as_counted(billed_sums(finding), account) for finding in uncaptured)
    billed = sum_of(_as_counted(billed_sums(finding), account) for finding in calls) + off_wire
    if account.tokens is None:
        own = billed - off_wire
        found = explain_cost(account.usd, [*calls, *elsewhere], selections)
        is_sum = billed.usd is not None and _same(account.usd, billed.usd)
        is_more = earlier_unseen and _exceeds(account.usd, own.usd)
        if found[0] == "unknown" and uncaptured and (is_sum or is_more):
            found = "before-capture", ("it includes turns that were not captured",)
        return _witness_of_dollars(account, found, billed.usd)
    claimed = ModelSums(by_key(account.tokens), account.usd)
    residual = claimed - billed
    comparison = _Comparison(
        account,
        account.tokens,
        [*calls, *elsewhere],
        uncaptured,
        claimed,
        off_wire,
        tuple(bases),
        (NOTHING_DROPPED, *selections),
        cut_texts or {},
    )
    explained = comparison.explain()
    if explained is None:
        is_more = earlier_unseen and _is_more(residual)
        cause: ResidualCause = "before-capture" if is_more else "unknown"
        reason = "exceeds the wire: it includes calls from before the capture"
        explained = cause, (reason if is_more else f"{_difference(residual)}; cause unknown",)
    cause, evidence = explained
    if off_wire.tokens:
        evidence = (*evidence, f"including {len(uncaptured)} turns that were not captured")
    return Witness(
        account.name,
        account.tokens,
        account.usd,
        residual.total,
        cause,
        _with_distance(cause, evidence, residual.usd),
        residual.tokens,
        residual.usd,
        account.tells_ages,
    )


def _witness_of_dollars(account: ClientTotals, found: Explanation, billed: float | None) -> Witness:
    cause, evidence = found
    apart = None if billed is None or account.usd is None else account.usd - billed
    if cause == "unknown" and apart is not None:
        evidence = (*evidence, f"${account.usd:.4f} against the wire's ${billed:.4f}")
    evidence = _with_distance(cause, evidence, apart)
    return Witness(account.name, None, account.usd, Tokens(), cause, evidence, {}, apart)


def _with_distance(
    cause: ResidualCause, evidence: tuple[str, ...], usd: float | None
) -> tuple[str, ...]:
    """Add how far a total that is explained by a rule is from the wire."""
    is_ruled = cause != "none" and residual_explained(cause)
    if not is_ruled or _same(usd, 0.0):
        return evidence
    return (*evidence, f"${usd:+.4f} against the wire")


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A total of the client, and the calls, bases and selections that may add up to it."""

    account: ClientTotals
    tokens: Mapping[str, Tokens]
    calls: Sequence[Finding]
    uncaptured: Sequence[Finding]
    claimed: ModelSums
    off_wire: ModelSums
    bases: tuple[ClientTotals, ...]
    selections: Sequence[Selection]
    cut_texts: Mapping[int, int]

    def explain(self) -> Explanation | None:
        """Return the cause and its evidence; only equal tokens and dollars explain a total.

        The simplest explanation is the first: calls are left out one by one only if nothing else
        fits, and only those that a release may leave out.
        """
        unequal: tuple[float, tuple[str, ...], list[tuple[int, ModelSums]]] | None = None
        ways = [(way, self._counted(way)) for way in countings(self.calls, self.cut_texts)]
        uncertain = uncertain_calls(self.calls)
        for one_by_one in (False, True) if uncertain else (False,):
            selections = self.selections[:_MOST_WITH_SUBSETS] if one_by_one else self.selections
            for (way, counted), selection in product(ways, selections):
                kept = [(n, sums) for n, sums in counted if selection.keeps(n)]
                table = _subsets(kept, uncertain) if one_by_one else _NOTHING_LEFT_OUT
                total = sum_of(sums for _, sums in kept) + self.off_wire
                for base in (None, *self.bases):
                    expected = total + _start(base)
                    subset = table.get((expected - self.claimed).key)
                    if subset is None or (one_by_one and not subset[0]):
                        continue
                    usd = None if expected.usd is None else expected.usd - subset[1]
                    left_out = without(subset[0], uncertain)
                    found = _because(way, selection, base is not None, left_out)
                    counted_in = [(n, sums) for n, sums in kept if n not in subset[0]]
                    if usd is None or self.claimed.usd is None:
                        return self._without_dollars(found, way, counted_in, base)
                    if _same(usd, self.claimed.usd):
                        model = self._model_apart(way, counted_in, base)
                        return self._with_model_apart(found, model) if model else found
                    unequal = unequal or (self.claimed.usd - usd, found[1][1:], counted_in)
        if unequal is None:
            return None
        apart, rules, kept = unequal
        if rates := self._other_rates(kept):
            return "other-rates", ("the tokens are equal by model", *rules, *rates)
        differ = f"the tokens are equal by model, the dollars differ by ${apart:+.4f}"
        return "dollars", (differ, *rules)

    def _without_dollars(
        self,
        found: Explanation,
        way: Counting,
        kept: Sequence[tuple[int, ModelSums]],
        base: ClientTotals | None,
    ) -> Explanation:
        """Return what explains equal tokens if dollars cannot be compared, or not all of them."""
        cause, evidence = found
        if apart := self._model_apart(way, kept, base):
            return self._with_model_apart(found, apart)
        paid = self._paid(way, kept)
        known = sum(usd for usd in paid.values() if usd is not None)
        if self.claimed.usd is not None and self.claimed.usd < known - _SAME_USD:
            less = f"${self.claimed.usd:.4f} is less than the ${known:.4f} of the priced models"
            return "dollars", ("the tokens are equal by model", *evidence[1:], less)
        why = "the client names none" if self.claimed.usd is None else "a price is not known"
        if residual_agrees(cause):
            cause = "dollars-unknown"
        return cause, (*evidence, f"dollars are not compared: {why}")

    @staticmethod
    def _with_model_apart(found: Explanation, apart: str) -> Explanation:
        return "dollars", ("the tokens are equal by model", *found[1][1:], apart)

    def _model_apart(
        self, way: Counting, kept: Sequence[tuple[int, ModelSums]], base: ClientTotals | None
    ) -> str | None:
        """Return which model's dollars differ from those of the calls, if one does."""
        paid = self._paid(way, kept)
        claimed: dict[str, float] = {}
        before: dict[str, float] = {}
        for sums, listed_usd in ((claimed, self.account), (before, base)):
            for model, usd in (listed_usd.usd_by_model if listed_usd else {}).items():
                sums[model_key(model)] = sums.get(model_key(model), 0.0) + usd
        for model, usd in claimed.items():
            expected = paid.get(model)
            if base is not None and expected is not None:
                expected = expected + before[model] if model in before else None
            if expected is not None and not _same(expected, usd):
                return f"the dollars of {model} differ by ${usd - expected:+.4f}"
        return None

    def _paid(
        self, way: Counting, kept: Sequence[tuple[int, ModelSums]]
    ) -> dict[str, float | None]:
        numbers = {number for number, _ in kept}
        calls = (f for f in self.calls if f.call and f.call.sequence in numbers)
        return usd_by_model([*calls, *self.uncaptured], way)

    def _other_rates(self, kept: Sequence[tuple[int, ModelSums]]) -> tuple[str, ...]:
        """Return how the client priced the calls that its tokens cover."""
        account = self.account
        ends = {f.call.sequence: f.call.ended or 0.0 for f in self.calls if f.call}
        # When a result is printed, the calls with a line in the main thread have ended.
        late = [f for f in self.calls if f.turn is None or f.agent_id is not None]
        return other_rates(
            self.tokens,
            account.usd_by_model,
            account.usd,
            sorted(kept, key=lambda one: ends[one[0]]),
            hour_writes=frozenset() if account.tells_ages else _hour_writes(self.calls),
            late=frozenset(f.call.sequence for f in late if f.call and account.name == "result"),
        )

    def _counted(self, way: Counting) -> list[tuple[int, ModelSums]]:
        return [
            (finding.call.sequence, _as_counted(way.count(finding), self.account))
            for finding in self.calls
            if finding.call
        ]


type _Key = frozenset[tuple[str, Tokens]]
type _Subset = tuple[tuple[int, ...], float]  # the calls, and their dollars

_NOTHING_LEFT_OUT: Mapping[_Key, _Subset] = {frozenset(): ((), 0.0)}


def _subsets(
    counted: Sequence[tuple[int, ModelSums]], uncertain: Container[int]
) -> Mapping[_Key, _Subset]:
    """Return, by their tokens, the sets of calls that the client may not have counted."""
    sets: list[tuple[tuple[int, ...], ModelSums]] = [((), ModelSums())]
    for number, sums in counted:
        if number in uncertain:
            sets += [((*numbers, number), left + sums) for numbers, left in sets]
    table: dict[_Key, _Subset] = {}
    for numbers, left in sorted(sets, key=lambda one: len(one[0])):
        table.setdefault(left.key, (numbers, left.usd or 0.0))
    return table


def _hour_writes(calls: Sequence[Finding]) -> frozenset[str]:
    """Return the models, by key, with cache writes of 1 h."""
    parts = (part for finding in calls for part in finding.wire_parts)
    return frozenset(model_key(p.model or "unknown") for p in parts if p.tokens.cache_write_1h)


def _start(base: ClientTotals | None) -> ModelSums:
    return ModelSums(by_key(base.tokens), base.usd) if base and base.tokens else ModelSums()


def _because(way: Counting, selection: Selection, is_forked: bool, left_out: str) -> Explanation:
    forked = " plus the totals inherited from the forked session" if is_forked else ""
    left = f" {left_out}" if left_out else ""
    disputed = f" {way.disputed}" if way.disputed else ""
    ruled = " by a rule of the client" if way.evidence or selection.reason else ""
    plain = f"{forked}{left}{disputed}{ruled}"
    evidence = [f"equals the wire{plain or ' exactly'}", *way.evidence]
    if selection.reason:
        evidence.append(selection.reason)
    cause: ResidualCause = "calls-left-out" if left_out else "forked" if is_forked else "none"
    for rule in (selection.cause, way.cause):
        cause = cause if rule == "none" else rule
    return cause, tuple(evidence)


def _same(usd: float | None, claimed: float | None) -> bool:
    return usd is None or claimed is None or abs(usd - claimed) < _SAME_USD


def _exceeds(claimed: float | None, usd: float | None) -> bool:
    return claimed is not None and usd is not None and claimed > usd


def _is_more(residual: ModelSums) -> bool:
    """Whether the client has more of every model, and more dollars."""
    is_dearer = residual.usd is None or residual.usd > -_SAME_USD
    return is_dearer and all(map(_none_negative, residual.tokens.values()))


def _difference(residual: ModelSums) -> str:
    """Describe a difference: in sum, and by model if there are several."""
    text = f"differs from the wire by {_counts(residual.total) or 'models'}"
    if len(residual.tokens) > 1:
        models = (f"{name}: {_counts(tokens)}" for name, tokens in residual.tokens.items())
        text += f" ({'; '.join(models)})"
    return text


def _none_negative(tokens: Tokens) -> bool:
    return all(tokens.of_group(group) >= 0 for group in TOKEN_GROUPS)


def _counts(tokens: Tokens) -> str:
    return ", ".join(f"{count:+} {c.name}" for c, count in tokens.by_class() if count)


def _as_counted(sums: ModelSums, account: ClientTotals) -> ModelSums:
    """As the client counts: what it only sums is under the first class of the group."""
    found = {model: _classes(tokens, account) for model, tokens in sums.tokens.items()}
    return ModelSums({model: tokens for model, tokens in found.items() if tokens}, sums.usd)


def _classes(tokens: Tokens, account: ClientTotals) -> Tokens:
    counts = dict.fromkeys((c.name for c in TOKEN_CLASSES), 0)
    for token_class, count in tokens.by_class():
        group = token_class.group
        if group.client:
            is_apart = token_class.client and account.tells_ages
            counts[token_class.name if is_apart else group.members[0]] += count
    return Tokens(**counts)
