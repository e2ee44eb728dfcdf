"""The client's sum after a resume: which calls are in no `cost-state`, and the proof of it."""

from pathlib import Path
from typing import Any

import pytest

from ccwire.wire.usage import Tokens
from correlate.reconcile.result import Reconciliation, Witness
from correlate.reconcile.session import SessionReconciler, TranscriptWait
from correlate.reconcile.witnesses.client_totals import ClientTotals
from correlate.transcript.locate import ClaudeDir
from lab.made_session import MadeSession, made_usage
from tests.correlate.dollars import MODEL, worth

SESSION = "11111111-2222-4333-8444-555555555555"
OLD: dict[str, Any] = {"pid": 1, "claude_version": "2.1.168"}
NEW: dict[str, Any] = {"pid": 2, "claude_version": "2.1.325"}
NEXT: dict[str, Any] = {"pid": 3, "claude_version": "2.1.325"}


def save(made: MadeSession, *numbers: int) -> None:
    """Write a cost-state with the sum of these calls."""
    usages = [made.exchanges[number - 1].usage or {} for number in numbers]
    total = sum(map(Tokens.of, usages), Tokens())
    made.cost_state(worth(*usages), {MODEL: total.to_client()})


def reconcile(
    made: MadeSession, folder: Path, result: ClientTotals | None = None
) -> Reconciliation:
    made.write(folder / "claude", folder / "captures")
    claude = ClaudeDir(folder / "claude")
    reconciler = SessionReconciler(folder / "captures", claude, TranscriptWait(tries=0))
    return reconciler.reconcile(folder / "captures" / SESSION, result=result)


def witness(made: MadeSession, folder: Path) -> Witness:
    (found,) = reconcile(made, folder).witnesses
    return found


def test_a_release_without_cost_state_is_in_no_later_sum(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(output=1_000, **OLD)
    made.call(output=2_000, **NEW)
    save(made, 2)
    found = witness(made, tmp_path)
    assert (found.cause, found.agrees, found.explained) == ("restarted", False, True)
    assert found.evidence == (
        "equals the wire by a rule of the client",
        "restarted: without call 1 of Claude Code 2.1.168, after which no cost-state was written"
        " before the session was resumed",
        f"${-worth(made_usage(1, 1_000)):+.4f} against the wire",
    )


def test_the_sum_of_a_resumed_client_that_saved_one_does_not_restart(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(output=1_000, **OLD)
    save(made, 1)
    made.call(output=2_000, **NEW)
    save(made, 2)
    assert not witness(made, tmp_path).explained


def test_what_a_killed_client_added_is_lost_with_its_side_calls(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(output=1_000, **OLD)
    save(made, 1)
    made.call(output=2_000, **NEW)
    made.call(output=50, in_transcript=False, request_class="auxiliary", tools=0, **NEW)
    made.call(output=3_000, **NEXT)
    save(made, 1, 4)
    found = witness(made, tmp_path)
    assert (found.cause, found.explained) == ("restarted", True)
    assert "without call 2, 3 of Claude Code 2.1.325" in found.evidence[1]


def test_half_of_a_killed_clients_calls_is_no_explanation(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(output=1_000, **OLD)
    made.call(output=1_500, **OLD)
    made.call(output=2_000, **NEW)
    save(made, 2, 3)
    assert not witness(made, tmp_path).explained


def test_a_killed_client_may_have_saved_some_of_its_calls(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(output=1_000, **OLD)
    save(made, 1)
    made.call(output=1_500, **OLD)
    made.call(output=2_000, **NEW)
    save(made, 1, 3)
    found = witness(made, tmp_path)
    assert found.cause == "restarted"
    assert "without call 2 of" in found.evidence[1]


def test_calls_after_the_last_cost_state_are_in_none(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(output=1_000, **OLD)
    save(made, 1)
    made.call(output=2_000, **NEW)
    found = witness(made, tmp_path)
    assert (found.cause, found.agrees, found.explained) == ("written-earlier", False, True)


def test_a_call_before_the_last_cost_state_of_its_client_must_be_in_it(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(output=1_000, **OLD)
    made.call(output=2_000, **OLD)
    save(made, 1)
    assert not witness(made, tmp_path).explained


def result_of(made: MadeSession, *numbers: int) -> ClientTotals:
    usages = [made.exchanges[number - 1].usage or {} for number in numbers]
    return ClientTotals("result", {MODEL: sum(map(Tokens.of, usages), Tokens())}, worth(*usages))


@pytest.mark.parametrize(
    ("counted", "cause", "said"),
    [
        ((1, 2, 3), "none", "equals the wire exactly"),
        ((2, 3), "one-run", "counts call 2, 3 alone: the result of 2.1.325 is of one run"),
        ((2,), "unknown", "cause unknown"),  # call 3 has a line, so that it had ended
        ((1,), "one-run", "without call 2, 3, of a later run"),
        ((3,), "unknown", "cause unknown"),
        ((1, 2), "unknown", "cause unknown"),
    ],
)
def test_a_result_counts_one_run(
    tmp_path: Path, counted: tuple[int, ...], cause: str, said: str
) -> None:
    made = MadeSession(SESSION)
    made.call(output=1_000, **OLD)
    made.call(output=2_000, **NEW)
    made.call(output=3_000, **NEW)
    (found,) = reconcile(made, tmp_path, result_of(made, *counted)).witnesses
    assert found.cause == cause
    assert any(said in reason for reason in found.evidence)


def test_a_result_may_lack_side_calls_that_ended_later(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(output=1_000, **OLD)
    made.call(output=2_000, **NEW)
    made.call(output=3_000, in_transcript=False, request_class="auxiliary", **NEW)
    (found,) = reconcile(made, tmp_path, result_of(made, 2)).witnesses
    assert found.cause == "one-run"
    assert "is of one run, up to the calls that had ended" in " ".join(found.evidence)


def test_calls_of_the_same_process_under_another_session_are_in_its_result(tmp_path: Path) -> None:
    """A client that continues a session may make its first calls under an id of its own."""
    first = MadeSession("99999999-2222-4333-8444-555555555555")
    first.call(output=4_000, **NEW)
    first.call(output=9_000, **NEXT)
    first.write_capture(tmp_path / "captures")
    made = MadeSession(SESSION)
    made.call(output=1_000, **OLD)
    made.call(output=2_000, **NEW)
    usages = [made.exchanges[1].usage or {}, first.exchanges[0].usage or {}]
    tokens = sum(map(Tokens.of, usages), Tokens())
    told = ClientTotals("result", {MODEL: tokens}, worth(*usages))
    (found,) = reconcile(made, tmp_path, told).witnesses
    assert (found.cause, found.explained) == ("one-run", True)
    said = "counts call 2 alone and 1 of the same process under another session"
    assert any(said in reason for reason in found.evidence)
    (found,) = reconcile(made, tmp_path, result_of(made, 1, 2)).witnesses
    assert found.cause == "none"


def test_a_run_beside_another_one_is_not_dropped_for_having_no_line(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(output=1_000, **NEW)
    made.call(output=2_000, in_transcript=False, request_class="auxiliary", **NEXT)
    made.call(output=3_000, **NEW)
    save(made, 1, 3)
    assert witness(made, tmp_path).cause == "unknown"
