"""Compare Bedrock's own counts with the usage of its answers. Pure."""

from collections.abc import Sequence

from ccwire.wire.format import Exchange
from ccwire.wire.json_text import whole
from ccwire.wire.models import base_model
from ccwire.wire.stream.message import BEDROCK_COUNTS
from ccwire.wire.usage import Tokens
from correlate.reconcile.result import Finding, Witness
from correlate.reconcile.verdicts import ResidualCause

_MOST_NAMED = 5  # differences in one sentence


def metrics_witness(calls: Sequence[Finding]) -> Witness | None:
    """Compare Bedrock's own counts with the usage in its answers, call by call; None without any.

    A count that the metrics lack is not compared.
    """
    tokens: dict[str, Tokens] = {}
    residual = Tokens()
    compared = 0
    differing: list[str] = []
    for finding in calls:
        call = finding.call
        counts = _metrics(call) if call and call.usage is not None else {}
        if not call or not call.usage or not counts:
            continue
        compared += 1
        model = base_model(call.model or "unknown")
        usage = {name: whole(call.usage.get(name)) or 0 for name in counts}
        tokens[model] = tokens.get(model, Tokens()) + Tokens.of(counts)
        residual += Tokens.of(counts) - Tokens.of(usage)
        for name, count in counts.items():
            if count != usage[name]:
                place = f"call {call.sequence}: {name}"
                differing.append(
                    f"{place} is {usage[name]:,} in the answer, {count:,} in its metrics"
                )
    if not compared:
        return None
    evidence = differing[:_MOST_NAMED]
    if len(differing) > _MOST_NAMED:
        evidence.append(f"and {len(differing) - _MOST_NAMED} more differences")
    cause: ResidualCause = "unknown" if differing else "none"
    agreed = f"Bedrock's own counts equal the usage of {compared} calls"
    return Witness(
        "invocation-metrics", tokens, None, residual, cause, tuple(evidence) or (agreed,)
    )


def _metrics(call: Exchange) -> dict[str, int]:
    """Return Bedrock's counts of a call under the API's names."""
    metrics = call.invocation_metrics or {}
    found = {name: whole(metrics.get(metric)) for metric, _, name in BEDROCK_COUNTS}
    return {name: count for name, count in found.items() if count is not None}
