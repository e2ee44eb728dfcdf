"""A clock that jumps: durations are never negative, and sequence numbers keep the order."""

import gc
import random
import time
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from addon.recording.jobs import Answered, Begun, Chunk
from addon.recording.queue import JobQueue
from addon.recording.recovery import recover
from addon.storage.folder import CaptureStore
from ccwire.cli import main
from tests.faults import busy
from tests.faults.folder import check

DAY = 86_400.0


@pytest.fixture
def jumpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jump by up to a day in either direction at each call, and sometimes to 1970."""
    jumps, real = random.Random(8), time.time

    def now() -> float:
        return 0.5 if jumps.random() < 0.05 else real() + jumps.uniform(-DAY, DAY)

    monkeypatch.setattr(time, "time", now)


@pytest.fixture
def captures(tmp_path: Path, jumpy: None) -> Path:
    captures = tmp_path / "captures"
    recorder = busy.BusyRecorder(captures)
    recorder.started.set()
    writer = JobQueue(recorder, busy.process_of)
    for number in range(20):
        for job in busy.jobs(f"flow-{number}", busy.SESSIONS[0]):
            writer.put(job)
    writer.close()
    return captures


def test_no_duration_is_negative_and_numbers_tell_the_order(captures: Path) -> None:
    held = check(captures)[busy.SESSIONS[0]]
    lines = [orjson.loads(line) for line in held.lines.values()]
    assert [line["flow_id"] for line in lines] == [f"flow-{n}" for n in range(20)]
    assert [line["sequence"] for line in lines] == list(range(1, 21))
    assert all(line["first_byte_ms"] >= 0 for line in lines)
    responses = [orjson.loads(data) for name, data in held.files.items() if "_resp_" in name]
    assert all(response["timing"]["seconds"] >= 0 for response in responses)
    assert all(e["at_ms"] >= 0 for response in responses for e in response["body"]["events"])


def test_a_kill_on_such_a_day_is_recovered_from(captures: Path) -> None:
    store = CaptureStore(captures)
    recorder = busy.BusyRecorder(captures)
    recorder.started.set()
    recorder.handle(Begun(busy.request("cut", busy.SESSIONS[0])))
    recorder.handle(Answered("cut", busy.response()))
    for event in busy.events("cut")[:4]:
        recorder.handle(Chunk("cut", time.time(), event))
    recorder.settle()
    del recorder
    gc.collect()  # which releases its lock on the part file
    assert recover(store) == 1
    cut = orjson.loads(check(captures)[busy.SESSIONS[0]].lines["cut"])
    assert (cut["complete"], cut["ended_by"]) == (False, "proxy_stopped")
    assert cut["usage_at_start"]["output_tokens"] == 2


@pytest.mark.parametrize(
    "command",
    ["sessions", "reconcile --all", "reconcile latest -v", "diff latest", "report latest"],
)
def test_every_reader_copes(captures: Path, tmp_path: Path, command: str) -> None:
    places = ["--captures", str(captures), "--claude-dir", str(tmp_path / "claude")]
    extra = ["-o", str(tmp_path / "page.html")] if command.startswith("report") else []
    ran = CliRunner().invoke(main, [*command.split(), *places, *extra])
    assert ran.exit_code in (0, 1), ran.output
    assert ran.exception is None or isinstance(ran.exception, SystemExit)
