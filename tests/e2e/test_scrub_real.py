"""Scrubbed sessions of the real client contain none of its text and reconcile the same."""

from pathlib import Path

import pytest

from ccwire.demo.stand_in import scenarios
from tests.correlate.scrub.checks import (
    assert_no_word_left,
    assert_same_but_for_ids,
    reconcile,
    scrub,
    session_paths,
    snapshot,
)
from tests.e2e.real_rig import VERSIONS, RealRig, real_rig
from tests.rig import until

pytestmark = pytest.mark.real


@pytest.mark.parametrize("version", VERSIONS)
def test_a_real_session_keeps_its_account_and_loses_its_words(version: str, tmp_path: Path) -> None:
    with real_rig(version, tmp_path / "rig", keep_open="all") as real:
        first = _run(real, "mix")
        sessions = [first, _run(real, "three_subagents")]
        if version == VERSIONS[-1]:
            sessions.append(_run(real, "bash", "--resume", first, "--fork-session"))
    captures, claude_dir = real.proxy.captures, real.claude_dir
    everything = [path for s in sessions for path in session_paths(captures, claude_dir, s)]
    for session in sessions:
        target = tmp_path / "copies" / session
        copied = scrub(captures, claude_dir, session, target)
        theirs = target / "captures", target / "claude", copied.session_id
        assert_same_but_for_ids(reconcile(captures, claude_dir, session), reconcile(*theirs))
        sources = session_paths(captures, claude_dir, session)
        assert snapshot(session_paths(*theirs)) == snapshot(sources)
        assert_no_word_left(everything, target)


def _run(real: RealRig, scenario: str, *arguments: str) -> str:
    outcome = real.run(scenarios.named(scenario), *arguments)
    real.wait_for(outcome.served)
    until(lambda: (real.proxy.captures / outcome.session_id / "manifest.json").exists())
    return outcome.session_id
