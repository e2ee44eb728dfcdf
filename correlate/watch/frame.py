"""The data of a live view: totals per session and agent, recent calls, calls in flight. Pure.

Exchanges are added one by one; `frame` returns what a view shows of them.
"""

import statistics
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ccwire.wire.endpoints import CALL_KINDS
from ccwire.wire.format import Exchange, Manifest
from ccwire.wire.usage import Tokens
from ccwire.wire.vocabulary import EndpointKind
from correlate.reconcile.prices import usd_of_call

_RECENT = 500  # calls kept for display; totals include all
_WAITS = 50  # first-byte times in the median


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlight:
    """A call whose response is not complete. `status` is None until its headers arrive."""

    flow_id: str
    sequence: int
    started: float
    kind: EndpointKind
    model: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    status: int | None = None
    first_byte: float | None = None
    part_bytes: int = 0

    def elapsed(self, now: float) -> float:
        return max(0.0, now - self.started)


@dataclass(slots=True)
class Sums:
    """The totals of a session, or of one of its agents."""

    calls: int = 0
    errors: int = 0
    others: int = 0  # exchanges other than calls to the model
    tokens: Tokens = field(default_factory=Tokens)
    usd: float = 0.0
    unpriced: int = 0
    waits: deque[float] = field(default_factory=lambda: deque(maxlen=_WAITS))

    def add(self, exchange: Exchange, tokens: Tokens, usd: float | None) -> None:
        if exchange.kind not in CALL_KINDS:
            self.others += 1
        else:
            self.calls += 1
        self.errors += exchange.broken
        self.tokens += tokens
        self.usd += usd or 0.0
        self.unpriced += usd is None
        if exchange.kind == "messages" and exchange.first_byte_ms is not None:
            self.waits.append(exchange.first_byte_ms / 1000)

    @property
    def cache_share(self) -> float | None:
        return self.tokens.cache_share

    @property
    def first_byte(self) -> float | None:
        """The median of the last calls, in seconds."""
        return statistics.median(self.waits) if self.waits else None

    def to_json(self) -> dict[str, Any]:
        return {
            "calls": self.calls,
            "errors": self.errors,
            "other_exchanges": self.others,
            "usage": self.tokens.to_usage(),
            "usd": self.usd,
            "unpriced_calls": self.unpriced,
            "cache_share": self.cache_share,
            "first_byte_seconds": self.first_byte,
        }


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A finished exchange with its session and price; None if the model has no price."""

    session_id: str
    exchange: Exchange
    tokens: Tokens
    usd: float | None

    @property
    def cache_share(self) -> float | None:
        return self.tokens.cache_share


class SessionWatch:
    """The live state of one session."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.manifest = Manifest(session_id=session_id)
        self.total = Sums()
        self.agents: dict[str | None, Sums] = {}
        self.agent_types: dict[str, str] = {}
        self.in_flight: tuple[InFlight, ...] = ()
        self.version: str | None = None
        self.last_at = 0.0
        self._recent: deque[SeenCall] = deque(maxlen=_RECENT)
        self._errors: deque[SeenCall] = deque(maxlen=_RECENT)
        self._flows: set[str] = set()

    def add(self, exchange: Exchange) -> SeenCall | None:
        """Add a finished exchange; return None if it was added before."""
        if exchange.flow_id in self._flows:
            return None
        self._flows.add(exchange.flow_id)
        seen = _priced(self.session_id, exchange)
        self.total.add(exchange, seen.tokens, seen.usd)
        self.agents.setdefault(exchange.agent_id, Sums()).add(exchange, seen.tokens, seen.usd)
        if exchange.agent_id and exchange.agent_type:
            self.agent_types[exchange.agent_id] = exchange.agent_type
        self.version = exchange.claude_version or self.version
        self.last_at = max(self.last_at, exchange.ended or exchange.started)
        if exchange.kind in CALL_KINDS or exchange.broken:
            self._recent.append(seen)
        if exchange.broken:
            self._errors.append(seen)
        return seen

    def fly(self, in_flight: Iterable[InFlight]) -> None:
        """Set the calls in flight; a part file may briefly outlive its exchange's line."""
        self.in_flight = tuple(
            flight
            for flight in in_flight
            if flight.flow_id not in self._flows and flight.kind in CALL_KINDS
        )

    @property
    def has_calls(self) -> bool:
        """Whether there is anything to show; `unknown` often contains no call."""
        return bool(self._recent or self.in_flight or self.total.calls)

    def shown(self, errors_only: bool) -> Iterable[SeenCall]:
        return self._errors if errors_only else self._recent


