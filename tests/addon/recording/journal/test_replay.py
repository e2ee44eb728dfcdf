"""A journal is replayed after any kill: each exchange is in one index, once, with both files."""

import os
import traceback
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from addon.recording.jobs import Chunk, Job
from addon.recording.journal import replay
from addon.recording.journal.append import Journal
from addon.recording.journal.folder import JournalFolder
from addon.recording.journal.replay import JournalRecorder, drain, take_over
from addon.recording.start import CapturePaths
from tests.addon.recording.journal.journals import owner_of
from tests.addon.sudden_death import Killed, killed_after
from tests.faults import busy
from tests.faults.folder import check

SESSION = busy.SESSIONS[0]
KILLED = 9


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(replay, "_SETTLE_SECONDS", 0.0)
    return monkeypatch


class Killable:
    """The journal of a proxy, and writer processes that are killed at a moment."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root.mkdir()
        self.paths = CapturePaths(root / "captures", root / "sessions.json", root / "claude")
        self.folder = JournalFolder.create(self.paths.captures)
        self._journal = Journal(self.folder.path, lambda: None, owner_of)
        self._monkeypatch = monkeypatch

    def put(self, *jobs: Job) -> None:
        for job in jobs:
            if isinstance(job, Chunk):
                self._journal.tee(job.flow_id)(job.data)
            else:
                self._journal.put(job)

    def write(self, moment: int) -> bool:
        """Record the journal in another process; return whether it was not killed before."""
        child = os.fork()
        if not child:
            try:
                with killed_after(self._monkeypatch, moment):
                    folder = JournalFolder.join(self.folder.path)
                    recording = JournalRecorder(folder, take_over(self.paths, folder))
                    recording.step()
                    recording.step()
                    recording.finish()
                folder.remove()
            except Killed:
                os._exit(KILLED)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, KILLED)
        return code == 0

    def end(self) -> None:
        self._journal.close()
        self.folder.close()


def exchanges_of_one_client(made: Killable) -> None:
    """The first one is moved to the session that the second one names; the last one is cut."""
    made.put(*busy.jobs("waits", None, process=4711))
    made.put(*busy.jobs("named", SESSION, process=4711))
    made.put(*busy.jobs("cut", SESSION, process=4711)[:5])


def check_each_once(made: Killable) -> dict[str, set[str]]:
    """Check the folder; return the flows of each session that has any."""
    held = check(made.paths.captures)
    lines = [orjson.loads(line) for filed in held.values() for line in filed.lines.values()]
    assert sorted(line["flow_id"] for line in lines) == ["cut", "named", "waits"]
    assert [line["flow_id"] for line in lines if not line["complete"]] == ["cut"]
    assert not made.folder.path.exists()
    return {name: set(filed.lines) for name, filed in held.items() if filed.lines}


def the_same_proxy(made: Killable) -> None:
    assert made.write(10**6)


def the_next_proxy(made: Killable) -> None:
    made.end()
    take_over(made.paths, None).close()


def the_proxy_that_stops(made: Killable) -> None:
    made.end()
    drain(made.paths, made.folder)


@pytest.mark.parametrize("finish", [the_same_proxy, the_next_proxy, the_proxy_that_stops])
def test_after_a_kill_at_any_moment_each_exchange_is_recorded_once(
    tmp_path: Path, at_once: pytest.MonkeyPatch, finish: Callable[[Killable], None]
) -> None:
    for moment in range(0, 1000, 2 if finish is the_same_proxy else 3):
        made = Killable(tmp_path / str(moment), at_once)
        exchanges_of_one_client(made)
        survived = made.write(moment)
        if not survived:
            finish(made)
        made.end()
        assert check_each_once(made) == {SESSION: {"cut", "named", "waits"}}
        if survived:
            break
    assert moment > 50


@pytest.mark.parametrize("first", [45, 90])
def test_so_it_is_if_the_next_writer_is_killed_too(
    tmp_path: Path, at_once: pytest.MonkeyPatch, first: int
) -> None:
    for second in range(0, 1000, 4):
        made = Killable(tmp_path / str(second), at_once)
        exchanges_of_one_client(made)
        assert not made.write(first)
        survived = made.write(second)
        if not survived:
            the_same_proxy(made)
        made.end()
        check_each_once(made)
        if survived:
            break
    assert second > 50
