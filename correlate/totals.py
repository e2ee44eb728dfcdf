"""Adds up a reconciliation: tokens and dollars, by model and side, and what sets them apart."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from correlate.findings import Finding, Reconciliation, label
from correlate.prices import Cost, base_model, client_total, cost
from correlate.usage import RawUsage, Tokens

_Billed = tuple[str | None, RawUsage | None, float | None]


@dataclass(frozen=True, slots=True)
class Side:
    """One side's sum: the wire's, the transcript's, or the client's own.

    `usd` is added up in doubles, as the client does; `costs` is exact. A model without a known
    price is named in `unpriced`, and its tokens are in no dollar figure.
    """

    tokens: Mapping[str, Tokens] = field(default_factory=dict)
    costs: Mapping[str, Cost] = field(default_factory=dict)
    unpriced: tuple[str, ...] = ()
    usd: float | None = None

    @property
    def total(self) -> Tokens:
        return sum(self.tokens.values(), Tokens())

    @property
    def cost(self) -> Cost:
        return sum(self.costs.values(), Cost())


@dataclass(frozen=True, slots=True)
class Gap:
    """What one verdict takes the transcript away from the wire."""

    label: str
    findings: int
    missing: Tokens  # wire less transcript
    usd: Decimal | None


@dataclass(frozen=True, slots=True)
class Totals:
    wire: Side
    transcript: Side
    cost_state: Side | None
    gaps: tuple[Gap, ...]

    @property
    def off(self) -> Tokens:
        """By how much the transcript alone falls short of the wire."""
        return self.wire.total - self.transcript.total


@dataclass(frozen=True, slots=True)
class GrandTotal:
    """What several sessions add up to."""

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


def totals_of(session: Reconciliation) -> Totals:
    own = [finding for finding in session.findings if finding.verdict != "inherited"]
    witness = session.witness("cost-state")
    return Totals(
        wire=_side(_wire(finding) for finding in _as_they_ended(session.calls)),
        transcript=_side(_transcript(finding) for finding in own if finding.turn),
        cost_state=Side(tokens=witness.tokens, usd=witness.usd) if witness else None,
        gaps=_gaps(own),
    )


def _wire(finding: Finding) -> _Billed:
    return finding.model, finding.wire_usage, finding.at


def _transcript(finding: Finding) -> _Billed:
    return finding.model, finding.transcript_usage, finding.at


def _as_they_ended(findings: Iterable[Finding]) -> list[Finding]:
    """The order in which the client adds them."""
    return sorted(findings, key=lambda f: (f.call.ended or f.call.started) if f.call else 0.0)


def _side(billed: Iterable[_Billed]) -> Side:
    tokens: dict[str, Tokens] = {}
    costs: dict[str, Cost] = {}
    unpriced: dict[str, None] = {}
    priced: list[_Billed] = []
    for model, usage, at in billed:
        used = Tokens.of(usage)
        if not used:
            continue
        name = base_model(model or "unknown")
        tokens[name] = tokens.get(name, Tokens()) + used
        paid = cost(model, usage, at)
        if paid is None:
            unpriced[name] = None
        else:
            costs[name] = costs.get(name, Cost()) + paid
            priced.append((model, usage, at))
    usd = client_total(priced) if priced or not unpriced else None
    return Side(tokens, costs, tuple(unpriced), usd)


def _gaps(findings: Iterable[Finding]) -> tuple[Gap, ...]:
    gaps: dict[str, Gap] = {}
    for finding in findings:
        name = label(finding)
        before = gaps.get(name, Gap(name, 0, Tokens(), Decimal(0)))
        wire = cost(*_wire(finding))
        transcript = cost(*_transcript(finding))
        usd = None
        if before.usd is not None and wire is not None and transcript is not None:
            usd = before.usd + wire.total - transcript.total
        elif not finding.wire_tokens and not finding.transcript_tokens:
            usd = before.usd
        missing = finding.wire_tokens - finding.transcript_tokens
        gaps[name] = Gap(name, before.findings + 1, before.missing + missing, usd)
    return tuple(gaps.values())


def _together(one: Side, other: Side) -> Side:
    models = dict.fromkeys([*one.tokens, *other.tokens])
    paid = dict.fromkeys([*one.costs, *other.costs])
    usd = [side.usd for side in (one, other) if side.usd is not None]
    return Side(
        {m: one.tokens.get(m, Tokens()) + other.tokens.get(m, Tokens()) for m in models},
        {m: one.costs.get(m, Cost()) + other.costs.get(m, Cost()) for m in paid},
        tuple(dict.fromkeys([*one.unpriced, *other.unpriced])),
        sum(usd) if usd else None,
    )