@dataclass(frozen=True, slots=True)
class View:
    """The filter that the user selected."""

    session_id: str | None = None
    errors_only: bool = False
    paused: bool = False

    def pressed(self, key: str, session_ids: Iterable[str]) -> "View":
        """Return the view after a key press; `f` cycles through the sessions and all of them."""
        if key == "e":
            return View(self.session_id, not self.errors_only, self.paused)
        if key == "p":
            return View(self.session_id, self.errors_only, not self.paused)
        if key == "f":
            turns: list[str | None] = [None, *session_ids]
            place = turns.index(self.session_id) if self.session_id in turns else 0
            return View(turns[(place + 1) % len(turns)], self.errors_only, self.paused)
        return self


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything a view shows at one moment, newest calls last."""

    at: float
    view: View
    sessions: tuple[SessionWatch, ...]
    total: Sums
    calls: tuple[SeenCall, ...]
    in_flight: tuple[tuple[str, InFlight], ...]
    drift: Mapping[str, int]
    lost: int  # exchanges that could not be captured

    def to_json(self) -> dict[str, Any]:
        return {
            "at": self.at,
            "total": self.total.to_json(),
            "sessions": [_session_json(session) for session in self.sessions],
            "calls": [call_json(call) for call in self.calls],
            "in_flight": [
                {
                    "session_id": session_id,
                    "sequence": flight.sequence,
                    "kind": flight.kind,
                    "model": flight.model,
                    "agent_id": flight.agent_id,
                    "status": flight.status,
                    "elapsed_seconds": round(flight.elapsed(self.at), 3),
                }
                for session_id, flight in self.in_flight
            ],
            "drift": dict(self.drift),
            "capture_errors": self.lost,
        }


def frame(sessions: Iterable[SessionWatch], view: View, now: float, calls: int = 100) -> Frame:
    """Return the current frame with at most the last `calls` calls."""
    shown = tuple(
        sorted(
            (s for s in sessions if view.session_id in (None, s.session_id) and s.has_calls),
            key=lambda s: s.last_at,
        )
    )
    last = sorted(
        (call for session in shown for call in session.shown(view.errors_only)),
        key=lambda call: call.exchange.ended or call.exchange.started,
    )
    drift: dict[str, int] = {}
    for session in shown:
        for name, times in session.manifest.drift.items():
            drift[name] = drift.get(name, 0) + times
    flights = [(s.session_id, flight) for s in shown for flight in s.in_flight]
    return Frame(
        at=now,
        view=view,
        sessions=shown,
        total=_together(session.total for session in shown),
        calls=tuple(last[-calls:] if calls else ()),
        in_flight=tuple(sorted(flights, key=lambda named: named[1].started)),
        drift=drift,
        lost=sum(session.manifest.counts.get("capture_errors", 0) for session in shown),
    )


def call_json(call: SeenCall) -> dict[str, Any]:
    return {"session_id": call.session_id, **call.exchange.to_json(), "usd": call.usd}


def _priced(session_id: str, exchange: Exchange) -> SeenCall:
    usage = None
    if exchange.kind == "messages":
        usage = exchange.usage or exchange.usage_at_start
    return SeenCall(session_id, exchange, Tokens.of(usage), usd_of_call(exchange, usage))


def _together(sums: Iterable[Sums]) -> Sums:
    total = Sums()
    for one in sums:
        total.calls += one.calls
        total.errors += one.errors
        total.others += one.others
        total.tokens += one.tokens
        total.usd += one.usd
        total.unpriced += one.unpriced
        total.waits.extend(one.waits)
    return total


def _session_json(session: SessionWatch) -> dict[str, Any]:
    agents = [
        {"agent_id": agent_id, "type": session.agent_types.get(agent_id or ""), **sums.to_json()}
        for agent_id, sums in session.agents.items()
    ]
    return {
        "session_id": session.session_id,
        "claude_version": session.version,
        **session.total.to_json(),
        "agents": agents,
    }
