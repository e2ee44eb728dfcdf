"""The writer process, with real processes: what it writes, and what happens when one ends."""

import logging
import os
import pickle
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
from addon.recording import process as writer_process
from addon.recording.jobs import Ended, Lost
from addon.recording.process import RemoteSink
from addon.recording.queue import JobQueue
from addon.recording.recorder import Recorder
from addon.recording.start import CapturePaths
from ccwire.demo.stand_in import scenarios
from tests.faults import busy
from tests.faults.folder import check
from tests.rig import rig, until

SESSION = busy.SESSIONS[0]


def _refuse(*given: object, **more: object) -> None:
    raise BlockingIOError(11, "Resource temporarily unavailable")


def _no_memory(*given: object) -> bytes:
    raise MemoryError


@pytest.fixture
def paths(tmp_path: Path) -> CapturePaths:
    return CapturePaths(tmp_path / "captures", tmp_path / "sessions.json", tmp_path / "claude")


class Pipeline:
    """A writer thread and its process."""

    def __init__(self, paths: CapturePaths, limit: int = 1 << 28) -> None:
        self.captures = paths.captures
        self.sink = RemoteSink(paths)
        self.writer = JobQueue(self.sink, busy.process_of, limit=limit)

    @property
    def pid(self) -> int:
        return self.sink._process.pid

    def exchange(self, flow_id: str, *, process: int = 0, upto: int | None = None) -> None:
        for job in busy.jobs(flow_id, SESSION, process=process)[:upto]:
            self.writer.put(job)

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
    assert wire.sink._process.returncode == 0


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
    wire.sink._pipe.close()  # as the system does when a process ends
    assert wire.sink._process.wait(10) == 0
    check(wire.captures)
    lines = wire.lines()
    assert (lines["cut"]["ended_by"], lines["cut"]["complete"]) == ("proxy_stopped", False)
    assert lines["whole"]["complete"]
    assert wire.gaps(SESSION) == [("recovered", "the proxy was killed")]
    assert not list((wire.captures / SESSION).glob("*.part"))


def test_when_it_is_killed_another_takes_over(
    wire: Pipeline, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer_process, "_RESTART_SECONDS", 0.0)
    wire.exchange("cut", upto=5)
    until(wire.has_part)
    first = wire.pid
    os.kill(first, signal.SIGKILL)
    wire.sink._process.wait()
    wire.writer.put(Ended("cut", time.time(), "http_end", None))  # nobody reads this
    until(lambda: wire.pid != first)
    wire.exchange("next")
    wire.writer.close()
    check(wire.captures)
    lines = wire.lines()
    assert (lines["cut"]["ended_by"], lines["cut"]["complete"]) == ("proxy_stopped", False)
    assert lines["next"]["complete"]
    assert ("capture_error", "ChildProcessError: the writer process was ended") in wire.gaps(
        "unknown"
    )
    assert "the writer process was ended" in caplog.text


def test_one_that_was_ended_young_is_started_again_a_little_later(wire: Pipeline) -> None:
    wire.exchange("before")
    until(lambda: (wire.captures / SESSION / "exchanges.jsonl").exists())
    wire.sink._started = time.monotonic()  # young
    first = wire.pid
    os.kill(first, signal.SIGKILL)
    wire.sink._process.wait()
    wire.exchange("lost")
    time.sleep(0.1)
    assert wire.pid == first
    number = 0
    while wire.pid == first:
        number += 1
        assert number < 100
        wire.exchange(f"lost-{number}")
        time.sleep(0.1)
    wire.exchange("after")
    wire.writer.close()
    check(wire.captures)
    assert {"before", "after"} <= wire.lines().keys()
    gap = "capture_error", "ChildProcessError: the writer process was ended"
    assert gap in wire.gaps("unknown")


def test_where_it_cannot_live_the_proxy_writes_itself_and_nothing_is_lost(
    paths: CapturePaths, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    wire = Pipeline(paths)
    for number in range(5):
        wire.exchange(f"flow-{number}", process=4000 + number)
    wire.writer.close()
    check(wire.captures)
    assert [line["pid"] for line in wire.lines().values()] == [4000 + n for n in range(5)]
    assert "could not start the writer process" in caplog.text


def test_where_it_cannot_be_started_again_the_proxy_writes_itself(
    wire: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.exchange("cut", upto=5)
    until(wire.has_part)
    monkeypatch.setattr(writer_process, "_RESTART_SECONDS", 0.0)
    monkeypatch.setattr(subprocess, "Popen", _refuse)
    os.kill(wire.pid, signal.SIGKILL)
    wire.sink._process.wait()
    wire.exchange("lost")
    until(lambda: wire.sink._local is not None)
    wire.exchange("after")
    wire.writer.close()
    check(wire.captures)
    assert not wire.lines()["cut"]["complete"]
    assert wire.lines()["after"]["complete"]
    gap = "capture_error", "ChildProcessError: the writer process was ended"
    assert gap in wire.gaps("unknown")


def test_a_batch_too_large_for_memory_is_recorded_as_lost(
    wire: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.exchange("cut", upto=4)
    until(wire.has_part)
    with monkeypatch.context() as patched:
        patched.setattr(pickle, "dumps", _no_memory)
        for job in busy.jobs("cut", SESSION)[4:]:
            wire.writer.put(job)
        until(lambda: not wire.sink._batch or isinstance(wire.sink._batch[0], Lost))
        time.sleep(0.1)
    wire.writer.put(Ended("cut", time.time(), "http_end", None))
    wire.exchange("after")
    wire.writer.close()
    check(wire.captures)
    assert (wire.lines()["cut"]["complete"], wire.lines()["after"]["complete"]) == (False, True)
    assert wire.gaps(SESSION)


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


def test_a_reader_that_breaks_off_ends_the_process(wire: Pipeline) -> None:
    wire.exchange("cut", upto=5)
    until(wire.has_part)
    wire.sink._pipe.write(writer_process._SIZE.pack(1000) + b"half")
    wire.sink._pipe.close()
    assert wire.sink._process.wait(10) == 0
    assert wire.lines()["cut"]["ended_by"] == "proxy_stopped"
    assert any(
        "the proxy was killed while it was sending" in detail for _, detail in wire.gaps("unknown")
    )


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
    assert isinstance(capture._sink(paths), Recorder)
    assert "could not start the writer process" in caplog.text


def test_a_frozen_program_has_no_python_to_start(
    paths: CapturePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert isinstance(capture._sink(paths), Recorder)
