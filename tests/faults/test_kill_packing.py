"""SIGKILL while exchanges are packed, also on a full disk: what was finished stays as it was.

A hundred kills, or as many as CCWIRE_PACKING_KILLS says.
"""

import multiprocessing
import random
import time
from pathlib import Path

import orjson

from addon.recording.recovery import recover
from addon.storage.folder import CaptureStore
from addon.storage.packing.pack import unpack_session
from ccwire.wire.pack.files import exchange_files
from ccwire.wire.pack.reader import segments
from tests.faults import busy
from tests.faults.disk import Disk, disk
from tests.faults.folder import Filed, check, look
from tests.faults.sizes import size
from tests.rig import until

KILLS = size("CCWIRE_PACKING_KILLS", 100, 10_000)
A_ROUND = 20  # kills, after which the folder is a new one
LATER = time.time() + 3600


def test_no_kill_while_packing_loses_what_was_finished(tmp_path: Path) -> None:
    moments = random.Random(15)
    answers = 0
    for number in range(0, KILLS, A_ROUND):
        folder = tmp_path / str(number)
        folder.mkdir()
        with disk(folder, 64 << 20) as place:
            for kill in range(min(A_ROUND, KILLS - number)):
                _run_and_kill(place, moments, fill=kill % 5 == 4)
            answers += _check_answers(place.captures)
            packed = [s for s in busy.SESSIONS if segments(place.captures / s)]
            assert packed == list(busy.SESSIONS), "nothing was packed"
            _check_unpacked(place.captures)
    print(f"{KILLS} kills, {answers} answers")
    assert answers > KILLS


def _run_and_kill(place: Disk, moments: random.Random, *, fill: bool) -> None:
    """Start a capture, kill it at some moment, and check what it left."""
    captures = place.captures
    finished = look(captures)
    servers = multiprocessing.get_context("forkserver")
    servers.set_forkserver_preload(["__main__", "tests.faults.busy"])
    child = servers.Process(target=busy.run_packing, args=(str(captures),))
    child.start()
    assert child.pid is not None
    until(lambda: any(captures.glob("*/*.part")), 20)
    if fill:
        with place.full(child.pid):
            time.sleep(moments.uniform(0, 0.1))
            child.kill()
            child.join()
            _same(finished, look(captures))
    else:
        time.sleep(moments.uniform(0, 0.12))
        child.kill()
        child.join()
    left = look(captures)
    _same(finished, left)
    recover(CaptureStore(captures))
    _same(left, check(captures))


def _same(before: dict[str, Filed], after: dict[str, Filed]) -> None:
    """Check that every exchange that was finished has the files that it had."""
    for name in before.keys() - {"unknown"}:  # from there, exchanges move
        old, new = before[name], after[name]
        assert old.lines.items() <= new.lines.items()
        numbers = {f"{orjson.loads(line)['sequence']:04d}" for line in old.lines.values()}
        for file, data in old.files.items():
            if file.partition("_")[0] in numbers:
                assert new.files[file] == data, file


def _check_answers(captures: Path) -> int:
    """Check every complete answer against what was served; return their number."""
    count = 0
    for filed in look(captures).values():
        for name, data in filed.files.items():
            response = orjson.loads(data) if "_resp_" in name else {}
            if response.get("complete"):
                flow = response["flow_id"]
                events = [
                    f"event: {event['event']}\ndata: ".encode()
                    + orjson.dumps(event["data"])
                    + b"\n\n"
                    for event in response["body"]["events"]
                ]
                assert events == busy.events(flow)
                count += 1
    return count


def _check_unpacked(captures: Path) -> None:
    """Check that unpacking restores every file."""
    for name, filed in look(captures).items():
        if name != "unknown":
            unpack_session(captures / name, now=LATER)
            there = {path.name: path.read_bytes() for path in exchange_files(captures / name)}
            assert there == filed.files
