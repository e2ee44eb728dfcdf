from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ccwire.wire.format import Exchange
from ccwire.wire.usage import Tokens
from correlate.reconcile.result import Finding, Witness
from correlate.reconcile.verdicts import Verdict, WitnessName
from correlate.reconcile.witnesses.client_totals import (
    ClientTotals,
    cost_state_totals,
    result_totals,
)
from correlate.reconcile.witnesses.compare import hold_against
from correlate.transcript.records import AssistantLine, CostState, typed
from correlate.transcript.turns import Turn
from lab.made_session import MadeSession
from tests.correlate.dollars import MODEL, worth
from tests.correlate.folding import fold


def finding(output: int, verdict: Verdict = "match", **call: Any) -> Finding:
    """Return a finding for a call with this output and verdict."""
    made: Exchange = MadeSession("5e551011").call(usage={"output_tokens": output}, **call)
    return Finding(verdict=verdict, kind="main", evidence=(), call=made)


def account(output: int) -> ClientTotals:
    usd = worth({"output_tokens": output})
    return ClientTotals("cost-state", {MODEL: Tokens(output=output)}, usd)


def held(
    output: int, *calls: Finding, bases: tuple[int, ...] = (), unseen: bool = False
) -> Witness:
    forked = [account(base) for base in bases]
    return hold_against(account(output), calls, (), forked, earlier_unseen=unseen)


def turn_of(made: MadeSession, output: int) -> Turn:
    """Return the turn of the session's first line, with another output."""
    line = {**made.lines[0]}
    line["message"] = {**line["message"], "usage": {"output_tokens": output}}
    found = typed(line, Path("t"), 1, 0)
    assert isinstance(found, AssistantLine)
    (turn,) = fold([found])
    return turn


def test_equal_sums_agree() -> None:
    witness = held(30, finding(10), finding(20))
    assert (witness.agrees, witness.explained) == (True, True)
    assert witness.residual == Tokens()


def test_equal_tokens_under_another_model_do_not_agree() -> None:
    other = ClientTotals("cost-state", {"claude-haiku-4-5": Tokens(output=30)}, 0.0015)
    witness = hold_against(other, [finding(30)], (), (), earlier_unseen=False)
    assert (witness.residual, witness.explained) == (Tokens(), False)
    assert witness.residual_by_model == {
        "haiku-4-5": Tokens(output=30),
        "opus-5-5": Tokens(output=-30),
    }
    assert witness.evidence == (
        "differs from the wire by models (haiku-4-5: +30 output; opus-5-5: -30 output);"
        " cause unknown",
    )


def test_equal_tokens_at_another_price_do_not_agree() -> None:
    dear = replace(account(30_000), usd=worth({"output_tokens": 30_000}) + 0.01)
    witness = hold_against(dear, [finding(30_000)], (), (), earlier_unseen=False)
    assert (witness.cause, witness.agrees, witness.explained) == ("dollars", False, False)
    assert witness.usd_residual == pytest.approx(0.01)
    assert witness.evidence == ("the tokens are equal by model, the dollars differ by $+0.0100",)


def test_the_dollars_of_each_model_are_compared() -> None:
    usage = {MODEL: {"outputTokens": 30, "costUSD": worth({"output_tokens": 30})}}
    result = {"type": "result", "total_cost_usd": usage[MODEL]["costUSD"], "modelUsage": usage}
    said = result_totals(result)
    assert said is not None
    assert hold_against(said, [finding(30)], (), (), earlier_unseen=False).agrees
    usage[MODEL]["costUSD"] += 0.01
    said = result_totals(result)
    assert said is not None
    witness = hold_against(said, [finding(30)], (), (), earlier_unseen=False)
    assert (witness.cause, witness.explained) == ("dollars", False)
    assert witness.evidence[-1].endswith("differ by $+0.0100")


def test_a_cost_without_tokens_that_differs_is_named_with_that_of_the_wire() -> None:
    said = ClientTotals("result", None, 0.1816)
    witness = hold_against(said, [finding(30)], (), (), earlier_unseen=False)
    assert (witness.cause, witness.explained) == ("unknown", False)
    assert witness.evidence[-1] == f"$0.1816 against the wire's ${worth({'output_tokens': 30}):.4f}"


