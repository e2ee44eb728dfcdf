"""The simulated client's usage per model, as cost-state records and result objects contain it."""

import threading
from collections.abc import Mapping
from typing import Any

from ccwire.wire.usage import Tokens
from correlate.reconcile.prices import price


class Spent:
    """Running totals of every completed call, side calls included, in order of completion."""

    def __init__(self, inherited: Mapping[str, Any] | None = None) -> None:
        """`inherited` is the cost-state of the session that this one resumes."""
        self._models: dict[str, dict[str, Any]] = {
            model: dict(used) for model, used in (inherited or {}).get("modelUsage", {}).items()
        }
        self._unknown = False
        self._lock = threading.Lock()  # subagents call in parallel

    @property
    def total_usd(self) -> float:
        return float(sum(used["costUSD"] for used in self._models.values()))

    def add(self, model: str, usage: Mapping[str, Any] | None) -> None:
        raw = dict(usage or {})
        tokens = Tokens.of(raw)
        priced = price(model, raw, tokens, None)
        with self._lock:
            self._unknown = self._unknown or priced is None
            used = self._models.setdefault(model, {})
            for name, count in tokens.to_client().items():
                used[name] = used.get(name, 0) + count
            used["costUSD"] = used.get("costUSD", 0.0) + (priced.client_usd if priced else 0.0)

    def model_usage(self) -> dict[str, dict[str, Any]]:
        return {model: dict(used) for model, used in self._models.items()}

    def cost_state(self) -> dict[str, Any]:
        return {
            "totalCostUSD": self.total_usd,
            "modelUsage": self.model_usage(),
            "hasUnknownModelCost": self._unknown,
        }
