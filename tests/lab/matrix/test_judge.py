"""The judge: a pair is right only if captures, accounts and money are those of the ledger."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ccwire.demo.stand_in.scenarios import named
from lab.matrix.case import Case, Print
from lab.matrix.evidence import Outcome, keep_outcome, pair_folder
from lab.matrix.judge import Verdict, judge
from tests.lab.matrix.made_pair import CASE, VERSION, made_pair, made_session, served

BASH = Case(name=CASE, steps=(Print(scenario=named("bash")),), calls=2)


def verdict(pair: Path, case: Case = BASH) -> Verdict:
    found = judge(pair, case)
    assert found is not None
    return found


def test_equal_books_are_right(tmp_path: Path) -> None:
    found = verdict(made_pair(tmp_path, made_session()))
    assert found == Verdict(VERSION, CASE, "right", seconds=2.5)


def test_a_pair_without_an_outcome_was_not_run(tmp_path: Path) -> None:
    assert judge(tmp_path, BASH) is None


def test_what_the_release_lacks_and_what_did_not_run_is_not_judged(tmp_path: Path) -> None:
    folder = pair_folder(tmp_path, VERSION, CASE)
    keep_outcome(tmp_path, Outcome(version=VERSION, case=CASE, lacks="no option --x"))
    assert (verdict(folder).mark, verdict(folder).reason) == ("not known", "no option --x")
    keep_outcome(tmp_path, Outcome(version=VERSION, case=CASE, problem="did not exit"))
    assert (verdict(folder).mark, verdict(folder).reason) == ("not run", "did not exit")


def test_fewer_calls_than_the_play_is_about_are_no_proof(tmp_path: Path) -> None:
    found = verdict(made_pair(tmp_path, made_session(1)))
    assert found.mark == "not run"
    assert found.reason == "made 1 of 2 calls and exited with code 0"


def test_a_served_call_that_was_not_captured_is_wrong(tmp_path: Path) -> None:
    made = made_session()
    made.left_out.add(2)
    assert "a messages call was captured 0 times" in verdict(made_pair(tmp_path, made)).reason


def test_a_call_whose_client_left_before_the_answer_counts_as_captured(tmp_path: Path) -> None:
    made = made_session()
    made.call(in_transcript=False, complete=False, ended_by="client_disconnect", message_id=None)
    gone: dict[str, Any] = dict.fromkeys(("request_id", "status", "usage", "usage_at_start"))
    left = made.exchanges[-1] = replace(made.exchanges[-1], **gone)
    assert left.ended is not None
    before = [served(exchange) for exchange in made.exchanges[:2]]
    # The stand-in reads the request a moment later, and believes that it was answered.
    unaware: dict[str, Any] = {"status": 200, "usage": {"output_tokens": 5}, "events": 0}
    late = served(left, request_id="req_late", started=left.ended + 0.5, **unaware)
    assert verdict(made_pair(tmp_path, made, [*before, late])).mark == "right"
    others: list[dict[str, Any]] = [
        {"started": left.ended + 9},
        {"body_bytes": left.request_bytes + 1},
    ]
    for other in others:
        late = served(left, request_id="req_late", **other)
        found = verdict(made_pair(tmp_path, made, [*before, late]))
        assert "captured 0 times" in found.reason


def test_a_captured_call_that_was_not_served_is_wrong(tmp_path: Path) -> None:
    made = made_session(3)
    calls = [served(exchange) for exchange in made.exchanges[:2]]
    assert "a captured call was not served" in verdict(made_pair(tmp_path, made, calls)).reason


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"session_id": "another"}, "a call is not in the session that it names"),
        ({"status": 201}, "status 200 in place of 201"),
        ({"usage": {"input_tokens": 1}}, "captured usage differs from the ledger"),
        ({"start_usage": {"input_tokens": 1}}, "captured start usage differs from the ledger"),
    ],
)
def test_a_call_captured_otherwise_than_served_is_wrong(
    tmp_path: Path, changed: dict[str, Any], reason: str
) -> None:
    made = made_session()
    first, second = made.exchanges
    found = verdict(made_pair(tmp_path, made, [served(first, **changed), served(second)]))
    assert found.mark == "wrong"
    assert reason in found.reason


def test_a_call_that_no_line_explains_is_wrong(tmp_path: Path) -> None:
    made = made_session()
    made.call(in_transcript=False)
    assert verdict(made_pair(tmp_path, made)).reason == "unexplained wire-only: unknown"


def test_a_printed_cost_of_other_dollars_is_wrong(tmp_path: Path) -> None:
    found = verdict(made_pair(tmp_path, made_session(), total_cost_usd=9.0))
    assert found.mark == "wrong"
    assert found.reason == "unexplained witness result"


def test_tokens_of_the_clients_own_that_nothing_explains_are_wrong(tmp_path: Path) -> None:
    usage = {"claude-opus-5-5": {"inputTokens": 1, "outputTokens": 2}}
    pair = made_pair(tmp_path, made_session(), total_cost_usd=0.0, modelUsage=usage)
    assert "unexplained witness result" in verdict(pair).reason


def test_a_case_that_expects_a_label_is_right_only_with_it(tmp_path: Path) -> None:
    pair = made_pair(tmp_path, made_session())
    case = Case(name=CASE, steps=BASH.steps, expects=("wire-only: retried", "match"))
    assert verdict(pair, case).mark == "right"
    case = Case(name=CASE, steps=BASH.steps, expects=("wire-only: retried",))
    assert verdict(pair, case).reason == "no wire-only: retried"