def test_a_model_priced_at_the_rates_of_another_is_a_rule_of_the_client() -> None:
    sonnet = "claude-sonnet-4-5-20250929"
    counts = {"input_tokens": 300, "output_tokens": 30_000}
    dear = worth(counts, model="claude-opus-4-5")
    used = {"inputTokens": 300, "outputTokens": 30_000, "costUSD": dear}
    made = MadeSession("5e551011").call(usage=counts, model=sonnet)
    call = Finding(verdict="match", kind="main", evidence=(), call=made)

    def held_at(total: float, of_model: float) -> Witness:
        models = {sonnet: {**used, "costUSD": of_model}}
        told = result_totals({"modelUsage": models, "total_cost_usd": total})
        assert told is not None
        return hold_against(told, [call], (), (), earlier_unseen=False)

    witness = held_at(dear, dear)
    assert (witness.cause, witness.agrees, witness.explained) == ("other-rates", False, True)
    assert witness.evidence[1] == (
        f"prices {sonnet} at the rates of claude-opus-4-5: ${dear:.4f},"
        f" not ${worth(counts, model=sonnet):.4f}"
    )
    assert held_at(dear + 0.01, dear + 0.01).cause == "dollars"
    assert held_at(dear + 0.01, dear).cause == "dollars"


def test_a_release_that_tells_no_ages_prices_hour_long_writes_as_short_ones() -> None:
    writes = {"ephemeral_5m_input_tokens": 1_000, "ephemeral_1h_input_tokens": 50_000}
    usage = {
        "input_tokens": 10,
        "output_tokens": 20,
        "cache_creation_input_tokens": 51_000,
        "cache_creation": writes,
    }
    made = MadeSession("5e551011").call(usage=usage)
    call = Finding(verdict="match", kind="main", evidence=(), call=made)
    without_ages = {name: count for name, count in usage.items() if name != "cache_creation"}

    def held_at(usd: float) -> Witness:
        used = {"inputTokens": 10, "outputTokens": 20, "cacheCreationInputTokens": 51_000}
        models = {MODEL: {**used, "costUSD": usd}}
        told = result_totals({"modelUsage": models, "total_cost_usd": usd})
        assert told is not None
        return hold_against(told, [call], (), (), earlier_unseen=False)

    witness = held_at(worth(without_ages))
    assert (witness.cause, witness.explained) == ("other-rates", True)
    assert witness.evidence[1] == (
        f"prices cache writes of 1 h on {MODEL} at the rate of those of 5 m"
    )
    assert held_at(worth(usage)).cause == "none"
    assert held_at(worth(without_ages) + 0.01).cause == "dollars"


def test_a_result_may_have_dollars_from_before_its_last_calls_ended() -> None:
    calls = [finding(3_000, started=1.0), finding(5_000, started=2.0), finding(7_000, started=3.0)]

    def held_at(total: float, name: WitnessName = "result") -> Witness:
        usd = worth({"output_tokens": 15_000})
        told = ClientTotals(name, {MODEL: Tokens(output=15_000)}, total, usd_by_model={MODEL: usd})
        numbered = [
            replace(one, call=replace(one.call, sequence=n, ended=one.call.started + 0.5))
            for n, one in enumerate(calls, 1)
            if one.call
        ]
        return hold_against(told, numbered, (), (), earlier_unseen=False)

    witness = held_at(worth({"output_tokens": 3_000}))
    assert (witness.cause, witness.agrees, witness.explained) == ("other-rates", False, True)
    assert witness.evidence[1] == (
        "the dollars are from before call 2, 3 ended, the tokens from after"
    )
    assert held_at(0.0).cause == "dollars"
    assert held_at(worth({"output_tokens": 5_000})).cause == "dollars"  # not the first to end
    assert held_at(worth({"output_tokens": 3_000}), "cost-state").cause == "dollars"


def test_a_call_with_a_line_had_ended_when_the_result_was_printed() -> None:
    made = MadeSession("5e551011")
    calls = [finding(3_000, sequence=1, started=1.0), finding(5_000, sequence=2, started=2.0)]
    made.call()
    written = replace(calls[1], turn=turn_of(made, output=5_000))
    usd = worth({"output_tokens": 8_000})
    told = ClientTotals(
        "result",
        {MODEL: Tokens(output=8_000)},
        worth({"output_tokens": 3_000}),
        usd_by_model={MODEL: usd},
    )
    assert hold_against(told, calls, (), (), earlier_unseen=False).explained
    assert not hold_against(told, [calls[0], written], (), (), earlier_unseen=False).explained


def test_a_call_that_was_left_out_has_no_rate() -> None:
    cut = finding(50, sequence=1, model=HAIKU, complete=False)
    usd = worth({"output_tokens": 1_000})
    tokens = {MODEL: Tokens(output=1_000)}
    told = ClientTotals("result", tokens, usd + 0.01, usd_by_model={MODEL: usd})
    witness = hold_against(told, [cut, finding(1_000, sequence=2)], (), (), earlier_unseen=False)
    assert witness.cause == "dollars"


