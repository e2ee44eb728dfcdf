from pathlib import Path
from typing import Any

import pytest

from ccwire.wire.format import Exchange
from ccwire.wire.usage import Tokens
from correlate.reconcile.result import Finding, Witness
from correlate.reconcile.verdicts import Verdict
from correlate.reconcile.witnesses import (
    ClientTotals,
    cost_state_totals,
    hold_against,
    metrics_witness,
    result_in,
    result_totals,
)
from correlate.transcript.records import AssistantLine, CostState, typed
from lab.made_session import MadeSession
from tests.correlate.folding import fold


def finding(output: int, verdict: Verdict = "match", **call: Any) -> Finding:
    """Return a finding for a call with this output and verdict."""
    made: Exchange = MadeSession("5e551011").call(usage={"output_tokens": output}, **call)
    return Finding(verdict=verdict, kind="main", evidence=(), call=made)


def account(output: int) -> ClientTotals:
    return ClientTotals("cost-state", {"m": Tokens(output=output)}, 1.0)


def held(
    output: int, *calls: Finding, bases: tuple[int, ...] = (), unseen: bool = False
) -> Witness:
    forked = [Tokens(output=base) for base in bases]
    return hold_against(account(output), calls, (), forked, earlier_unseen=unseen)


def test_equal_sums_agree() -> None:
    witness = held(30, finding(10), finding(20))
    assert (witness.agrees, witness.explained) == (True, True)
    assert witness.residual == Tokens()


def test_a_difference_is_unexplained() -> None:
    witness = held(31, finding(10), finding(20))
    assert (witness.agrees, witness.explained) == (False, False)
    assert witness.residual == Tokens(output=1)


def test_an_answer_that_was_cut_off_may_be_left_out() -> None:
    cut = finding(20, sequence=7, complete=False)
    witness = held(10, finding(10), cut)
    assert witness.explained
    assert witness.evidence == ("equals the wire without call 7, cut off or not streamed",)


def test_only_an_equality_explains_not_a_likely_story() -> None:
    assert not held(11, finding(10), finding(20, complete=False)).explained


def test_a_call_made_over_again_without_streaming_may_be_left_out() -> None:
    again = finding(20, sequence=8, stream=False)
    assert held(10, finding(10), again).explained


def test_a_whole_call_may_not_be_left_out() -> None:
    assert not held(10, finding(10), finding(20)).explained


def test_a_fork_begins_with_its_parents_sum() -> None:
    assert held(130, finding(30), bases=(50, 100)).explained
    assert not held(130, finding(30), bases=(50, 99)).explained


def test_a_capture_begun_in_the_middle_lacks_what_was_before() -> None:
    more = held(100, finding(30), unseen=True)
    less = held(10, finding(30), unseen=True)
    assert (more.agrees, more.explained) == (False, True)
    assert not less.explained


def test_a_disputed_call_is_reported_once_with_the_side_of_the_client_totals() -> None:
    made = MadeSession("5e551011")
    call = made.call(usage={"output_tokens": 99})
    line = {**made.lines[0]}
    line["message"] = {**line["message"], "usage": {"output_tokens": 40}}
    found = typed(line, Path("t"), 1, 0)
    assert isinstance(found, AssistantLine)
    (turn,) = fold([found])
    disputed = Finding(verdict="differs", kind="main", evidence=(), call=call, turn=turn)
    assert held(40, disputed).evidence == (
        "equals the wire with the transcript's usage for call 1",
    )
    assert held(99, disputed).evidence == ("equals the wire exactly",)


def test_an_account_is_by_model_without_the_mark_of_a_long_window() -> None:
    usage = {"inputTokens": 1, "cacheCreationInputTokens": 9, "webSearchRequests": 2}
    ages = {"cacheCreationEphemeral1hInputTokens": 4}
    found = cost_state_totals(CostState(1, 0.5, {"m": usage, "m[1m]": {**usage, **ages}}))
    assert found.tokens == {
        "m": Tokens(input=2, cache_write_5m=14, cache_write_1h=4, web_searches=4)
    }
    assert (found.usd, found.tells_ages) == (0.5, True)


def test_an_account_that_does_not_tell_lifetimes_is_compared_without_them() -> None:
    made = MadeSession("5e551011").call(
        usage={
            "output_tokens": 0,
            "cache_creation_input_tokens": 9,
            "cache_creation": {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 4},
        }
    )
    call = Finding(verdict="match", kind="main", evidence=(), call=made)
    told = result_totals({"modelUsage": {"m": {"cacheCreationInputTokens": 9}}})
    assert told is not None
    assert hold_against(told, [call], (), (), earlier_unseen=False).agrees


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
    assert result_totals({"cost_usd": 0.25, "modelUsage": {}}) == ClientTotals(
        "result", {}, 0.25, False
    )
    assert result_totals({"total_cost_usd": 0.25}) is None


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
