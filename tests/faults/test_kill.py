"""SIGKILL at any moment: finished exchanges stay as they are, the rest is marked incomplete."""

import contextlib
import http.client
import multiprocessing
import random
import re
import threading
import time
from pathlib import Path

import orjson
import psutil

from addon.recording.recovery import recover
from addon.storage.folder import CaptureStore
from ccwire.demo.stand_in import scenarios
from tests.faults import busy
from tests.faults.folder import Filed, check, look
from tests.rig import Rig, messages_body, new_session, rig, until

KILLS = 50
_HEAD = re.compile(rb'\A\{\n"format".*?"direction"', re.DOTALL)


def test_fifty_kills_of_a_busy_capture_lose_nothing_that_was_finished(tmp_path: Path) -> None:
    moments = random.Random(8)
    captures = tmp_path / "captures"
    servers = multiprocessing.get_context("forkserver")
    servers.set_forkserver_preload(["__main__", "tests.faults.busy"])
    numbers: dict[tuple[str, int], str] = {}
    for _ in range(KILLS):
        child = servers.Process(target=busy.run, args=(str(captures),))
        child.start()
        # From the start of the capture; sometimes after the first index was written.
        until(lambda: any(captures.glob("*/*.part")), 20)
        time.sleep(moments.uniform(0, 0.12))
        child.kill()
        child.join()
        left = look(captures)
        recover(CaptureStore(captures))
        held = check(captures)
        _nothing_finished_has_changed(left, held)
        _no_number_has_two_owners(held, numbers)
    _every_answer_says_what_it_should(captures)


def test_three_kills_of_a_real_proxy_lose_nothing_that_was_finished(tmp_path: Path) -> None:
    sessions = [new_session() for _ in range(4)]
    scenario = scenarios.named("stream:deltas=30,delay=0.002")
    told: dict[str, bytes] = {}
    for kill in range(3):
        with rig(tmp_path, scenario, tmp_path / "mitmproxy") as wire:
            threads = [threading.Thread(target=_ask_on, args=(wire, s)) for s in sessions * 2]
            for thread in threads:
                thread.start()
            until(lambda: _told(wire, sessions[0]) > 4 * (kill + 1), 30)  # noqa: B023
            if kill != 1:  # else its writer process continues and finishes its files
                for writer in psutil.Process(wire.proxy.pid).children():
                    writer.kill()
            wire.proxy.kill()
            for thread in threads:
                thread.join()
        left = look(wire.captures)
        for session in sessions:
            assert told.items() <= {**told, **left[session].lines}.items()
            told |= left[session].lines
    with rig(tmp_path, scenario, tmp_path / "mitmproxy"):
        pass
    held = check(wire.captures)
    _nothing_finished_has_changed(left, held)
    lines = [line for session in sessions for line in held[session].lines.items()]
    assert told.items() <= dict(lines).items()


def _ask_on(wire: Rig, session: str) -> None:
    """Make one call after the other until the proxy is dead."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        while True:
            wire.post(messages_body("go on", session))


def _told(wire: Rig, session: str) -> int:
    path = wire.captures / session / "exchanges.jsonl"
    return len(path.read_bytes().splitlines()) if path.exists() else 0


def _nothing_finished_has_changed(left: dict[str, Filed], held: dict[str, Filed]) -> None:
    places = {flow: name for name, filed in held.items() for flow in filed.lines}
    assert len(places) == sum(len(filed.lines) for filed in held.values()), "told in two places"
    for name, filed in left.items():
        for flow, line in filed.lines.items():
            number = orjson.loads(line)["sequence"]
            files = {k: v for k, v in filed.files.items() if int(k.partition("_")[0]) == number}
            new = held[places[flow]]
            if places[flow] == name:
                assert new.lines[flow] == line
                assert {file: new.files[file] for file in files} == files
            else:  # recovery finished an interrupted move: only the first lines differ
                assert name == "unknown"
                number = orjson.loads(new.lines[flow])["sequence"]
                for file, data in files.items():
                    moved = new.files[f"{number:04d}_{file.partition('_')[2]}"]
                    assert _HEAD.sub(b"", moved) == _HEAD.sub(b"", data)


def _no_number_has_two_owners(held: dict[str, Filed], numbers: dict[tuple[str, int], str]) -> None:
    for name, filed in held.items():
        for flow, line in filed.lines.items():
            place = name, orjson.loads(line)["sequence"]
            assert numbers.setdefault(place, flow) == flow


def _every_answer_says_what_it_should(captures: Path) -> None:
    whole = 0
    responses = (
        orjson.loads(data)
        for filed in look(captures).values()
        for name, data in filed.files.items()
        if "_resp_" in name
    )
    for file in responses:
        said = "".join(block["text"] for block in (file["message"] or {}).get("content", ()))
        assert busy.text_of(file["flow_id"]).startswith(said)
        if file["complete"]:
            whole += 1
            assert said == busy.text_of(file["flow_id"])
            assert file["message"]["usage"]["output_tokens"] == 41
    assert whole > KILLS
