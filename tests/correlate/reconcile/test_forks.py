"""Which of two transcripts with the same answers is the copy."""

import os
from pathlib import Path

import pytest

from correlate.reconcile.forks import ForkOrigins
from correlate.transcript.locate import ClaudeDir
from correlate.transcript.reader import read_transcript
from lab.made_session import MadeSession, iso
from tests.correlate.reconcile.made import OTHER, SESSION

LONG_AGO = (1000, 1000)


def origins(claude: ClaudeDir) -> dict[str, list[str]]:
    forks = ForkOrigins({}, claude)
    found = {}
    for session_id in (OTHER, SESSION):
        files = claude.session(session_id)
        turns = read_transcript(files).turns
        found[session_id] = [origin.session_id for origin in forks.of(turns, files).values()]
    return found


@pytest.mark.parametrize("is_shown", [True, False])
def test_the_fork_is_the_copy(tmp_path: Path, is_shown: bool) -> None:
    parent = MadeSession(OTHER)
    parent.call()
    fork = MadeSession(SESSION, now=parent.now + 100)
    fork.lines = [{**line, "sessionId": SESSION} for line in parent.lines]
    if is_shown:  # newer clients write a line of the fork's own time first
        own = {"type": "queue-operation", "sessionId": SESSION, "timestamp": iso(fork.now)}
        fork.lines.insert(0, own)
    written, copy = parent.write(tmp_path), fork.write(tmp_path)
    os.utime(written, LONG_AGO)
    assert origins(ClaudeDir(tmp_path)) == {OTHER: [], SESSION: [OTHER]}
    if is_shown:  # also if the origin was continued after the fork
        os.utime(written)
        os.utime(copy, LONG_AGO)
        assert origins(ClaudeDir(tmp_path)) == {OTHER: [], SESSION: [OTHER]}
