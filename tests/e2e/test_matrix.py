"""Every real client with every scenario, each run compared with the stand-in's ledger."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ccwire.demo.real.npm import NpmFailed, newest_version
from ccwire.demo.real.run import MADE_UP_KEY
from ccwire.demo.stand_in import scenarios
from correlate.reconcile.result import label
from tests.e2e.real_rig import NEWEST, VERSIONS, Outcome, RealRig, numbers, real_rig

pytestmark = pytest.mark.real

FORK_SINCE = (2, 0, 0)


@pytest.fixture(scope="module", params=VERSIONS)
def real(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealRig]:
    with real_rig(request.param, tmp_path_factory.mktemp("real")) as rig:
        yield rig


@pytest.mark.parametrize(
    "name", ["plain", "bash", "subagent", "three_subagents", "retry", "dropped"]
)
def test_every_call_is_captured_once_and_explained(real: RealRig, name: str) -> None:
    outcome = real.run(scenarios.named(name))
    account = real.check(outcome.session_id, outcome.served)
    verdicts = {label(finding) for finding in account.calls}
    if name in ("retry", "dropped"):
        assert "wire-only: retried" in verdicts
    if real.client.version == "2.1.39":
        turns = [f for f in account.calls if f.turn and f.call]
        assert {f.verdict for f in turns if f.call and f.call.stream} <= {"placeholder"}
    real.nothing_is_unknown()


def test_a_resumed_session_continues_in_its_folder(real: RealRig) -> None:
    first = real.run(scenarios.named("plain"))
    second = real.run(scenarios.named("bash"), "--resume", first.session_id)
    if second.session_id == first.session_id:
        real.check(first.session_id, [*first.served, *second.served])
    else:  # older clients resume into a new session that copies the old lines
        real.check(second.session_id, second.served)
        _no_turn_twice(real, first, second)


def test_a_fork_counts_no_inherited_turn_twice(real: RealRig) -> None:
    if numbers(real.client.version) < FORK_SINCE:
        first = real.run(scenarios.named("plain"), "--fork-session")
        assert "unknown option '--fork-session'" in first.run.stderr
        return
    first = real.run(scenarios.named("plain"))
    fork = real.run(scenarios.named("bash"), "--resume", first.session_id, "--fork-session")
    assert fork.session_id != first.session_id
    real.check(first.session_id, first.served)
    real.check(fork.session_id, fork.served)
    _no_turn_twice(real, first, fork)


def _no_turn_twice(real: RealRig, first: Outcome, second: Outcome) -> None:
    account = real.reconcile(second.session_id)
    inherited = {f.turn.message_id for f in account.turns_without_call if f.turn}
    assert {call.message_id for call in first.served} >= inherited
    assert {f.verdict for f in account.turns_without_call} <= {"inherited"}


def test_each_call_is_identified_as_its_version_allows(real: RealRig) -> None:
    outcome = real.run(scenarios.named("bash"))
    real.wait_for(outcome.served)
    lines = [e for name, e in real.captured() if name == outcome.session_id]
    by_kind: dict[str, set[str]] = {}
    for line in lines:
        by_kind.setdefault(line.kind, set()).add(line.identified_by)
    has_header = numbers(real.client.version) >= (2, 1, 86)
    assert by_kind["messages"] == {"header" if has_header else "user_id"}
    assert by_kind.get("count_tokens", set()) <= ({"header"} if has_header else {"process"})
    assert by_kind.get("statsig", set()) <= {"process"}
    real.nothing_is_unknown()


def test_two_clients_at_once_keep_to_their_own_folders(real: RealRig) -> None:
    scenario = scenarios.named("bash")
    real.api.scenario = scenario
    outcomes: list[Outcome] = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(real.run(scenario))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = [outcome.session_id for outcome in outcomes]
    assert len(set(ids)) == 2
    served = {call.request_id: call for outcome in outcomes for call in outcome.served}
    real.wait_for(list(served.values()))
    pids: dict[str, set[int | None]] = {}
    for name, exchange in real.captured():
        if name in ids:
            pids.setdefault(name, set()).add(exchange.pid)
        if exchange.request_id in served and exchange.kind == "messages":
            told = served[exchange.request_id].session_id
            assert told in (None, name)
    assert all(len(found) == 1 for found in pids.values())
    assert pids[ids[0]] != pids[ids[1]]
    real.nothing_is_unknown()


def test_ccwire_run_captures_and_reconciles(real: RealRig, tmp_path: Path) -> None:
    """The whole command, with only the environment variables that the client needs."""
    scenario = scenarios.named("bash")
    real.api.scenario = scenario
    before = len(real.api.ledger.messages())
    command = [sys.executable, "-m", "ccwire", "run", "--captures", str(tmp_path / "captures")]
    command += ["--upstream", real.api.url, "--", *real.client.command, "-p", scenario.prompt]
    command += ["--allowedTools", ",".join(scenario.tools)]
    environment = {
        "HOME": str(real.home),
        "PATH": "/usr/bin:/bin",
        "TERM": "xterm",
        "SHELL": "/bin/bash",
        "ANTHROPIC_API_KEY": MADE_UP_KEY,
        "DISABLE_AUTOUPDATER": "1",
        "CCWIRE_SESSIONS": str(tmp_path / "sessions.json"),
    }
    ran = subprocess.run(
        command,
        env=environment,
        cwd=real.cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "The command has run." in ran.stdout
    assert "all " in ran.stderr, ran.stderr
    assert MADE_UP_KEY not in ran.stderr
    served = real.api.ledger.messages()[before:]
    folders = [p for p in (tmp_path / "captures").iterdir() if p.is_dir() and p.name != "unknown"]
    assert [folder.name for folder in folders] == list({call.session_id for call in served})
    unknown = tmp_path / "captures" / "unknown" / "exchanges.jsonl"
    assert not unknown.exists() or not unknown.read_bytes()


def test_a_new_release_passes_or_is_reported(tmp_path: Path) -> None:
    """A failure with a release newer than the matrix is an expected failure with its version."""
    try:
        version = newest_version()
    except NpmFailed as error:
        pytest.skip(f"NOT RUN: npm is unreachable, so the newest release is unknown: {error}")
    if version == NEWEST:
        print(f"the newest release is {NEWEST}, which is in the matrix")
        return
    with real_rig(version, tmp_path) as rig:
        try:
            for name in ("plain", "three_subagents"):
                outcome = rig.run(scenarios.named(name))
                rig.check(outcome.session_id, outcome.served)
            rig.nothing_is_unknown()
        except (AssertionError, TimeoutError) as error:
            pytest.xfail(f"client {version} is new and differs: {error}")
