"""The thread and outcome of each call, and where a thread lost its cache."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from correlate.reconcile.result import Finding
from correlate.reconcile.verdicts import FindingKind
from correlate.report.threads import MAIN, SIDE, Lane, cache_drops, lane_of, lanes_of, outcome_of
from lab.made_session import MadeSession
from tests.correlate.report.made import small_session

SESSION = "6f1c2d3e-0000-4000-8000-000000000002"


def finding(read: int, written: int = 0, **more: Any) -> Finding:
    made = MadeSession(SESSION)
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
    }
    exchange = {"sequence": 1, **more}
    call = made.call(in_transcript=False, usage=usage, **exchange)
    return Finding(verdict="match", kind="main", evidence=(), call=call)


def test_the_main_thread_goes_first_then_side_calls_then_agents(tmp_path: Path) -> None:
    account = small_session().reconcile(tmp_path)
    assert lanes_of(account.findings, {"a1b2c3d4e5": "Explore"}) == (
        Lane(MAIN, "main"),
        Lane(SIDE, "side calls"),
        Lane("a1b2c3d4e5", "Explore a1b2c"),
    )


def test_an_agent_of_unknown_type_goes_by_its_id(tmp_path: Path) -> None:
    account = small_session().reconcile(tmp_path)
    assert lanes_of(account.findings, {})[-1] == Lane("a1b2c3d4e5", "a1b2c3d4e5")
    cleaned = lanes_of(account.findings, {}, lambda text: text.replace("a1b2c3d4e5", "-" * 20))
    assert cleaned[-1].name == "-" * 16


def test_a_failed_side_call_stays_beside_the_conversation() -> None:
    call = finding(0, request_class="auxiliary").call
    failed = Finding(verdict="wire-only", kind="failed", evidence=(), call=call)
    assert lane_of(failed) == SIDE


@pytest.mark.parametrize(
    ("kind", "call", "outcome"),
    [
        ("main", {}, "answered"),
        ("retried", {"status": 529}, "retried"),
        ("aborted", {"complete": False}, "aborted"),
        ("failed", {"status": None}, "failed"),
        ("auxiliary", {"status": 500}, "failed"),
        ("main", {"complete": False}, "cut"),
    ],
)
def test_how_a_call_went(kind: FindingKind, call: dict[str, Any], outcome: str) -> None:
    exchange = finding(0, **call).call
    found = Finding(verdict="wire-only", kind=kind, evidence=(), call=exchange)
    assert outcome_of(found) == outcome


def test_a_cache_that_grows_is_no_drop() -> None:
    calls = [finding(0, 20_000, sequence=1), finding(20_000, 500, sequence=2)]
    assert cache_drops(calls, ()) == frozenset()


def test_finding_less_than_half_of_it_is_a_drop() -> None:
    calls = [finding(12_000, 8_000, sequence=1), finding(9_999, 500, sequence=2)]
    assert cache_drops(calls, ()) == {2}


def test_a_compaction_between_is_no_drop() -> None:
    calls = [
        finding(12_000, 8_000, sequence=1, started=100.0),
        finding(100, 500, sequence=2, started=200.0),
    ]
    assert cache_drops(calls, (150.0,)) == frozenset()
    assert cache_drops(calls, (50.0, 250.0)) == {2}


def test_each_thread_and_model_has_a_cache_of_its_own() -> None:
    calls = [
        finding(12_000, 8_000, sequence=1),
        finding(0, 500, sequence=2, agent_id="a1"),
        finding(0, 500, sequence=3, model="claude-haiku-4-5"),
        finding(20_000, sequence=4),
    ]
    assert cache_drops(calls, ()) == frozenset()


def test_what_is_too_short_to_be_cached_cannot_drop() -> None:
    calls = [finding(0, 1_000, sequence=1), finding(0, 0, sequence=2)]
    assert cache_drops(calls, ()) == frozenset()


def test_a_call_without_usage_is_passed_over() -> None:
    without = finding(0, sequence=2)
    assert without.call is not None
    calls = [
        finding(12_000, 8_000, sequence=1),
        replace(without, call=replace(without.call, usage=None, usage_at_start=None)),
        finding(20_000, sequence=3),
    ]
    assert cache_drops(calls, ()) == frozenset()
