"""The totals of calls by a cloud: which price list applies, and what the client's own gives."""

from dataclasses import replace
from pathlib import Path

import pytest

from ccwire.wire.format import Exchange
from correlate.reconcile.result import Finding, Reconciliation
from correlate.reconcile.totals import price_note, totals_of
from correlate.transcript.records import AssistantLine, typed
from correlate.transcript.turns import Turn
from lab.made_session import MadeSession
from tests.correlate.folding import fold

USAGE = {"input_tokens": 100_000, "output_tokens": 0}
STREAM = "invoke-with-response-stream"
SONNET = "anthropic.claude-sonnet-4-5-20250929-v1:0"


def called(model: str, path: str) -> tuple[Exchange, Turn]:
    made = MadeSession("5e551011")
    call = made.call(usage=USAGE, model=model, path=path)
    line = typed(made.lines[0], Path("t"), 1, 0)
    assert isinstance(line, AssistantLine)
    (turn,) = fold([line])
    return call, replace(turn, model="claude-sonnet-4-5-20250929")


def session(*calls: tuple[Exchange, Turn]) -> Reconciliation:
    findings = tuple(
        Finding(verdict="match", kind="main", evidence=(), call=call, turn=turn)
        for call, turn in calls
    )
    return Reconciliation(session_id="s", claude_versions=(), calls=findings, turns_without_call=())


def test_a_region_of_bedrock_has_its_own_prices_and_a_note() -> None:
    wire = totals_of(session(called(f"us.{SONNET}", f"/model/us.{SONNET}/{STREAM}"))).wire
    assert wire.usd == pytest.approx(0.33)
    assert wire.anthropic_usd == pytest.approx(0.3)
    assert list(wire.tokens) == ["claude-sonnet-4-5-20250929"]
    assert price_note(wire) == (
        "priced by the list of aws; by Anthropic's list, which the client uses, it is $0.3000"
    )


def test_equal_prices_are_said_to_be_equal() -> None:
    wire = totals_of(session(called(f"global.{SONNET}", f"/model/global.{SONNET}/{STREAM}"))).wire
    assert wire.usd == wire.anthropic_usd
    assert price_note(wire) == "priced by the list of aws, which equals Anthropic's"


def test_anthropics_own_prices_need_no_note() -> None:
    wire = totals_of(session(called("claude-sonnet-4-5-20250929", "/v1/messages"))).wire
    assert (wire.price_lists, price_note(wire)) == (("anthropic",), None)


def test_a_profile_is_priced_by_the_model_in_the_transcript() -> None:
    profile = "arn:aws:bedrock:us-east-1:1:application-inference-profile/ab12"
    made = session(called(profile, "/model/arn%3Aaws%3Abedrock%3Ax/invoke"))
    wire = totals_of(made).wire
    assert wire.usd == pytest.approx(0.3)
    assert (wire.price_lists, wire.unpriced) == (("anthropic",), ())
