"""What tokens cost, by genai-prices: exactly, in Decimal, and as the client's doubles add up.

An unknown model has no price, never a price of 0. List prices only: no discounts, no batches.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from genai_prices import Usage as PricedUsage
from genai_prices import calc_price
from genai_prices.types import TieredPrices

from ccwire.wire.models import base_model
from ccwire.wire.usage import RawUsage, Tokens

_MILLION = 1_000_000
_US_INFERENCE = Decimal("1.1")  # what inference held within the US costs, as a factor


@dataclass(frozen=True, slots=True)
class Rates:
    """Dollars a million tokens, for one prompt length; a search costs dollars apiece."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    web_search: Decimal
    factor: Decimal = Decimal(1)


@dataclass(frozen=True, slots=True)
class Cost:
    """Dollars by token class; the names are those of `Tokens`."""

    input: Decimal = Decimal(0)
    output: Decimal = Decimal(0)
    cache_read: Decimal = Decimal(0)
    cache_write_5m: Decimal = Decimal(0)
    cache_write_1h: Decimal = Decimal(0)
    web_searches: Decimal = Decimal(0)

    @property
    def total(self) -> Decimal:
        return (
            self.input
            + self.output
            + self.cache_read
            + self.cache_write_5m
            + self.cache_write_1h
            + self.web_searches
        )

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write_5m + other.cache_write_5m,
            self.cache_write_1h + other.cache_write_1h,
            self.web_searches + other.web_searches,
        )


@dataclass(frozen=True, slots=True)
class Price:
    """One call's price: exact, and in doubles as the client computes it.

    Only doubles added up call by call, in the client's order, equal what it prints to the last
    digit.
    """

    cost: Cost
    client_usd: float


def price(
    model: str | None, usage: RawUsage | None, tokens: Tokens, at: float | None
) -> Price | None:
    """What a call cost; None where its model, or the way it was served, has no known price.

    `tokens` are those of `usage`, counted already.
    """
    rates = _rates_for(model, usage, tokens, at)
    if rates is None:
        return None
    return Price(_exact(tokens, rates), _client_cost(tokens, rates))


def _exact(tokens: Tokens, rates: Rates) -> Cost:
    share = rates.factor / _MILLION
    return Cost(
        input=tokens.input * rates.input * share,
        output=tokens.output * rates.output * share,
        cache_read=tokens.cache_read * rates.cache_read * share,
        cache_write_5m=tokens.cache_write_5m * rates.cache_write_5m * share,
        cache_write_1h=tokens.cache_write_1h * rates.cache_write_1h * share,
        web_searches=tokens.web_searches * rates.web_search,
    )


def _client_cost(tokens: Tokens, rates: Rates) -> float:
    written = tokens.cache_write_5m / 1e6 * float(rates.cache_write_5m)
    if tokens.cache_write_1h:
        written = tokens.cache_write_1h / 1e6 * float(rates.cache_write_1h) + written
    served = (
        tokens.input / 1e6 * float(rates.input)
        + tokens.output / 1e6 * float(rates.output)
        + tokens.cache_read / 1e6 * float(rates.cache_read)
        + written
    )
    return served * float(rates.factor) + tokens.web_searches * float(rates.web_search)


def _rates_for(
    model: str | None, usage: RawUsage | None, tokens: Tokens, at: float | None
) -> Rates | None:
    told = usage or {}
    if not model or told.get("speed") == "fast":
        return None
    day = int(at // 86_400) if at is not None else None
    prices = _model_prices(base_model(model), day)
    if prices is None:
        return None
    factor = _US_INFERENCE if told.get("inference_geo") == "us" else Decimal(1)
    return _rates(prices, tokens.context, factor)


@lru_cache(maxsize=512)
def _model_prices(model: str, day: int | None) -> Any | None:
    when = None if day is None else datetime.fromtimestamp(day * 86_400, UTC)
    nothing = PricedUsage(input_tokens=0, output_tokens=0)
    try:
        found = calc_price(nothing, model, provider_id="anthropic", genai_request_timestamp=when)
    except LookupError:
        return None
    return found.model_price


def _rates(prices: Any, prompt_tokens: int, factor: Decimal) -> Rates:
    def rate(value: Decimal | TieredPrices | None, otherwise: Decimal) -> Decimal:
        if value is None:
            return otherwise
        if isinstance(value, TieredPrices):
            reached = [tier.price for tier in value.tiers if prompt_tokens > tier.start]
            return reached[-1] if reached else value.base
        return value

    zero = Decimal(0)
    plain = rate(prices.input_mtok, zero)
    written = rate(prices.cache_write_mtok, plain)
    return Rates(
        input=plain,
        output=rate(prices.output_mtok, zero),
        cache_read=rate(prices.cache_read_mtok, plain),
        cache_write_5m=rate(prices.cache_write_5m_mtok, written),
        cache_write_1h=rate(prices.cache_write_1h_mtok, written),
        web_search=rate(prices.web_searches_kcount, zero) / 1000,
        factor=factor,
    )
