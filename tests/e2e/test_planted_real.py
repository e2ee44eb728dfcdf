"""Faults planted into sessions of real clients: each one stays unexplained."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ccwire.demo.stand_in.scenarios import named
from correlate.reconcile.result import label
from correlate.reconcile.session import SessionReconciler
from correlate.transcript.locate import ClaudeDir
from tests.e2e.planted import FAULTS, Copy
from tests.e2e.real_rig import real_rig

pytestmark = pytest.mark.real

RELEASES = ("1.0.100", "2.0.73", "2.1.39", "2.1.168", "2.1.325")


@dataclass(frozen=True)
class Recorded:
    """Two sessions of one release: a conversation with a command, and another."""

    captures: Path
    claude_dir: Path
    first: str
    second: str


@pytest.fixture(scope="module", params=RELEASES)
def recorded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Recorded]:
    folder = tmp_path_factory.mktemp("planted")
    with real_rig(request.param, folder, keep_open="all") as real:
        ids = []
        for name in ("bash", "plain"):
            outcome = real.run(named(name))
            real.check(outcome.session_id, outcome.served)
            ids.append(outcome.session_id)
        captures, claude_dir = real.proxy.captures, real.claude_dir
    yield Recorded(captures, claude_dir, *ids)
    shutil.rmtree(folder)


def test_every_planted_fault_is_found(recorded: Recorded, tmp_path: Path) -> None:
    missed = []
    for name, plant in FAULTS.items():
        into = tmp_path / name.replace(" ", "-")
        a, b = (_copy(recorded, session, into) for session in (recorded.first, recorded.second))
        expected = plant(a, b)
        reconciler = SessionReconciler(into / "captures", ClaudeDir(into / "claude"))
        session = reconciler.reconcile(a.folder)
        found = {label(finding) for finding in session.findings if not finding.explained}
        if found != expected or not session.unexplained:
            missed.append((name, found, expected))
    assert missed == []


def test_more_than_a_hundred_are_planted() -> None:
    assert len(RELEASES) * len(FAULTS) > 100


def _copy(recorded: Recorded, session: str, into: Path) -> Copy:
    transcript = next(recorded.claude_dir.rglob(f"{session}.jsonl"))
    return Copy.of(recorded.captures / session, transcript, into)
