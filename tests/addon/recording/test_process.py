"""The writer process, with real processes: what it writes, and what happens when one ends."""

import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import psutil
import pytest

from addon import capture
from addon.identity.processes import ProcessResolver
from addon.recording import process as writer_process
from addon.recording.jobs import Chunk, Ended, Job
from addon.recording.journal import folder as journal_folder
from addon.recording.process import JournalQueue
from addon.recording.queue import JobQueue
from addon.recording.start import CapturePaths
from ccwire.demo.stand_in import scenarios
from tests.addon.recording.journal.journals import owner_of
from tests.faults import busy
from tests.faults.folder import check
from tests.rig import rig, until

SESSION = busy.SESSIONS[0]


def _refuse(*given: object, **more: object) -> None:
    raise BlockingIOError(11, "Resource temporarily unavailable")


@pytest.fixture
def paths(tmp_path: Path) -> CapturePaths:
    return CapturePaths(tmp_path / "captures", tmp_path / "sessions.json", tmp_path / "claude")


class Pipeline:
    """A journal and its writer process."""

    def __init__(self, paths: CapturePaths, limit: int = 1 << 28) -> None:
        self.captures = paths.captures
        self.writer = JournalQueue(paths, owner_of, limit=limit)

    @property
    def pid(self) -> int:
        return self.writer._process.pid

    @property
    def journal(self) -> Path:
        return self.writer._folder.path

    def put(self, job: Job) -> None:
        if isinstance(job, Chunk):
            self.writer.tee(job.flow_id)(job.data)
        else:
            self.writer.put(job)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.writer._process.wait(10)

    def exchange(self, flow_id: str, *, process: int = 0, upto: int | None = None) -> None:
        for job in busy.jobs(flow_id, SESSION, process=process)[:upto]:
            self.put(job)

    def lines(self) -> dict[str, dict[str, object]]:
        path = self.captures / SESSION / "exchanges.jsonl"
        found = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        return {line["flow_id"]: line for line in found}

    def gaps(self, session: str) -> list[tuple[str, str]]:
        manifest = orjson.loads((self.captures / session / "manifest.json").read_bytes())
        return [(gap["kind"], gap["detail"]) for gap in manifest["gaps"]]

    def has_part(self) -> bool:
        parts = (self.captures / SESSION).glob("*.part")
        return any(b"message_start" in part.read_bytes() for part in parts)


@pytest.fixture
def wire(paths: CapturePaths) -> Iterator[Pipeline]:
    made = Pipeline(paths)
    yield made
    made.writer.close()


