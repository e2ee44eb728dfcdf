"""Sum up a reconciliation: tokens and dollars per model and side, and the causes of differences."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from ccwire.wire.counting import RawUsage, TokenClass
from ccwire.wire.models import base_model
from ccwire.wire.parts import Part
from ccwire.wire.usage import Tokens
from correlate.reconcile.prices import Cost, Price, PriceList, price_of_part
from correlate.reconcile.result import Finding, Reconciliation, Witness, label
from correlate.transcript.finality import Finality, finality_of_sum


@dataclass(frozen=True, slots=True)
class Side:
    """The totals of one side: wire, transcript or client.

    `usd` is summed in doubles, as in the client; `costs` is exact. A model without a known price is
    listed in `unpriced` and not included in any dollar figure. `anthropic_usd` is `usd` by
    Anthropic's price list, None if that list lacks a model; `price_lists` are those used.
    """

    tokens: Mapping[str, Tokens] = field(default_factory=dict)
    costs: Mapping[str, Cost] = field(default_factory=dict)
    unpriced: tuple[str, ...] = ()
    usd: float | None = None
    anthropic_usd: float | None = None
    price_lists: tuple[PriceList, ...] = ()
    tells_ages: bool = True  # whether 5 m and 1 h cache writes are separate

    @property
    def total(self) -> Tokens:
        return sum(self.tokens.values(), Tokens())

    @property
    def cost(self) -> Cost:
        return sum(self.costs.values(), Cost())

    def class_usd(self, model: str, token_class: TokenClass) -> float | None:
        """Dollars of one class; None if there are tokens and none of them has a price."""
        cost = self.costs.get(model)
        if cost is None:
            return None if self.tokens.get(model) else 0.0
        usd = cost.by_class()[token_class.name]
        tokens = self.tokens.get(model, Tokens())
        return float(usd) if usd or not tokens.of_class(token_class) else None


@dataclass(frozen=True, slots=True)
class Cause:
    """The difference between wire and transcript due to one verdict."""

    label: str
    findings: int
    missing: Tokens  # wire minus transcript
    usd: Decimal | None


@dataclass(frozen=True, slots=True)
class Totals:
    wire: Side
    transcript: Side
    cost_state: Side | None
    causes: tuple[Cause, ...]
    transcript_finality: Finality = "exact"

    @property
    def off(self) -> Tokens:
        """Wire minus transcript."""
        return self.wire.total - self.transcript.total


@dataclass(frozen=True, slots=True)
class GrandTotal:
    """The totals of several sessions."""

    sessions: int = 0
    calls: int = 0
    unexplained: int = 0
    wire: Side = Side()
    transcript: Side = Side()
    cost_state: Side | None = None

    def with_session(self, session: Reconciliation, totals: Totals) -> "GrandTotal":
        return GrandTotal(
            self.sessions + 1,
            self.calls + len(session.calls),
            self.unexplained + session.unexplained,
            _together(self.wire, totals.wire),
            _together(self.transcript, totals.transcript),
            _together(self.cost_state or Side(), totals.cost_state)
            if totals.cost_state
            else self.cost_state,
        )


def price_note(side: Side) -> str | None:
    """Return which price lists apply and what the client's own would give; None for Anthropic's."""
    others = [name for name in side.price_lists if name != "anthropic"]
    if not others:
        return None
    note = f"priced by the list of {' and '.join(side.price_lists)}"
    if side.anthropic_usd is None or side.usd is None:
        return note
    if side.anthropic_usd == side.usd:
        return f"{note}, which equals Anthropic's"
    return f"{note}; by Anthropic's list, which the client uses, it is ${side.anthropic_usd:.4f}"


def totals_of(session: Reconciliation) -> Totals:
    bills = [
        _Bills(
            finding,
            _bill(finding, finding.wire_parts, finding.wire_usage),
            _bill(finding, finding.transcript_parts, finding.transcript_usage),
        )
        for finding in session.findings
        if finding.verdict != "inherited"
    ]
    witness = session.witness("cost-state")
    return Totals(
        wire=_side(line for bills in _as_they_ended(bills) for line in bills.wire.lines)
        if session.is_captured
        else Side(),
        transcript=_side(line for bills in bills for line in bills.transcript.lines),
        cost_state=_claimed(witness) if witness else None,
        causes=_causes(bills) if session.is_captured else (),
        transcript_finality=_finality(session),
    )


def _claimed(witness: Witness) -> Side:
    return Side(witness.tokens or {}, usd=witness.usd, tells_ages=witness.tells_ages)


def _finality(session: Reconciliation) -> Finality:
    """Return how far the transcript's total can be trusted: as far as its weakest turn."""
    own = [
        finding.finality
        for finding in session.findings
        if finding.turn and finding.verdict not in ("inherited", "synthetic")
    ]
    return finality_of_sum(own) or "exact"