def test_each_call_has_the_price_of_its_own_size() -> None:
    """A prompt of more than 200,000 tokens costs more; two smaller ones do not."""
    model = "claude-sonnet-4-5"
    usage = {
        "input_tokens": 150_000,
        "output_tokens": 10,
        "cache_creation_input_tokens": 1_000,
        "cache_creation": {"ephemeral_1h_input_tokens": 1_000},
    }
    made = MadeSession("5e551011")
    calls = [
        Finding(verdict="match", kind="main", evidence=(), call=made.call(usage=usage, model=model))
        for _ in range(2)
    ]
    without_ages = {name: count for name, count in usage.items() if name != "cache_creation"}
    paid = 2 * worth(without_ages, model=model)
    used = {"inputTokens": 300_000, "outputTokens": 20, "cacheCreationInputTokens": 2_000}
    told = result_totals({"modelUsage": {model: {**used, "costUSD": paid}}, "total_cost_usd": paid})
    assert told is not None
    assert hold_against(told, calls, (), (), earlier_unseen=False).cause == "other-rates"


def test_an_alias_and_a_dated_name_are_one_model() -> None:
    dated = replace(account(30), tokens={f"{MODEL}-20261001[1m]": Tokens(output=30)})
    assert hold_against(dated, [finding(30)], (), (), earlier_unseen=False).agrees


def test_dollars_without_a_known_price_are_not_compared() -> None:
    call = finding(30, model="claude-future-9")
    told = ClientTotals("cost-state", {"claude-future-9": Tokens(output=30)}, 7.0)
    witness = hold_against(told, [call], (), (), earlier_unseen=False)
    assert (witness.cause, witness.agrees, witness.explained) == ("dollars-unknown", False, True)
    assert witness.usd_residual is None
    assert witness.evidence[-1] == "dollars are not compared: a price is not known"


def test_models_with_a_price_are_compared_although_another_has_none() -> None:
    calls = [finding(30, model="claude-future-9"), finding(10_000)]
    tokens = {"claude-future-9": Tokens(output=30), MODEL: Tokens(output=10_000)}
    usd = worth({"output_tokens": 10_000})

    def held_at(of_model: float) -> Witness:
        told = ClientTotals("cost-state", tokens, 5_000.0, usd_by_model={MODEL: of_model})
        return hold_against(told, calls, (), (), earlier_unseen=False)

    assert held_at(usd).cause == "dollars-unknown"
    assert held_at(usd + 0.01).cause == "dollars"
    calls.append(finding(40, sequence=7, complete=False))
    assert held_at(usd).cause == "dollars-unknown"
    assert held_at(usd + 0.01).cause == "dollars"


@pytest.mark.parametrize("base", [0, 50])
def test_a_total_without_dollars_does_not_agree(base: int) -> None:
    told = ClientTotals("cost-state", {MODEL: Tokens(output=30 + base)}, None)
    bases = [account(base)] if base else []
    witness = hold_against(told, [finding(30)], (), bases, earlier_unseen=False)
    assert (witness.cause, witness.agrees, witness.explained) == ("dollars-unknown", False, True)
    assert witness.evidence[-1] == "dollars are not compared: the client names none"


def test_a_difference_is_unexplained() -> None:
    witness = held(31, finding(10), finding(20))
    assert (witness.agrees, witness.explained) == (False, False)
    assert witness.residual == Tokens(output=1)


def test_an_answer_that_was_cut_off_may_be_left_out() -> None:
    cut = finding(20, sequence=7, complete=False)
    witness = held(10, finding(10), cut)
    assert witness.explained
    assert witness.evidence[0] == "equals the wire without call 7, cut off or not streamed"


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
    turn = turn_of(made, output=40)
    disputed = Finding(verdict="differs", kind="main", evidence=(), call=call, turn=turn)
    reason = "equals the wire with the transcript's usage for call 1"
    assert held(40, disputed).evidence[0] == reason
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
    usd = worth(made.usage or {})
    told = result_totals(
        {"modelUsage": {MODEL: {"cacheCreationInputTokens": 9}}, "total_cost_usd": usd}
    )
    assert told is not None
    assert hold_against(told, [call], (), (), earlier_unseen=False).agrees


HAIKU = "claude-haiku-4-5"


