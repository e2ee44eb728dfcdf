"""A cost without tokens: which rules lead to it, and that no other amount is explained."""

from dataclasses import replace
from typing import Any

import pytest

from correlate.reconcile.result import Finding
from correlate.reconcile.verdicts import ResidualCause
from correlate.reconcile.witnesses.printed_cost import explain_cost
from correlate.reconcile.witnesses.restarts import Selection
from lab.made_session import MadeSession
from tests.correlate.dollars import MODEL, worth

HAIKU, SONNET = "claude-haiku-4-5", "claude-sonnet-4-5"


def finding(number: int, output: int, **call: Any) -> Finding:
    made = MadeSession("5e551011").call(usage={"output_tokens": output}, **call)
    made = replace(made, sequence=number, usage_at_start={"output_tokens": 2, "input_tokens": 900})
    return Finding(verdict="match", kind="main", evidence=(), call=made)


def dollars(output: int, model: str = MODEL) -> float:
    return worth({"output_tokens": output}, model=model)


CALLS = [finding(1, 3_000), finding(2, 5_000), finding(3, 7_000, stream=False)]
LATER = Selection("one-run", "without call 2, 3, of a later run", frozenset({2, 3}))
STARTS = 2 * worth({"output_tokens": 2, "input_tokens": 900})


@pytest.mark.parametrize(
    ("usd", "cause", "said"),
    [
        (dollars(15_000), "none", "equals the wire in dollars"),
        (dollars(8_000), "calls-left-out", "without call 3, cut off or not streamed"),
        (dollars(3_000), "one-run", "without call 2, 3, of a later run"),
        (dollars(15_000, SONNET), "unknown", "cause unknown"),
        (dollars(15_000) + 1e-6, "unknown", "cause unknown"),
        (dollars(5_000), "unknown", "cause unknown"),
        (None, "unknown", "cause unknown"),
    ],
)
def test_a_cost_is_explained_by_rules_that_lead_to_it(
    usd: float | None, cause: ResidualCause, said: str
) -> None:
    found, evidence = explain_cost(usd, CALLS, [LATER])
    assert found == cause
    assert any(said in reason for reason in evidence)


def test_a_model_that_a_release_did_not_know_is_priced_as_another() -> None:
    call = finding(1, 15_000, model=HAIKU)
    found, evidence = explain_cost(dollars(15_000, SONNET), [call], ())
    assert found == "other-rates"
    assert f"prices haiku-4-5 at the rates of {SONNET}" in evidence


def test_old_releases_add_the_start_of_an_answer_to_its_end() -> None:
    streamed = CALLS[:2]
    found, evidence = explain_cost(dollars(8_000) + STARTS, streamed, ())
    assert (found, evidence[-1]) == (
        "starts-added",
        "adds the usage of message_start to the final one",
    )


def test_hour_long_writes_are_priced_as_short_ones_without_ages() -> None:
    usage = {
        "output_tokens": 5,
        "cache_creation_input_tokens": 50_000,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 50_000},
    }
    made = MadeSession("5e551011").call(usage=usage)
    call = Finding(verdict="match", kind="main", evidence=(), call=made)
    short = {name: count for name, count in usage.items() if name != "cache_creation"}
    assert explain_cost(worth(usage), [call], ())[0] == "none"
    found, evidence = explain_cost(worth(short), [call], ())
    assert (found, evidence[-1]) == ("other-rates", "prices all cache writes as those of 5 m")
