"""Compare all calls with the client's records: `cost-state` and stats-cache.json. Pure."""

from collections.abc import Container
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from ccwire.wire.models import base_model
from ccwire.wire.usage import Tokens
from correlate.spend.calls import Collected
from correlate.spend.files import utc_day
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
    """The client's statistics up to a UTC day, the calls up to then, and the lines.

    The client counts every line of a transcript: `lines` are the tokens counted as it does.
    """

    last_day: str | None
    sessions: int | None
    tokens: Tokens
    calls: Tokens
    lines: Tokens
    beyond_calls: dict[str, Tokens]  # by model, what the client has and the calls have not
    beyond_lines: dict[str, Tokens]

    def to_json(self) -> dict[str, Any]:
        return {
            "up_to": self.last_day,
            "sessions": self.sessions,
            "tokens": _json(self.tokens),
            "beyond_calls": {m: _json(tokens) for m, tokens in self.beyond_calls.items()},
            "beyond_lines": {m: _json(tokens) for m, tokens in self.beyond_lines.items()},
        }


def cost_records(found: Collected, sessions: Container[str] | None = None) -> CostRecords:
    """Compare each session's cost record with its calls; of these sessions, or of all.

    A session that repeats another's calls inherits their cost: it is not compared.
    """
    recorded_usd = {
        session: usd
        for session, usd in found.cost_records.items()
        if sessions is None or session in sessions
    }
    spent: dict[str, Decimal | None] = {}
    for call in found.calls:
        session = call.session_id
        if session in recorded_usd:
            usd, before = usd_of(call), spent.get(session, Decimal(0))
            spent[session] = None if usd is None or before is None else before + usd
    more = [
        recorded - float(usd)
        for session, recorded in recorded_usd.items()
        if session not in found.with_copies
        and (usd := spent.get(session, Decimal(0))) is not None
        and recorded - float(usd) >= 0.00005
    ]
    return CostRecords(len(recorded_usd), len(more), sum(more))


def statistics(found: Collected, stats: StatsCache | None) -> Statistics | None:
    """Compare the client's statistics with the calls, and the lines, up to their last day."""
    if stats is None:
        return None
    last = stats.last_day
    calls = tokens_by_model(
        call
        for call in found.calls
        if last is None or (call.at is not None and utc_day(call.at) <= last)
    )
    lines: dict[str, Tokens] = {}
    for (day, model), tokens in found.lines.items():
        if last is None or day <= last:
            name = base_model(model)
            lines[name] = lines.get(name, Tokens()) + _unsplit(tokens)
    calls = {model: _unsplit(tokens) for model, tokens in calls.items()}
    return Statistics(
        last,
        stats.sessions,
        sum(stats.tokens.values(), Tokens()),
        sum(calls.values(), Tokens()),
        sum(lines.values(), Tokens()),
        short_of(stats, calls),
        short_of(stats, lines),
    )


def _unsplit(tokens: Tokens) -> Tokens:
    """Return the tokens as the client's statistics have them: one cache age, no requests."""
    written = tokens.cache_write_5m + tokens.cache_write_1h
    return replace(tokens, cache_write_5m=written, cache_write_1h=0, web_searches=0)


def _json(tokens: Tokens) -> dict[str, int]:
    return {c.name: n for c, n in tokens.by_class()}
