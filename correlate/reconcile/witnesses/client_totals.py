"""Read the client's own totals: its cost record, and the result that `-p` prints. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ccwire.wire.json_text import number
from ccwire.wire.models import base_model
from ccwire.wire.usage import TOKEN_CLASSES, Tokens
from correlate.reconcile.verdicts import WitnessName
from correlate.transcript.records import CostState

# Newest first: `cost_usd` and `total_cost` are of 0.2 and 1.0.
_COST_NAMES = ("total_cost_usd", "total_cost", "cost_usd")


@dataclass(frozen=True, slots=True)
class ClientTotals:
    """A total reported by the client: tokens by model, and dollars.

    `tokens` is None if it has dollars alone, as the result of older clients.
    """

    name: WitnessName
    tokens: Mapping[str, Tokens] | None
    usd: float | None
    tells_ages: bool = True  # whether 5 m and 1 h cache writes are separate
    usd_by_model: Mapping[str, float] = field(default_factory=dict)


def cost_state_totals(state: CostState) -> ClientTotals:
    usage = state.model_usage
    return ClientTotals(
        "cost-state", _by_model(usage), state.total_usd, _tells_ages(usage), _usd_by_model(usage)
    )


def result_totals(result: Mapping[str, Any]) -> ClientTotals | None:
    """Return the totals in the output of `claude -p --output-format json`; None without any.

    Older clients do not print `modelUsage`, the oldest no cost. The result of a run that failed may
    count nothing at all.
    """
    usage = result.get("modelUsage")
    costs = (number(result.get(name)) for name in _COST_NAMES)
    usd = next((cost for cost in costs if cost is not None), None)
    if not usd and not usage and str(result.get("subtype")).startswith("error"):
        return None
    if not isinstance(usage, dict) or (usd and not usage):  # empty in the result of `/compact`
        return None if usd is None else ClientTotals("result", None, usd)
    used = {model: counts for model, counts in usage.items() if isinstance(counts, dict)}
    if (
        usd is None
        and used
        and all(number(one.get("costUSD")) is not None for one in used.values())
    ):
        usd = sum(_usd_by_model(used).values())
    return ClientTotals("result", _by_model(used), usd, _tells_ages(used), _usd_by_model(used))


def result_in(printed: Any) -> Mapping[str, Any] | None:
    """Return the last result in the output of `-p`: an object, an array, or stream-json lines."""
    if isinstance(printed, Mapping):
        is_old = printed.get("role") == "system" and "cost_usd" in printed  # up to 0.2.114
        return printed if printed.get("type") == "result" or is_old else None
    found = [result_in(item) for item in printed] if isinstance(printed, list) else []
    return next((result for result in reversed(found) if result is not None), None)


def _tells_ages(models: Mapping[str, Mapping[str, Any]]) -> bool:
    names = [c.client for c in TOKEN_CLASSES if c.name != c.group.members[0]]
    return any(name in used for name in names for used in models.values())


def _by_model(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Tokens]:
    found: dict[str, Tokens] = {}
    for model, used in models.items():
        name = base_model(model)
        found[name] = found.get(name, Tokens()) + Tokens.of_client(used)
    return found


def _usd_by_model(models: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for model, used in models.items():
        if (usd := number(used.get("costUSD"))) is not None:
            found[base_model(model)] = found.get(base_model(model), 0.0) + usd
    return found