@dataclass(frozen=True, slots=True)
class _Line:
    """What one model's part of a call costs."""

    model: str
    tokens: Tokens
    price: Price | None


@dataclass(frozen=True, slots=True)
class _Bill:
    """The bill of one call: a line for each part."""

    lines: tuple[_Line, ...]

    @property
    def tokens(self) -> Tokens:
        return sum((line.tokens for line in self.lines), Tokens())

    @property
    def usd(self) -> Decimal | None:
        """Dollars; None if a part has no known price."""
        total = Decimal(0)
        for line in self.lines:
            if line.price is None:
                return None
            total += line.price.cost.total
        return total


@dataclass(frozen=True, slots=True)
class _Bills:
    finding: Finding
    wire: _Bill
    transcript: _Bill


def _bill(finding: Finding, parts: tuple[Part, ...], usage: RawUsage | None) -> _Bill:
    return _Bill(
        tuple(
            _Line(
                base_model(part.model or "unknown"),
                part.tokens,
                price_of_part(part, usage, finding.at, finding.provider),
            )
            for part in parts
        )
    )


def _as_they_ended(bills: list[_Bills]) -> list[_Bills]:
    """Sort by end time: the order in which the client adds them."""
    called = [(b.finding.call.ended or b.finding.call.started, b) for b in bills if b.finding.call]
    return [bill for _, bill in sorted(called, key=lambda timed: timed[0])]


def _side(lines: Iterable[_Line]) -> Side:
    tokens: dict[str, Tokens] = {}
    costs: dict[str, Cost] = {}
    unpriced: dict[str, None] = {}
    usd = 0.0
    anthropic_usd: float | None = 0.0
    price_lists: dict[PriceList, None] = {}
    for line in lines:
        if not line.tokens:
            continue
        tokens[line.model] = tokens.get(line.model, Tokens()) + line.tokens
        if line.price is None:
            unpriced[line.model] = None
        else:
            costs[line.model] = costs.get(line.model, Cost()) + line.price.cost
            usd += line.price.client_usd
            anthropic_usd = _plus(anthropic_usd, line.price.anthropic_usd)
            price_lists[line.price.price_list] = None
    is_priced = bool(costs) or not unpriced
    return Side(
        tokens,
        costs,
        tuple(unpriced),
        usd if is_priced else None,
        anthropic_usd if is_priced else None,
        tuple(price_lists),
    )


def _sum(amounts: Iterable[float | None]) -> float | None:
    total: float | None = 0.0
    for amount in amounts:
        total = _plus(total, amount)
    return total


def _plus(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _causes(bills: Iterable[_Bills]) -> tuple[Cause, ...]:
    causes: dict[str, Cause] = {}
    for both in bills:
        name = label(both.finding)
        before = causes.get(name, Cause(name, 0, Tokens(), Decimal(0)))
        wire, transcript = both.wire.usd, both.transcript.usd
        usd = None
        if before.usd is not None and wire is not None and transcript is not None:
            usd = before.usd + wire - transcript
        missing = both.wire.tokens - both.transcript.tokens
        causes[name] = Cause(name, before.findings + 1, before.missing + missing, usd)
    return tuple(causes.values())


def _together(one: Side, other: Side) -> Side:
    models = dict.fromkeys([*one.tokens, *other.tokens])
    paid = dict.fromkeys([*one.costs, *other.costs])
    usd = [side.usd for side in (one, other) if side.usd is not None]
    by_anthropic = (side.anthropic_usd for side in (one, other) if side.usd is not None)
    return Side(
        {m: one.tokens.get(m, Tokens()) + other.tokens.get(m, Tokens()) for m in models},
        {m: one.costs.get(m, Cost()) + other.costs.get(m, Cost()) for m in paid},
        tuple(dict.fromkeys([*one.unpriced, *other.unpriced])),
        sum(usd) if usd else None,
        _sum(by_anthropic) if usd else None,
        tuple(dict.fromkeys([*one.price_lists, *other.price_lists])),
        one.tells_ages and other.tells_ages,
    )
