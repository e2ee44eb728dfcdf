from typing import Any

import pytest

from ccwire.wire.usage import Tokens
from correlate.reconcile.result import Finding
from correlate.reconcile.witnesses.invocation_metrics import metrics_witness
from tests.correlate.reconcile.witnesses.test_compare import finding


def measured(output: int, metrics: dict[str, Any] | None, **call: Any) -> Finding:
    return finding(output, invocation_metrics=metrics, model="us.anthropic.claude-m-v1:0", **call)


def test_bedrocks_own_counts_agree_with_the_usage() -> None:
    witness = metrics_witness([measured(9, {"outputTokenCount": 9}), finding(5)])
    assert witness is not None
    assert (witness.name, witness.agrees, witness.usd) == ("invocation-metrics", True, None)
    assert witness.tokens == {"claude-m": Tokens(output=9)}
    assert witness.evidence == ("Bedrock's own counts equal the usage of 1 calls",)


def test_a_difference_of_bedrocks_counts_is_named_even_if_the_sum_is_equal() -> None:
    calls = [
        measured(9, {"outputTokenCount": 8}, sequence=3),
        measured(9, {"outputTokenCount": 10, "inputTokenCount": 0}, sequence=4),
    ]
    witness = metrics_witness(calls)
    assert witness is not None
    assert (witness.explained, witness.residual) == (False, Tokens())
    assert witness.evidence == (
        "call 3: output_tokens is 9 in the answer, 8 in its metrics",
        "call 4: output_tokens is 9 in the answer, 10 in its metrics",
    )


@pytest.mark.parametrize("metrics", [None, {}, {"outputTokenCount": "9"}, {"invocationLatency": 1}])
def test_without_counts_there_is_no_such_witness(metrics: dict[str, Any] | None) -> None:
    assert metrics_witness([measured(9, metrics)]) is None
