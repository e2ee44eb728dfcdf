"""The client's totals by the rules of its releases, each with its nearest counter-example."""

from typing import Any

import pytest

from ccwire.wire.usage import Tokens
from correlate.reconcile.result import Finding, Witness
from correlate.reconcile.witnesses.client_totals import ClientTotals
from correlate.reconcile.witnesses.compare import hold_against
from lab.made_session import MadeSession
from tests.correlate.dollars import MODEL, worth

OTHER = "claude-opus-4-5"
type Used = dict[str, dict[str, int]]


def answered(
    usage: dict[str, Any], *iterations: dict[str, Any], served: str | None = None, **call: Any
) -> Finding:
    given = {**usage, "iterations": list(iterations)} if iterations else usage
    made = MadeSession("5e551011").call(usage=given, served_model=served, **call)
    return Finding(verdict="match", kind="main", evidence=(), call=made)


def held(used: Used, call: Finding, usd: float | None = None) -> Witness:
    """Compare the client's totals, by model, at its own prices or for these dollars."""
    spent = sum(worth(counts, model=model) for model, counts in used.items())
    tokens = {model: Tokens.of(counts) for model, counts in used.items()}
    told = ClientTotals("cost-state", tokens, spent if usd is None else usd)
    return hold_against(told, [call], (), (), earlier_unseen=False)


def tokens(sent: int, received: int) -> dict[str, int]:
    return {"input_tokens": sent, "output_tokens": received}


ADVISED = (
    {"type": "message", **tokens(1_000, 100)},
    {"type": "advisor_message", "model": OTHER, **tokens(5_000, 700)},
    {"type": "message", **tokens(2_000, 300)},
)


def test_an_advised_answer_agrees_if_both_models_do() -> None:
    call = answered(tokens(3_000, 400), *ADVISED)
    witness = held({MODEL: tokens(3_000, 400), OTHER: tokens(5_000, 700)}, call)
    assert (witness.cause, witness.evidence) == ("none", ("equals the wire exactly",))


def test_an_advisor_under_the_asked_model_does_not_agree() -> None:
    call = answered(tokens(3_000, 400), *ADVISED)
    assert not held({MODEL: tokens(8_000, 1_100)}, call).explained


def test_a_top_level_without_later_iterations_is_a_rule_of_the_client() -> None:
    call = answered(tokens(1_000, 400), *ADVISED)
    witness = held({MODEL: tokens(1_000, 400), OTHER: tokens(5_000, 700)}, call)
    assert (witness.cause, witness.agrees) == ("iterations-left-out", False)
    assert witness.evidence[:2] == (
        "equals the wire by a rule of the client",
        "adds only the top level of a call's usage: without the later iterations of call 1",
    )
    assert witness.residual_by_model == {"opus-5-5": Tokens(input=-2_000)}
    assert not held({MODEL: tokens(1_001, 400), OTHER: tokens(5_000, 700)}, call).explained


def test_older_releases_leave_advisors_out() -> None:
    call = answered(tokens(3_000, 400), *ADVISED)
    witness = held({MODEL: tokens(3_000, 400)}, call)
    assert (witness.cause, witness.agrees, witness.explained) == ("advisors-left-out", False, True)
    assert witness.evidence[1].endswith("without the advisor's iteration of call 1")
    assert witness.usd_residual == pytest.approx(-worth(tokens(5_000, 700), model=OTHER))
    assert not held({MODEL: tokens(3_000, 399)}, call).explained


def test_a_rule_must_explain_the_dollars_too() -> None:
    call = answered(tokens(3_000, 400), *ADVISED)
    spent = worth(tokens(3_000, 400)) + 0.01
    witness = held({MODEL: tokens(3_000, 400)}, call, spent)
    assert (witness.cause, witness.explained) == ("dollars", False)


COMPACTED = ({"type": "compaction", **tokens(9_000, 900)}, {"type": "message", **tokens(500, 50)})


def test_no_release_adds_a_compaction_within_an_answer() -> None:
    call = answered(tokens(500, 50), *COMPACTED)
    witness = held({MODEL: tokens(500, 50)}, call)
    assert (witness.cause, witness.agrees) == ("iterations-left-out", False)
    assert witness.evidence[1].endswith("without the compaction of call 1")
    assert witness.evidence[2] == f"${-worth(tokens(9_000, 900)):+.4f} against the wire"
    assert held({MODEL: tokens(9_500, 950)}, call).cause == "none"
    assert not held({MODEL: tokens(9_500, 50)}, call).explained


FELL_BACK = (
    {"type": "message", "model": MODEL, **tokens(800, 20)},
    {"type": "fallback_message", "model": OTHER, **tokens(600, 60)},
)


def test_a_fallback_is_under_the_model_that_served_it() -> None:
    call = answered(tokens(600, 60), *FELL_BACK, served=OTHER)
    witness = held({OTHER: tokens(600, 60)}, call)
    assert (witness.cause, witness.agrees) == ("iterations-left-out", False)
    assert witness.evidence[1].endswith("without the attempt that declined of call 1")
    whole = {MODEL: tokens(800, 20), OTHER: tokens(600, 60)}
    assert held(whole, call).cause == "none"


def test_a_fallback_may_be_under_the_model_that_was_asked() -> None:
    call = answered(tokens(600, 60), *FELL_BACK, served=OTHER)
    witness = held({MODEL: tokens(600, 60)}, call)
    assert (witness.cause, witness.agrees) == ("asked-model", False)
    assert witness.evidence[2] == f"adds call 1 under {MODEL}, which was asked, not {OTHER}"


def test_an_answer_of_another_model_is_under_the_model_that_was_asked() -> None:
    call = answered(tokens(600, 60), served=OTHER)
    witness = held({MODEL: tokens(600, 60)}, call)
    assert (witness.cause, witness.residual) == ("asked-model", Tokens())
    apart = worth(tokens(600, 60)) - worth(tokens(600, 60), model=OTHER)
    assert witness.usd_residual == pytest.approx(apart)
    assert not held({"claude-haiku-4-5": tokens(600, 60)}, call).explained


def test_the_wires_dollars_at_the_asked_model_do_not_agree() -> None:
    call = answered(tokens(600_000, 60), served=OTHER)
    spent = worth(tokens(600_000, 60), model=OTHER)
    assert held({MODEL: tokens(600_000, 60)}, call, spent).cause == "dollars"


def test_a_refused_fallback_is_not_priced_but_counted() -> None:
    call = answered(tokens(600, 60), *FELL_BACK, served=OTHER, stop_reason="refusal")
    assert held({OTHER: tokens(600, 60)}, call, 0.0).cause == "iterations-left-out"
