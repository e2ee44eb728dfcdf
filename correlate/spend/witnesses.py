"""Compare all calls with the client's records: `cost-state` and stats-cache.json. Pure."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from ccwire.wire.usage import Tokens
from correlate.spend.calls import Collected
from correlate.spend.totals import tokens_by_model, usd_of
from correlate.transcript.client_records import StatsCache, short_of


@dataclass(frozen=True, slots=True)
class CostRecords:
    """Sessions with a cost record of the client, and those whose record exceeds their calls."""

    sessions: int
    exceeding: int
    more_usd: float

    def to_json(self) -> dict[str, Any]:
        return {
            "sessions": self.sessions,
            "sessions_with_more": self.exceeding,
            "more_usd": self.more_usd,
        }


@dataclass(frozen=True, slots=True)
class Statistics:
    """The client's statistics up to a day, and by model what they have beyond our calls."""

    last_day: str | None
    sessions: int | None
    tokens: Tokens
    beyond: dict[str, Tokens]

    def to_json(self) -> dict[str, Any]:
        return {
            "up_to": self.last_day,
            "sessions": self.sessions,
            "tokens": {c.name: n for c, n in self.tokens.by_class()},
            "beyond_calls": {
                model: {c.name: n for c, n in tokens.by_class()}
                for model, tokens in self.beyond.items()
            },
        }


def cost_records(found: Collected) -> CostRecords:
    """Compare each session's cost record with its calls.

    A session that repeats another's calls inherits their cost: it is not compared.
    """
    spent: dict[str, Decimal | None] = {}
    for call in found.calls:
        session = call.session_id
        if session in found.cost_records:
            usd, before = usd_of(call), spent.get(session, Decimal(0))
            spent[session] = None if usd is None or before is None else before + usd
    more = [
        recorded - float(usd)
        for session, recorded in found.cost_records.items()
        if session not in found.with_copies
        and (usd := spent.get(session, Decimal(0))) is not None
        and recorded - float(usd) >= 0.00005
    ]
    return CostRecords(len(found.cost_records), len(more), sum(more))


def statistics(found: Collected, stats: StatsCache | None) -> Statistics | None:
    """Compare the client's statistics with the calls up to their last day, in local time."""
    if stats is None:
        return None
    last = stats.last_day
    calls = [
        call
        for call in found.calls
        if last is None
        or (call.at is not None and f"{datetime.fromtimestamp(call.at):%Y-%m-%d}" <= last)
    ]
    total = sum(stats.tokens.values(), Tokens())
    return Statistics(last, stats.sessions, total, short_of(stats, tokens_by_model(calls)))
