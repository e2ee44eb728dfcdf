"""Group calls into rows: tokens, dollars, and how much of them is exact. Pure.

Days, weeks and months are those of the local time zone. A call that several models served is one
call, with its tokens in the row of each model.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from ccwire.wire.models import base_model
from ccwire.wire.parts import Part, parts_of
from ccwire.wire.usage import Tokens
from correlate.reconcile.prices import Price, price_of_part
from correlate.spend.calls import SpendCall

NOT_KNOWN = "(unknown)"


@dataclass(slots=True)
class Row:
    """The sum of the calls of a group."""

    key: tuple[str, ...]
    calls: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    exact_usd: Decimal = Decimal(0)
    lower_bound_usd: Decimal = Decimal(0)
    by_finality: dict[str, int] = field(
        default_factory=lambda: {"exact": 0, "lower-bound": 0, "unknown": 0}
    )
    by_source: dict[str, int] = field(default_factory=lambda: {"wire": 0, "transcript": 0})
    unpriced_calls: int = 0
    unpriced: set[str] = field(default_factory=set)  # models without a price

    @property
    def usd(self) -> Decimal:
        return self.exact_usd + self.lower_bound_usd

    @property
    def is_lower_bound(self) -> bool:
        """Whether more may have been used than the row contains."""
        inexact = self.by_finality["lower-bound"] + self.by_finality["unknown"]
        return bool(inexact or self.unpriced_calls)

    def to_json(self, names: Sequence[str]) -> dict[str, Any]:
        tokens = {c.name: n for c, n in self.tokens.by_class()}
        return {
            **dict(zip(names, self.key, strict=False)),
            "calls": self.calls,
            "tokens": tokens,
            "usd": float(self.usd),
            "exact_usd": float(self.exact_usd),
            "lower_bound_usd": float(self.lower_bound_usd),
            "is_lower_bound": self.is_lower_bound,
            "exact_calls": self.by_finality["exact"],
            "lower_bound_calls": self.by_finality["lower-bound"],
            "unknown_calls": self.by_finality["unknown"],
            "captured_calls": self.by_source["wire"],
            "unpriced_calls": self.unpriced_calls,
            "unpriced": sorted(self.unpriced),
        }


def _day(call: SpendCall) -> str:
    return _local(call, "%Y-%m-%d")


def _local(call: SpendCall, pattern: str) -> str:
    if call.at is None:
        return NOT_KNOWN
    return f"{datetime.fromtimestamp(call.at):{pattern}}"


# What a row may be about; the model is that of a part of a call.
KEYS: Mapping[str, Callable[[SpendCall], str | None]] = {
    "day": _day,
    "week": lambda call: _local(call, "%G-W%V"),
    "month": lambda call: _local(call, "%Y-%m"),
    "project": lambda call: call.project,
    "model": lambda call: None,
    "agent": lambda call: call.agent,
    "branch": lambda call: call.branch,
    "session": lambda call: call.session_id,
    "version": lambda call: call.version,
}


def total_rows(
    calls: Iterable[SpendCall], by: Sequence[str], model: str | None = None
) -> tuple[list[Row], Row]:
    """Return the rows in the order of their keys, and the total.

    `model` is a part of the name of the models to count.
    """
    rows: dict[tuple[str, ...], Row] = {}
    total = Row(())
    for call in calls:
        touched: dict[tuple[str, ...], Row] = {}
        is_unpriced = False
        for part in parts_to_count(call, model):
            key = tuple(_key(name, call, part) for name in by)
            row = touched[key] = rows.setdefault(key, Row(key))
            price = price_of_part(part, call.usage, call.at, call.provider)
            is_unpriced = is_unpriced or price is None
            _add_part((row, total), call, part, price)
        for row in (*touched.values(), total) if touched else ():
            _add_call(row, call, is_unpriced=is_unpriced)
    return [rows[key] for key in sorted(rows)], total


def parts_to_count(call: SpendCall, model: str | None) -> tuple[Part, ...]:
    """Return the parts of a call by the models with this in their name; None: by all models."""
    parts = parts_of(call.asked, call.served, call.usage) or (Part(call.asked, Tokens()),)
    if model is None:
        return parts
    return tuple(p for p in parts if model.casefold() in (p.model or "").casefold())


def tokens_by_model(calls: Iterable[SpendCall]) -> dict[str, Tokens]:
    """Return the tokens of each model."""
    found: dict[str, Tokens] = {}
    for call in calls:
        for part in parts_of(call.asked, call.served, call.usage):
            if part.model:
                name = base_model(part.model)
                found[name] = found.get(name, Tokens()) + part.tokens
    return found


def usd_of(call: SpendCall) -> Decimal | None:
    """Return the dollars of a call; None if a part has no price."""
    usd = Decimal(0)
    for part in parts_of(call.asked, call.served, call.usage):
        price = price_of_part(part, call.usage, call.at, call.provider)
        if price is None:
            return None
        usd += price.cost.total
    return usd


def _key(name: str, call: SpendCall, part: Part) -> str:
    if name == "model":
        return base_model(part.model) if part.model else NOT_KNOWN
    return KEYS[name](call) or NOT_KNOWN


def _add_part(rows: Iterable[Row], call: SpendCall, part: Part, price: Price | None) -> None:
    for row in rows:
        row.tokens += part.tokens
        if price is None:
            row.unpriced.add(base_model(part.model) if part.model else NOT_KNOWN)
        elif call.finality == "exact":
            row.exact_usd += price.cost.total
        else:
            row.lower_bound_usd += price.cost.total


def _add_call(row: Row, call: SpendCall, *, is_unpriced: bool) -> None:
    row.calls += 1
    row.by_finality[call.finality] += 1
    row.by_source[call.source] += 1
    row.unpriced_calls += is_unpriced
