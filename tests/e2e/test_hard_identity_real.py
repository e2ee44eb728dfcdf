"""Real clients whose session is hard to identify: nested, side by side, nameless, resumed."""

import json
import shlex
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from ccwire.demo.real.run import lab_home
from ccwire.demo.stand_in.scenario import (
    Answer,
    Rule,
    Scenario,
    Text,
    When,
    bash,
    overloaded,
    too_long,
)
from ccwire.demo.stand_in.scenarios import named
from ccwire.sessions.rows import session_rows
from correlate.captures.sessions import sessions_of
from tests.e2e.real_rig import RealRig, real_rig
from tests.rig import until

pytestmark = pytest.mark.real

NESTED = ("1.0.30", "1.0.100", "2.0.73", "2.1.325")
NAMELESS = ("0.2.126", "1.0.0", "1.0.30")
RESUMED = ("1.0.30", "2.1.139", "2.1.325")


def nested(real: RealRig) -> Scenario:
    """The model runs a command that starts another client, which runs a command of its own.

    The other client has no hooks, as behind `ccwire run`, which adds them to the first one only.
    """
    inner = [*real.client.command, "-p", "lab:inner please", "--output-format", "json"]
    inner += ["--allowedTools", "Bash"]
    script = real.home.parent / "inner.sh"
    script.write_text(f"{shlex.join(inner)} < /dev/null > {shlex.quote(str(script))}.out 2>&1\n")
    return Scenario(
        name="nested",
        prompt="lab:outer please",
        rules=(
            Rule(When(says="lab:outer", tools=True), (Answer((bash(f"sh {script}"),)),)),
            Rule(When(says="lab:inner", tools=True), (Answer((bash("echo inner"),)),)),
            Rule(When(after_tool=True), (Answer((Text("All done."),)),)),
        ),
        tools=("Bash",),
    )


def inner_session(real: RealRig) -> str:
    printed = (real.home.parent / "inner.sh.out").read_text()
    value = json.loads(printed.strip().splitlines()[-1])
    found = value[-1] if isinstance(value, list) else value
    assert isinstance(found["session_id"], str), printed
    return str(found["session_id"])


def check_processes(real: RealRig, sessions: Sequence[str]) -> None:
    """Check that each session has the calls of its own process, and `unknown/` has none."""
    captured = real.captured()
    assert {name for name, _ in captured} == set(sessions)
    found = {(name, exchange.pid) for name, exchange in captured}
    assert len(found) == len(sessions), found
    for session in sessions:
        account = real.reconcile(session)
        odd = [(f.verdict, f.kind, f.evidence) for f in account.findings if not f.explained]
        assert (odd, account.unexplained) == ([], 0)
        assert any(finding.call and finding.turn for finding in account.findings)


@pytest.mark.parametrize("version", NESTED)
def test_a_client_that_a_client_starts_has_its_own_session(version: str, tmp_path: Path) -> None:
    with real_rig(version, tmp_path) as real:
        outer = real.run(nested(real))
        inner = inner_session(real)
    assert outer.session_id != inner
    check_processes(real, [outer.session_id, inner])


TWO = Scenario(
    name="two",
    prompt="lab:two please",
    rules=(
        Rule(When(says="lab:two", tools=True), (overloaded(), Answer((bash("echo lab"),)))),
        Rule(When(after_tool=True), (Answer((Text("All done."),)),)),
    ),
    tools=("Bash",),
)


@pytest.mark.parametrize("version", ["1.0.30", "2.0.73", "2.1.325"])
def test_clients_side_by_side_keep_their_calls_apart(version: str, tmp_path: Path) -> None:
    """Two at once in one project, with one client folder."""
    with real_rig(version, tmp_path) as real, ThreadPoolExecutor() as pool:
        real.claude_dir.mkdir()
        # Older clients fail if two of them start with one .claude.json.
        second = lab_home(tmp_path / "second", real.cwd)
        (second / ".claude").symlink_to(real.claude_dir)
        homes = [real.home, second]
        runs = list(pool.map(lambda home: replace(real, home=home).run(TWO), homes))
        sessions = [outcome.session_id for outcome in runs]
    assert len(set(sessions)) == 2
    check_processes(real, sessions)


@pytest.mark.parametrize("version", NAMELESS)
def test_a_client_that_names_no_session_is_filed_by_its_transcript(
    version: str, tmp_path: Path
) -> None:
    with real_rig(version, tmp_path) as real:
        outcome = real.run(TWO)
        (session,) = [path.stem for path in real.claude_dir.rglob("*.jsonl")]
        if outcome.run.session_id is not None:
            assert outcome.session_id == session
        # The proxy still runs: the calls are filed while it is idle.
        until(lambda: (session, "message_id") in evidence(real))
    check_processes(real, [session])
    assert evidence(real) == {(session, "message_id"), (session, "process")}
    calls = [e for _, e in real.captured() if e.kind == "messages"]
    assert {e.request_id for e in calls} == {s.request_id for s in outcome.served}


@pytest.mark.parametrize("version", ["1.0.0", "1.0.30"])
def test_a_client_that_names_no_session_and_gets_no_answer_is_filed_too(
    version: str, tmp_path: Path
) -> None:
    scenario = Scenario(name="no", prompt="lab:no", rules=(Rule(When(), (too_long(),)),))
    with real_rig(version, tmp_path) as real:
        real.run(scenario)
        (session,) = [path.stem for path in real.claude_dir.rglob("*.jsonl")]
    assert {name for name, _ in real.captured()} == {session}
    assert real.reconcile(session).unexplained == 0


def evidence(real: RealRig) -> set[tuple[str, str]]:
    return {(name, exchange.identified_by) for name, exchange in real.captured()}


@pytest.mark.parametrize("version", RESUMED)
def test_a_continued_session_leaves_no_session_without_calls(version: str, tmp_path: Path) -> None:
    with real_rig(version, tmp_path) as real:
        first = real.run(named("plain")).session_id
        sessions = {first}
        for arguments in (["--continue"], ["--resume", first]):
            sessions.add(real.run(named("plain"), *arguments).session_id)
    folders = sessions_of(real.proxy.captures)
    listed = session_rows(folders, real.claude_dir, tmp_path / "sessions.json", every=True)
    rows = listed.rows
    assert {row.session_id: row.calls > 0 for row in rows} == dict.fromkeys(sessions, True)
    assert {name for name, _ in real.captured()} == sessions
    assert [real.reconcile(session).unexplained for session in sessions] == [0] * len(sessions)