@pytest.mark.parametrize(
    ("opus", "haiku", "more_usd", "cause"),
    [
        (40, 30, 0.01, "before-capture"),
        (60, 10, 0.01, "unknown"),  # less of one model
        (40, 30, -0.01, "unknown"),  # fewer dollars
    ],
)
def test_calls_from_before_the_capture_add_to_every_model(
    opus: int, haiku: int, more_usd: float, cause: str
) -> None:
    calls = [finding(30), finding(20, model=HAIKU)]
    usd = worth({"output_tokens": 30}) + worth({"output_tokens": 20}, model=HAIKU) + more_usd
    tokens = {MODEL: Tokens(output=opus), HAIKU: Tokens(output=haiku)}
    told = ClientTotals("cost-state", tokens, usd)
    assert hold_against(told, calls, (), (), earlier_unseen=True).cause == cause


def test_the_output_of_an_answer_that_was_cut_off_may_be_estimated() -> None:
    start = {"input_tokens": 9, "output_tokens": 2}
    made = MadeSession("5e551011").call(
        usage=start, usage_at_start=start, complete=False, ended_by="server_disconnect"
    )
    cut = Finding(verdict="wire-only", kind="retried", evidence=(), call=made)
    whole = finding(5_000, sequence=2)

    def held_at(output: int) -> Witness:
        tokens = {MODEL: Tokens(input=9, output=5_000 + output)}
        usd = worth({"input_tokens": 9, "output_tokens": 5_000 + output})
        told = ClientTotals("cost-state", tokens, usd)
        return hold_against(
            told, [cut, whole], (), (), earlier_unseen=False, cut_texts={made.sequence: 100}
        )

    assert held_at(2).cause == "none"
    witness = held_at(34)
    assert (witness.cause, witness.agrees, witness.explained) == ("estimated", False, True)
    said = f"estimates the output of call {made.sequence}, cut off, by the length of its text"
    assert said in witness.evidence
    assert held_at(33).cause == "unknown"


def test_side_calls_about_a_command_may_be_left_out() -> None:
    made = MadeSession("5e551011").call(usage={"output_tokens": 700}, sequence=2, model=HAIKU)
    evidence = ("inferred from the request: file paths",)
    paths = Finding(verdict="wire-only", kind="auxiliary", evidence=evidence, call=made)
    witness = held(30, finding(30), paths)
    assert (witness.cause, witness.explained) == ("calls-left-out", True)
    assert "without call 2, a side call about a command" in witness.evidence
    title = replace(paths, evidence=("inferred from the request: title",))
    assert held(30, finding(30), title).cause == "unknown"


def test_the_call_by_which_an_agent_reports_to_a_hook_may_be_left_out() -> None:
    """The client may stop to read before the usage: the tool call is all that it wants."""
    made = MadeSession("5e551011").call(
        usage={"output_tokens": 700}, sequence=2, model=HAIKU, stop_reason="tool_use"
    )
    evidence = ("a hook: the request contains the input of this session's Stop",)
    report = Finding(verdict="wire-only", kind="auxiliary", evidence=evidence, call=made)
    witness = held(30, finding(30), report)
    assert (witness.cause, witness.explained) == ("calls-left-out", True)
    said = "equals the wire without call 2, by which an agent reported to a hook"
    assert witness.evidence[0] == said
    answered = replace(report, call=replace(made, stop_reason="end_turn"))
    assert held(30, finding(30), answered).cause == "unknown"
    title = replace(report, evidence=("inferred from the request: title",))
    assert held(30, finding(30), title).cause == "unknown"


@pytest.mark.parametrize(("more", "cause"), [(0.5, "before-capture"), (-0.001, "unknown")])
def test_a_cost_without_tokens_may_include_turns_from_before_the_capture(
    more: float, cause: str
) -> None:
    made = MadeSession("5e551011")
    made.call()
    turn = turn_of(made, output=40)
    early = Finding(verdict="before-capture", kind="main", evidence=(), turn=turn)
    told = ClientTotals("result", None, worth({"output_tokens": 30}) + more)
    witness = hold_against(told, [finding(30)], [early], (), earlier_unseen=True)
    assert (witness.cause, witness.tokens) == (cause, None)


@pytest.mark.parametrize(("more", "cause"), [(0.0, "before-capture"), (900.0, "unknown")])
def test_a_cost_without_tokens_may_include_turns_that_were_not_captured(
    more: float, cause: str
) -> None:
    made = MadeSession("5e551011")
    made.call()
    lost = Finding(
        verdict="not-captured", kind="main", evidence=(), turn=turn_of(made, output=4_000)
    )
    told = ClientTotals("result", None, worth({"output_tokens": 4_030}) + more)
    assert hold_against(told, [finding(30)], [lost], (), earlier_unseen=False).cause == cause
