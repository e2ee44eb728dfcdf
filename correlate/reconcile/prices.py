"""The cost of tokens by genai-prices: exact, in Decimal, and in doubles as the client computes it.

The price list is that of the provider that served the call, or Anthropic's if the provider has none
for the model. An unknown model or token class has no price, never a price of 0. List prices only:
no discounts, no batches.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from operator import add
from typing import Any, Literal

from genai_prices import Usage as PricedUsage
from genai_prices import calc_price
from genai_prices.types import TieredPrices

from ccwire.wire.counting import RawUsage
from ccwire.wire.endpoints import endpoint_of
from ccwire.wire.format import Exchange
from ccwire.wire.models import base_model
from ccwire.wire.parts import ADVISOR, Part, parts_of
from ccwire.wire.usage import TOKEN_CLASSES, TOKEN_GROUPS, Tokens
from ccwire.wire.vocabulary import Provider
from correlate.transcript.turns import Turn

# A price as it is listed; None is no known price.
type Listed = Decimal | TieredPrices | None
# Counts and their prices, in the order of `TOKEN_CLASSES`.
type Bill = Sequence[tuple[int, Decimal]]

# A provider of genai-prices.
PriceList = Literal["anthropic", "aws", "google", "azure"]
_PRICE_LISTS: Mapping[Provider, PriceList] = {
    "anthropic": "anthropic",
    "gateway": "anthropic",  # what a gateway charges is not known
    "bedrock": "aws",
    "vertex": "google",
    "foundry": "azure",
}

_ZERO, _ONE = Decimal(0), Decimal(1)
_THOUSAND, _MILLION = 1_000, 1_000_000
_IS_REQUESTS = [c.kind == "requests" for c in TOKEN_CLASSES]
_REQUEST_PLACES = [place for place, is_requests in enumerate(_IS_REQUESTS) if is_requests]
_TOKEN_PLACES = [
    [place for place, c in enumerate(TOKEN_CLASSES) if c.group == group]
    for group in TOKEN_GROUPS
    if group.kind != "requests"
]
_US_INFERENCE = Decimal("1.1")  # price factor of US-only inference


@dataclass(frozen=True, slots=True)
class Cost:
    """Dollars by token class, in the order of `TOKEN_CLASSES`."""

    amounts: tuple[Decimal, ...] = (_ZERO,) * len(TOKEN_CLASSES)

    @property
    def total(self) -> Decimal:
        return sum(self.amounts, _ZERO)

    def by_class(self) -> dict[str, Decimal]:
        names = (c.name for c in TOKEN_CLASSES)
        return dict(zip(names, self.amounts, strict=True))

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(tuple(map(add, self.amounts, other.amounts)))


@dataclass(frozen=True, slots=True)
class Price:
    """One call's price: exact, and in doubles as the client computes it.

    Only doubles summed call by call, in the client's order, equal its output to the last digit.
    `anthropic_usd` is the same by Anthropic's list, which the client uses for every provider.
    """

    cost: Cost
    client_usd: float
    anthropic_usd: float | None
    price_list: PriceList = "anthropic"


def price(
    model: str | None,
    usage: RawUsage | None,
    tokens: Tokens,
    at: float | None,
    provider: Provider = "anthropic",
) -> Price | None:
    """Return the price of a call; None if its model or service level has no known price.

    `tokens` are the token counts of `usage`. Tokens of a class without a known price leave
    the whole call without one.
    """
    usage = usage or {}
    if not model or usage.get("speed") == "fast":
        return None
    day = int(at // 86_400) if at is not None else None
    factor = _US_INFERENCE if usage.get("inference_geo") == "us" else _ONE
    by_anthropic = _bill(_model_prices(base_model(model), day, "anthropic"), tokens)
    price_list = _PRICE_LISTS[provider]
    bill = None
    if price_list != "anthropic":
        bill = _bill(_model_prices(model.partition("[")[0], day, price_list), tokens)
    if bill is None:
        bill, price_list = by_anthropic, "anthropic"
    if bill is None:
        return None
    anthropic_usd = None if by_anthropic is None else _client_cost(by_anthropic, factor)
    return Price(_exact(bill, factor), _client_cost(bill, factor), anthropic_usd, price_list)


def price_of_part(
    part: Part, usage: RawUsage | None, at: float | None, provider: Provider = "anthropic"
) -> Price | None:
    """Return the price of one part of a call.

    A model that advises is not run at the speed that was asked for.
    """
    if not part.tokens:
        return Price(Cost(), 0.0, 0.0)
    level = {**(usage or {}), "speed": None} if part.type == ADVISOR else usage
    found = price(part.model, level, part.tokens, at, provider)
    if found is None and part.alias is not None:
        found = price(part.alias, level, part.tokens, at)
    return found


def usd_of_call(call: Exchange, usage: RawUsage | None) -> float | None:
    """Return the dollars of a call by the models that served it; None if a part has no price."""
    provider = endpoint_of(call.host, call.path).provider
    usd = 0.0
    for part in parts_of(call.model, call.served_model, usage):
        found = price_of_part(part, usage, call.started, provider)
        if found is None:
            return None
        usd += found.client_usd
    return usd


def prices_of_turn(turn: Turn) -> list[Price | None]:
    """Return the price of each part of a turn, None where there is none."""
    parts = parts_of(turn.model, turn.model, turn.usage)
    return [price_of_part(part, turn.usage, turn.started) for part in parts]


def usd_of_turn(turn: Turn) -> float | None:
    """Return the dollars of a turn by the models that served it; None if a part has no price."""
    usd = 0.0
    for found in prices_of_turn(turn):
        if found is None:
            return None
        usd += found.client_usd
    return usd


def _bill(prices: Sequence[Listed] | None, tokens: Tokens) -> Bill | None:
    """Return counts with their prices; None if tokens have no known price."""
    if prices is None:
        return None
    context = tokens.context
    counted = [(n, _rate(found, context)) for n, found in zip(tokens.counts(), prices, strict=True)]
    if any(n and rate is None for n, rate in counted):
        return None
    return [(n, rate or _ZERO) for n, rate in counted]


def _exact(bill: Bill, factor: Decimal) -> Cost:
    share = factor / _MILLION
    return Cost(
        tuple(
            n * rate / _THOUSAND if is_requests else n * rate * share
            for (n, rate), is_requests in zip(bill, _IS_REQUESTS, strict=True)
        )
    )


def _client_cost(bill: Bill, factor: Decimal) -> float:
    """Tokens first, group by group, then requests. `sum` would round otherwise than the client."""
    served = 0.0
    for places in _TOKEN_PLACES:
        together = 0.0
        for place in places:
            n, rate = bill[place]
            together += n / 1e6 * float(rate)
        served += together
    total = served * float(factor)
    for place in _REQUEST_PLACES:
        n, rate = bill[place]
        total += n * float(rate / _THOUSAND)
    return total


@lru_cache(maxsize=512)
def _model_prices(model: str, day: int | None, price_list: PriceList) -> tuple[Listed, ...] | None:
    """In the order of `TOKEN_CLASSES`: dollars per million tokens or per thousand requests."""
    when = None if day is None else datetime.fromtimestamp(day * 86_400, UTC)
    nothing = PricedUsage(input_tokens=0, output_tokens=0)
    try:
        found = calc_price(nothing, model, provider_id=price_list, genai_request_timestamp=when)
    except LookupError:
        return None
    return tuple(_listed(found.model_price, c.prices) for c in TOKEN_CLASSES)


def _listed(prices: Any, names: Iterable[str]) -> Listed:
    values = (getattr(prices, name, None) for name in names)
    return next((value for value in values if value is not None), None)


def _rate(listed: Listed, prompt_tokens: int) -> Decimal | None:
    if isinstance(listed, TieredPrices):
        reached = [tier.price for tier in listed.tiers if prompt_tokens > tier.start]
        return reached[-1] if reached else listed.base
    return listed
