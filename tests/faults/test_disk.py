"""A disk that rejects writes: the client does not notice; the loss is logged once and counted."""

import errno
import gc
from pathlib import Path
from typing import IO

import orjson
import pytest

import addon.storage.folder
from addon.recording.queue import JobQueue
from addon.recording.recovery import recover
from addon.storage.files import write_all
from addon.storage.folder import CaptureStore
from ccwire.demo.stand_in import scenarios
from tests.faults import busy
from tests.faults.disk import Disk, disk
from tests.faults.folder import check
from tests.rig import Rig, messages_body, new_session, rig, until

PLAIN = scenarios.named("plain")
LARGE = {"system": "x" * 40_000}


@pytest.mark.parametrize("fault", ["full", "read_only"])
def test_a_disk_that_takes_nothing_costs_the_capture_and_not_the_client(
    tmp_path: Path, fault: str
) -> None:
    session = new_session()
    with disk(tmp_path) as small, rig(tmp_path, PLAIN, captures=small.captures) as wire:
        wire.ask(PLAIN, session, **LARGE)
        (before,) = wire.exchanges(session, 1)
        with small.full(wire.proxy.pid) if fault == "full" else small.read_only(session):
            for _ in range(3):
                _ask_and_compare(wire, session)
            until(lambda: b"could not be captured" in wire.proxy.log.read_bytes())
        _ask_and_compare(wire, session)
        lines = wire.exchanges(session, 2)
        until(lambda: _counted(small, session) == 5)  # each is recorded or counted as lost
        assert lines[0] == before
        assert all(line["complete"] for line in lines)
        wire.proxy.stop()
        assert wire.proxy.log.read_text().count("could not be captured") == 1
        check(small.captures)


def _ask_and_compare(wire: Rig, session: str) -> None:
    status, body = wire.post(messages_body(PLAIN.prompt, session, **LARGE))
    assert (status, body) == (200, b"".join(wire.api.ledger.messages()[-1].event_bytes))


def _counted(small: Disk, session: str) -> int:
    counts = orjson.loads((small.captures / session / "manifest.json").read_bytes())["counts"]
    assert counts["capture_errors"] > 0
    told: int = counts["exchanges"] + counts["capture_errors"]
    return told


class Outage:
    """From the `first` write until it is `over`, the disk accepts half of each write's data."""

    def __init__(self, first: int, lasts: int | None) -> None:
        self.over = False
        self._writes = 0
        self._failing = range(first, first + (lasts or 1000))

    def write_all(self, file: IO[bytes], data: bytes) -> None:
        self._writes += 1
        if self.over or self._writes not in self._failing:
            write_all(file, data)
            return
        write_all(file, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("first", range(1, 44))
@pytest.mark.parametrize("lasts", [1, None], ids=["one write", "until all have ended"])
def test_whichever_write_fails_every_exchange_is_recorded_or_counted_as_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int, lasts: int | None
) -> None:
    outage = Outage(first, lasts)
    monkeypatch.setattr(addon.storage.folder, "write_all", outage.write_all)
    captures = tmp_path / "captures"
    _capture(captures, outage, ends=lasts is None)
    gc.collect()  # a proxy that has ended holds no lock on a part file
    recover(CaptureStore(captures))
    held = check(captures)
    told = [orjson.loads(line) for filed in held.values() for line in filed.lines.values()]
    manifests = [orjson.loads(path.read_bytes()) for path in captures.glob("*/manifest.json")]
    lost = sum(manifest["counts"].get("capture_errors", 0) for manifest in manifests)
    assert len({line["flow_id"] for line in told}) == len(told)
    assert len(told) + lost >= 4
    assert lasts is None or sum(line["complete"] for line in told) >= 3


def _capture(captures: Path, outage: Outage, ends: bool) -> None:
    """Capture two exchanges of a session, between two exchanges without one."""
    recorder = busy.BusyRecorder(captures)
    writer = JobQueue(recorder, busy.process_of)
    session = busy.SESSIONS[0]
    for flow_id, name in (("a", None), ("b", session), ("c", session), ("d", None)):
        for job in busy.jobs(flow_id, name, process=100_001):
            writer.put(job)
    recorder.started.set()  # all of them in one batch
    until(lambda: recorder.ended == 4)
    outage.over = ends
    writer.close()
