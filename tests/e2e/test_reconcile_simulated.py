"""Reconcile the simulated client behind the real proxy, against the stand-in's ledger."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ccwire.demo.client.simulated import SimulatedClient
from ccwire.demo.stand_in.scenario import Scenario
from ccwire.demo.stand_in.scenarios import named
from ccwire.wire.usage import Tokens
from correlate.captures.folder import read_exchanges
from correlate.reconcile.result import Reconciliation, counted
from correlate.reconcile.session import SessionReconciler, TranscriptWait
from correlate.reconcile.totals import totals_of
from correlate.transcript.locate import ClaudeDir
from tests.rig import Rig, rig, until

VERSIONS = ("1.0.100", "2.0.73", "2.1.39", "2.1.78", "2.1.139", "2.1.274", "2.1.325")


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with rig(tmp_path_factory.mktemp("simulated"), named("plain")) as made:
        yield made


@pytest.fixture
def home(wire: Rig, tmp_path: Path) -> Path:
    return tmp_path / "home"


def client(wire: Rig, home: Path, version: str, **more: Any) -> SimulatedClient:
    cwd = home.parent / "project"
    cwd.mkdir(exist_ok=True)
    port, ca_cert = wire.proxy.port, wire.proxy.ca_cert
    return SimulatedClient(version, home=home, cwd=cwd, proxy_port=port, ca_cert=ca_cert, **more)


def run(wire: Rig, made: SimulatedClient, scenario: Scenario) -> str:
    wire.api.scenario = scenario
    made.run(scenario.prompt)
    return made.session_id


def reconcile(wire: Rig, home: Path, session: str) -> Reconciliation:
    """Wait until every call served for the session is captured, then reconcile it."""
    wire.api.ledger.wait()
    served = {call.request_id for call in wire.api.ledger.messages(session)}
    folder = wire.captures / session
    until(lambda: served <= {exchange.request_id for exchange in read_exchanges(folder)})
    reconciler = SessionReconciler(
        wire.captures, ClaudeDir(home / ".claude"), TranscriptWait(tries=0)
    )
    return reconciler.reconcile(folder)


def billed(wire: Rig, session: str) -> Tokens:
    served = wire.api.ledger.messages(session)
    return sum((Tokens.of(call.usage or call.start_usage) for call in served), Tokens())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["subagent", "mix", "cached"])
def test_wire_totals_equal_the_ledger_and_nothing_is_unexplained(
    wire: Rig, home: Path, version: str, name: str
) -> None:
    session = run(wire, client(wire, home, version), named(name))
    found = reconcile(wire, home, session)
    assert totals_of(found).wire.total == billed(wire, session)
    assert [finding for finding in found.findings if not finding.explained] == []
    assert found.unexplained == 0
    if (version, name) == ("2.1.39", "subagent"):
        assert {f.verdict for f in found.calls if f.turn} == {"placeholder"}


def test_the_wires_cost_equals_the_clients(wire: Rig, home: Path) -> None:
    made = client(wire, home, "2.1.325")
    session = run(wire, made, named("cached"))
    totals = totals_of(reconcile(wire, home, session))
    assert totals.cost_state is not None
    assert totals.wire.usd == totals.cost_state.usd == made.result()["total_cost_usd"]


def test_a_fork_counts_no_inherited_turn(wire: Rig, home: Path) -> None:
    first = run(wire, client(wire, home, "2.1.325"), named("bash"))
    fork = run(wire, client(wire, home, "2.1.325", resume=first, fork=True), named("plain"))
    found = reconcile(wire, home, fork)
    assert {turn.verdict for turn in found.turns_without_call} == {"inherited"}
    assert totals_of(found).transcript.total == billed(wire, fork)
    assert found.unexplained == 0


def test_a_compaction_and_an_interruption_are_explained(wire: Rig, home: Path) -> None:
    wire.api.scenario = named("compact")
    with client(wire, home, "2.1.325", screen=True) as made:
        made.prompt(named("compact").prompt)
        made.compact()
        wire.api.scenario = named("slow:deltas=40,delay=0.01")
        made.prompt(named("slow").prompt, interrupt_after=6)
    found = reconcile(wire, home, made.session_id)
    assert found.unexplained == 0
    kinds = counted(found.findings)
    assert kinds["wire-only: compaction"] >= 1
    assert any(finding.call and not finding.call.complete for finding in found.calls)


def test_without_persistence_there_is_no_transcript(wire: Rig, home: Path) -> None:
    session = run(wire, client(wire, home, "2.1.325", persist=False), named("plain"))
    found = reconcile(wire, home, session)
    assert {finding.kind for finding in found.calls} == {"no-transcript"}
    assert found.unexplained == 0