def test_jobs_are_recorded(wire: Pipeline, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    for number in range(20):
        wire.exchange(f"flow-{number}", process=4000 + number)
    wire.writer.close()
    held = check(wire.captures)[SESSION]
    assert [*held.lines] == [f"flow-{n}" for n in range(20)]
    assert [line["pid"] for line in wire.lines().values()] == [4000 + n for n in range(20)]
    said = [record.getMessage() for record in caplog.records if "claude-sonnet" in record.message]
    assert len(said) == 20
    assert f"  {SESSION[:8]}  messages  " in said[0]
    assert ":ccwire:" not in said[0]
    assert not wire.journal.exists()


def test_signals_are_for_the_proxy(wire: Pipeline) -> None:
    wire.exchange("before")
    until(lambda: (wire.captures / SESSION / "exchanges.jsonl").exists())
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(wire.pid, name)
    wire.exchange("after")
    wire.writer.close()
    assert [*wire.lines()] == ["before", "after"]


def test_when_the_proxy_is_killed_its_files_are_finished(wire: Pipeline) -> None:
    wire.exchange("whole")
    wire.exchange("cut", upto=5)
    until(wire.has_part)
    wire.writer._process.close()  # as the system does when a process ends
    assert wire.writer._process.wait(10) == 0
    check(wire.captures)
    lines = wire.lines()
    assert (lines["cut"]["ended_by"], lines["cut"]["complete"]) == ("proxy_stopped", False)
    assert lines["whole"]["complete"]
    assert wire.gaps(SESSION) == [("recovered", "the proxy was killed")]
    assert not list((wire.captures / SESSION).glob("*.part"))
    assert not wire.journal.exists()


def test_when_it_is_killed_another_takes_over_and_nothing_is_lost(
    wire: Pipeline, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer_process, "_RESTART_SECONDS", 0.0)
    wire.exchange("before")
    wire.exchange("cut", upto=5)
    until(wire.has_part)
    first = wire.pid
    wire.kill()
    for job in busy.jobs("cut", SESSION)[5:]:
        wire.put(job)
    wire.exchange("meanwhile")
    until(lambda: wire.pid != first)
    wire.exchange("next")
    wire.writer.close()
    check(wire.captures)
    assert [line["complete"] for line in wire.lines().values()] == [True] * 4
    assert {line["flow_id"]: line["sequence"] for line in wire.lines().values()}["cut"] == 2
    assert not wire.gaps(SESSION)
    assert "the writer process exited with code -9; restarting it" in caplog.text


def test_kills_between_any_two_writes_record_each_exchange_once(
    paths: CapturePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_process, "_RESTART_SECONDS", 0.0)
    wire = Pipeline(paths)
    for number in range(12):
        wire.exchange(f"flow-{number}")
        time.sleep(0.02 * (number % 4))
        before = wire.pid
        wire.kill()
        until(lambda: wire.pid != before)  # noqa: B023
    wire.writer.close()
    check(wire.captures)
    assert sorted(wire.lines()) == sorted(f"flow-{number}" for number in range(12))
    assert all(line["complete"] for line in wire.lines().values())
    assert not wire.gaps(SESSION)


def test_when_both_are_killed_the_next_start_records_the_journal(paths: CapturePaths) -> None:
    wire = Pipeline(paths)
    os.kill(wire.pid, signal.SIGSTOP)  # nothing reaches the disk
    wire.exchange("whole", process=4711)
    wire.exchange("cut", upto=5)
    _abandon(wire)
    after = Pipeline(paths)
    after.writer.close()
    check(wire.captures)
    lines = wire.lines()
    assert (lines["whole"]["complete"], lines["whole"]["pid"]) == (True, 4711)
    assert (lines["cut"]["ended_by"], lines["cut"]["complete"]) == ("proxy_stopped", False)
    assert wire.gaps(SESSION) == [("recovered", "the proxy was killed")]
    assert not wire.journal.exists()


def _abandon(wire: Pipeline) -> None:
    """Leave everything as kills of proxy and writer process at the same time would."""
    wire.writer._is_closing = True
    wire.writer._wake()
    wire.writer._thread.join(10)
    wire.kill()
    wire.writer._folder.close()


def test_one_that_was_ended_young_is_started_again_a_little_later(
    wire: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_process, "_RESTART_SECONDS", 0.3)
    wire.writer._started = time.monotonic()  # young
    first = wire.pid
    wire.kill()
    wire.exchange("meanwhile")
    time.sleep(0.1)
    assert wire.pid == first
    until(lambda: wire.pid != first)
    wire.writer.close()
    check(wire.captures)
    assert wire.lines()["meanwhile"]["complete"]


def test_where_it_cannot_live_the_proxy_writes_itself_and_nothing_is_lost(
    paths: CapturePaths, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer_process, "_RESTART_SECONDS", 0.0)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    wire = Pipeline(paths)
    for number in range(5):
        wire.exchange(f"flow-{number}", process=4000 + number)
    until(lambda: wire.writer._local is not None)
    wire.exchange("after", process=4005)
    wire.writer.close()
    check(wire.captures)
    assert [line["pid"] for line in wire.lines().values()] == [4000 + n for n in range(6)]
    assert "could not start the writer process" in caplog.text
    assert not wire.journal.exists()


def test_where_it_cannot_be_started_again_the_proxy_writes_itself(
    wire: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.exchange("cut", upto=5)
    until(wire.has_part)
    monkeypatch.setattr(writer_process, "_RESTART_SECONDS", 0.0)
    monkeypatch.setattr(subprocess, "Popen", _refuse)
    wire.kill()
    until(lambda: wire.writer._local is not None)
    wire.exchange("after")
    for job in busy.jobs("cut", SESSION)[5:]:
        wire.put(job)
    wire.writer.close()
    check(wire.captures)
    assert wire.lines()["cut"]["complete"]
    assert wire.lines()["after"]["complete"]


def test_a_journal_that_was_removed_is_replaced(
    wire: Pipeline, caplog: pytest.LogCaptureFixture
) -> None:
    wire.exchange("before")
    until(lambda: not list(wire.journal.glob("*.0")) and wire.captures.exists())
    first = wire.journal
    shutil.rmtree(first)
    wire.exchange("lost")
    until(lambda: wire.journal != first)
    wire.exchange("after")
    wire.writer.close()
    check(wire.captures)
    lines = wire.lines()
    assert [lines[flow]["complete"] for flow in ("before", "lost", "after")] == [True, False, True]
    assert wire.gaps(SESSION) == [("capture_error", "disk too slow")]
    assert "the journal was removed" in caplog.text


def test_one_that_is_killed_again_and_again_is_started_less_often(
    wire: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_process, "_RESTART_SECONDS", 0.05)
    seconds = []
    for _ in range(6):
        before = wire.pid
        started = wire.writer._started
        wire.kill()
        until(lambda: wire.pid != before)  # noqa: B023
        seconds.append(wire.writer._started - started)
    assert wire.writer._short_lives == 6
    assert seconds[5] >= 0.4  # 0.05 s, doubled three times


def test_an_error_in_the_thread_does_not_end_it(
    wire: Pipeline, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(wire.writer._journal, "complete", _refuse)
        wire.exchange("first")
        until(lambda: "could not be recorded (BlockingIOError)" in caplog.text)
    wire.exchange("second")
    wire.writer.close()
    assert [line["complete"] for line in wire.lines().values()] == [True, True]


def test_one_that_dies_at_the_end_loses_nothing(wire: Pipeline) -> None:
    wire.exchange("whole")
    wire.kill()
    wire.writer._is_closing = True
    wire.writer.close()
    check(wire.captures)
    assert wire.lines()["whole"]["complete"]


def test_the_folder_it_is_started_in_has_no_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for name in ("queue", "secrets", "logging", "types", "click", "orjson"):
        (project / f"{name}.py").write_text("raise SystemExit('the module of a project')\n")
    monkeypatch.chdir(project)
    with rig(tmp_path, scenarios.named("plain")) as wire:
        wire.ask(scenarios.named("plain"), SESSION)
        assert wire.exchanges(SESSION, 1)[0]["complete"]
        assert len(psutil.Process(wire.proxy.pid).children()) == 1


def test_a_stopped_process_blocks_nobody_and_the_loss_is_recorded(
    paths: CapturePaths,
) -> None:
    wire = Pipeline(paths, limit=400_000)
    wire.exchange("before")
    until(lambda: (wire.captures / SESSION / "exchanges.jsonl").exists())
    os.kill(wire.pid, signal.SIGSTOP)
    wire.exchange("flood", upto=2)
    tee = wire.writer.tee("flood")
    chunk = busy.events("flood")[2]
    started = time.monotonic()
    for _ in range(30_000):
        tee(chunk)
    assert time.monotonic() - started < 5
    wire.writer.put(Ended("flood", time.time(), "http_end", None))
    os.kill(wire.pid, signal.SIGCONT)
    wire.writer.close()
    check(wire.captures)
    line = wire.lines()["flood"]
    assert (line["complete"], line["ended_by"]) == (False, "proxy_stopped")
    assert wire.gaps(SESSION) == [("capture_error", "disk too slow")]


def test_where_no_process_can_be_started_the_proxy_writes_itself(
    paths: CapturePaths, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(subprocess, "Popen", _refuse)
    assert isinstance(_queue(paths), JobQueue)
    assert "could not start the writer process" in caplog.text


def test_a_frozen_program_has_no_python_to_start(
    paths: CapturePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert isinstance(_queue(paths), JobQueue)


def test_without_a_memory_file_system_the_proxy_writes_itself(
    paths: CapturePaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_folder, "MEMORY", tmp_path)  # on a disk
    assert isinstance(_queue(paths), JobQueue)
    assert not list(tmp_path.glob("ccwire-*"))


def _queue(paths: CapturePaths) -> JobQueue | JournalQueue:
    made = capture._queue(paths, ProcessResolver(lambda client, proxy: None))
    made.close()
    return made
