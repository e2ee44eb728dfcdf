"""What made-up usages cost by the price list that the client uses."""

from typing import Any

from ccwire.wire.usage import Tokens
from correlate.reconcile.prices import price

MODEL = "claude-opus-5-5"


def worth(*usages: dict[str, Any], model: str = MODEL) -> float:
    found = [price(model, usage, Tokens.of(usage), None) for usage in usages]
    return sum(one.client_usd for one in found if one is not None)
