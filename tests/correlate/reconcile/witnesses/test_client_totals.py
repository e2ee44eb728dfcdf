from typing import Any

import pytest

from correlate.reconcile.witnesses.client_totals import (
    ClientTotals,
    result_in,
    result_totals,
)


@pytest.mark.parametrize(
    "printed",
    [
        {"type": "result", "n": 2},
        [{"type": "system"}, {"type": "result", "n": 1}, {"type": "result", "n": 2}, "odd"],
    ],
)
def test_the_last_result_is_the_one(printed: Any) -> None:
    assert result_in(printed) == {"type": "result", "n": 2}


@pytest.mark.parametrize("printed", [{}, [], "x", None, {"type": "system"}])
def test_no_result_is_none(printed: Any) -> None:
    assert result_in(printed) is None


def test_the_oldest_results_have_another_name_for_the_cost() -> None:
    assert result_totals({"cost_usd": 0.25}) == ClientTotals("result", None, 0.25)


def test_a_result_may_have_dollars_and_no_tokens() -> None:
    assert result_totals({"total_cost_usd": 0.25}) == ClientTotals("result", None, 0.25)
    after_compact = result_totals({"total_cost_usd": 0.25, "modelUsage": {}})
    assert after_compact == ClientTotals("result", None, 0.25)
    assert result_totals({"total_cost_usd": 0, "modelUsage": {}}) == ClientTotals(
        "result", {}, 0, False
    )
    assert result_totals({"type": "result"}) is None
