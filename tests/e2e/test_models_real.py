"""Real clients and the money: answers of several models, and sums that restart at a resume."""

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ccwire.demo.real.run import environment
from ccwire.demo.stand_in.ledger import Served
from ccwire.demo.stand_in.scenario import Answer, Filler, Rule, Scenario, When, bash
from ccwire.demo.stand_in.scenarios import OTHER_MODEL, named
from ccwire.wire.models import base_model
from ccwire.wire.usage import Tokens
from correlate.reconcile.result import Reconciliation, Witness
from correlate.reconcile.session import SessionReconciler
from correlate.reconcile.totals import totals_of
from correlate.reconcile.witnesses.client_totals import result_totals
from correlate.transcript.locate import ClaudeDir
from tests.e2e.real_rig import NEWEST, RealRig, client_or_skip, numbers, real_rig
from tests.rig import until

pytestmark = pytest.mark.real

VERSIONS = ("2.1.39", "2.1.168", "2.1.290", NEWEST)
_ADVISORS_COUNTED = (2, 1, 86)
_SAVES_A_SUM = (2, 1, 277)
_OPUS_PRICED_SONNET = "2.1.39"


def reconciled(
    real: RealRig, session_id: str, served: Sequence[Served], result: Mapping[str, Any] | None
) -> Reconciliation:
    real.wait_for(served)
    captures = real.proxy.captures
    reconciler = SessionReconciler(captures, ClaudeDir(real.claude_dir))
    told = result_totals(result) if result else None
    return reconciler.reconcile(captures / session_id, result=told)


def billed(served: Sequence[Served]) -> dict[str, Tokens]:
    """What the ledger bills by model: each iteration, else the whole usage."""
    found: dict[str, Tokens] = {}
    for call in served:
        usage = call.usage or call.start_usage or {}
        for part in usage.get("iterations") or [usage]:
            model = base_model(part.get("model") or call.model or "unknown")
            found[model] = found.get(model, Tokens()) + Tokens.of_top_level(part)
    return found


def causes(session: Reconciliation) -> set[str]:
    return {witness.cause for witness in session.witnesses}


def rules(witnesses: Sequence[Witness]) -> str:
    return " ".join(reason for witness in witnesses for reason in witness.evidence)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_model_of_an_answer_is_billed_and_the_client_counts_by_a_known_rule(
    version: str, tmp_path: Path
) -> None:
    counts_advisors = numbers(version) >= _ADVISORS_COUNTED
    expected = {
        "advisor": (
            "iterations-left-out" if counts_advisors else "advisors-left-out",
            "without the later iterations of call" if counts_advisors else "advisor's iteration",
        ),
        "compaction_iteration": ("iterations-left-out", "without the compaction of call"),
        "fallback_model": ("asked-model", f"which was asked, not {OTHER_MODEL}"),
        "plain": ("none", ""),
    }
    with real_rig(version, tmp_path) as real:
        for name, (cause, rule) in expected.items():
            outcome = real.run(named(name))
            result = outcome.run.result_json
            session = reconciled(real, outcome.session_id, outcome.served, result)
            assert totals_of(session).wire.tokens == billed(outcome.served), name
            assert session.unexplained == 0, (name, rules(session.witnesses))
            names = ["cost-state", "result"] if numbers(version) >= _SAVES_A_SUM else ["result"]
            assert [witness.name for witness in session.witnesses] == names
            if version == _OPUS_PRICED_SONNET:
                cause = "other-rates"
            assert causes(session) == {cause}, (name, rules(session.witnesses))
            assert rule in rules(session.witnesses)


def test_a_session_of_an_older_release_is_summed_from_its_resume_on(tmp_path: Path) -> None:
    with real_rig("2.1.168", tmp_path) as real:
        first = real.run(named("plain"))
        real.client = client_or_skip(NEWEST)
        for _ in range(2):
            again = real.run(named("plain"), "--resume", first.session_id)
            assert again.session_id == first.session_id
            served = [*first.served, *again.served]
            session = reconciled(real, first.session_id, served, again.run.result_json)
            assert causes(session) == {"restarted"}, rules(session.witnesses)
            assert "of Claude Code 2.1.168, after which no cost-state" in rules(session.witnesses)
            assert session.unexplained == 0


def test_an_older_release_sums_up_one_run_in_its_result(tmp_path: Path) -> None:
    with real_rig("2.1.168", tmp_path) as real:
        first = real.run(named("plain"))
        again = real.run(named("plain"), "--resume", first.session_id)
        served = [*first.served, *again.served]
        session = reconciled(real, first.session_id, served, again.run.result_json)
        assert causes(session) == {"one-run"}, rules(session.witnesses)


@pytest.mark.parametrize("version", ["2.1.290", NEWEST])
def test_what_a_killed_client_added_is_in_no_later_sum(version: str, tmp_path: Path) -> None:
    with real_rig(version, tmp_path) as real:
        first = real.run(named("plain"))
        _killed(real, "--resume", first.session_id)
        session = reconciled(real, first.session_id, first.served, None)
        assert causes(session) == {"written-earlier"}, rules(session.witnesses)
        again = real.run(named("plain"), "--resume", first.session_id)
        served = [*first.served, *again.served]
        session = reconciled(real, first.session_id, served, again.run.result_json)
        assert causes(session) == {"restarted"}, rules(session.witnesses)
        assert session.unexplained == 0


def _killed(real: RealRig, *arguments: str) -> None:
    """Run a turn of two calls, and kill the client in the middle of the second."""
    prompt = "lab:kill This is a prompt of the lab, please go ahead."
    slow = Answer((Filler(400),), event_delay=0.05)
    real.api.scenario = Scenario(
        name="kill",
        prompt=prompt,
        rules=(
            Rule(When(says="lab:kill", tools=True), (Answer((bash("echo hi"),)),)),
            Rule(When(after_tool=True), (slow,)),
        ),
        tools=("Bash",),
    )
    before = len(real.api.ledger.messages())
    settings = ["--settings", json.dumps(real.hooks)] if real.hooks else []
    command = [*real.client.command, "-p", prompt, *arguments, "--allowedTools", "Bash", *settings]
    with subprocess.Popen(
        command,
        env=environment(real.home, real.proxy.port, real.proxy.ca_cert),
        cwd=real.cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            until(lambda: _is_between(real, before), 30)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    real.api.ledger.wait()
    until(lambda: not list(real.proxy.captures.rglob("*.part")), 20)


def _is_between(real: RealRig, before: int) -> bool:
    """Whether the transcript has the first answer, and the second is under way."""
    answered = [call.message_id for call in real.api.ledger.messages()[before:] if call.tools]
    lines = "".join(path.read_text() for path in real.claude_dir.glob("projects/*/*.jsonl"))
    under_way = list(real.proxy.captures.rglob("*resp_v1_messages*.part"))
    return bool(answered and under_way) and (answered[0] or "?") in lines
