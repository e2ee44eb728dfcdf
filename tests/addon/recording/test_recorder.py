import errno
import gzip
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from addon.identity.processes import ClientProcess
from addon.recording.jobs import Chunk, Failed, Lost
from addon.storage.folder import CaptureStore
from tests.addon.full_disk import FullDisk, full_disk
from tests.addon.recording.recorders import START, STOP, RecorderRig, open_rig

KEY = "sk-ant-api03-MADEUPsecret_0001-AA"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[RecorderRig]:
    with open_rig(tmp_path) as rig:
        yield rig


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[FullDisk]:
    with full_disk(monkeypatch) as disk:
        yield disk


def test_an_exchange_is_two_files_a_line_and_a_count(rig: RecorderRig) -> None:
    rig.whole("f-1", "s-1")
    assert rig.names("s-1") == [
        "0001_req_v1_messages.json",
        "0001_resp_v1_messages.json",
        "exchanges.jsonl",
        "manifest.json",
    ]
    request = rig.file("s-1", "0001_req_v1_messages.json")
    assert [*request][-1] == "body"
    assert request["client"] == {"address": "127.0.0.1", "port": 5000, "pid": None}
    response = rig.file("s-1", "0001_resp_v1_messages.json")
    assert response["timing"] == {
        "request_start": 1000.0,
        "request_end": 1000.5,
        "first_byte": 1001.0,
        "last_byte": 1002.0,
        "seconds": 10.0,
    }
    (line,) = rig.lines("s-1")
    assert (line["sequence"], line["complete"], line["identified_by"]) == (1, True, "header")
    assert line["first_byte_ms"] == 1000.0
    assert rig.manifest("s-1")["counts"]["exchanges"] == 1
    assert "session s-1 by header" in (rig.store.root / "traffic.log").read_text()


def test_an_exchange_in_flight_has_a_part_file(rig: RecorderRig) -> None:
    rig.begin("f-1", "s-1")
    rig.answer("f-1", START)
    rig.recorder.settle()
    assert "0001_resp_v1_messages.part" in rig.names("s-1")
    part = (rig.folder("s-1") / "0001_resp_v1_messages.part").read_text()
    assert [*json.loads(part.splitlines()[0])] == ["request"]
    assert [*json.loads(part.splitlines()[1])] == ["response"]
    assert json.loads(part.splitlines()[2])["event"] == "message_start"


def test_a_conflict_of_evidence_is_counted(rig: RecorderRig) -> None:
    body = {"metadata": {"user_id": "user_x_account__session_s-2"}}
    rig.whole("f-1", "s-1", body=json.dumps(body).encode())
    assert rig.manifest("s-1")["conflicts"] == 1


def test_an_answer_without_its_request_is_passed_over(rig: RecorderRig) -> None:
    rig.answer("nobody", START)
    rig.end("nobody")
    rig.recorder.handle(Lost("nobody"))
    rig.recorder.settle()
    assert not rig.store.root.exists()


def test_an_exchange_without_a_response_is_recorded(rig: RecorderRig) -> None:
    rig.begin("f-1", "s-1")
    rig.end("f-1", "server_disconnect", f"cannot reach {KEY}")
    rig.recorder.settle()
    (line,) = rig.lines("s-1")
    assert (line["status"], line["complete"], line["ended_by"]) == (
        None,
        False,
        "server_disconnect",
    )
    assert line["error"].startswith("cannot reach <redacted:api_key:")
    assert rig.manifest("s-1")["counts"]["errors"] == 1


def test_a_loss_in_the_queue_is_recorded_and_nothing_is_invented(rig: RecorderRig) -> None:
    rig.begin("f-1", "s-1")
    rig.answer("f-1", START)
    rig.recorder.handle(Lost("f-1"))
    rig.recorder.handle(Chunk("f-1", 1003.0, STOP))
    rig.end("f-1")
    rig.recorder.settle()
    (line,) = rig.lines("s-1")
    assert (line["complete"], line["ended_by"]) == (False, "proxy_stopped")
    assert "fell behind" in line["error"]
    assert rig.manifest("s-1")["counts"]["capture_errors"] == 1


def test_when_the_proxy_stops_what_is_in_flight_is_written(rig: RecorderRig) -> None:
    rig.begin("f-1", "s-1")
    rig.answer("f-1", START)
    rig.begin("f-2", "s-2")
    rig.recorder.close()
    assert [line["ended_by"] for line in rig.lines("s-1")] == ["proxy_stopped"]
    assert [line["ended_by"] for line in rig.lines("s-2")] == ["proxy_stopped"]
    assert list(rig.store.root.rglob("*.part")) == []


@pytest.mark.parametrize("name", ["../../etc/x", "unknown", "a" * 65, KEY])
def test_a_session_that_is_none_lands_in_unknown(
    rig: RecorderRig, tmp_path: Path, name: str
) -> None:
    rig.whole("f-1", name)
    (line,) = rig.lines(None)
    assert line["identified_by"] == "none"
    assert rig.file(None, "0001_req_v1_messages.json")["session_id"] is None
    assert sorted(p.name for p in tmp_path.iterdir()) == ["captures"]
    assert sorted(p.name for p in rig.store.root.iterdir()) == [
        ".gitignore",
        "traffic.log",
        "unknown",
    ]


def test_odd_bytes_everywhere_are_captured(rig: RecorderRig) -> None:
    rig.begin(
        "f-1",
        "s-1",
        target="/v1/\udcff\x1b?\udcfe",
        body=rb'{"model":"\ud800\u001b[2J","max_tokens":' + b"9" * 40 + b"}",
        headers=[("x-claude-code-session-id", "s-1"), ("x-\udcff", "\udcff")],
    )
    start = START.replace(b'"msg_1"', rb'"\ud800"')
    rig.answer("f-1", start, STOP, reason="\udcff")
    rig.end("f-1", error="\ud800")
    rig.recorder.settle()
    (line,) = rig.lines("s-1")
    assert (line["model"], line["message_id"]) == ("\ud800\x1b[2J", "\ud800")
    assert line["max_tokens"] is None  # no count; the request file has it
    assert rig.manifest("s-1")["counts"]["capture_errors"] == 0
    assert "\x1b" not in (rig.store.root / "traffic.log").read_text()


def test_a_damaged_answer_is_captured_as_far_as_it_goes(rig: RecorderRig) -> None:
    rig.begin("f-1", "s-1")
    headers = [("content-type", "application/json"), ("content-encoding", "gzip")]
    rig.answer("f-1", gzip.compress(b'{"type":"error"}') + b"rubbish", headers=headers)
    rig.end("f-1")
    rig.recorder.settle()
    body = rig.file("s-1", "0001_resp_v1_messages.json")["body"]
    assert (body["data"], bool(body["decode_error"])) == ({"type": "error"}, True)


@pytest.mark.parametrize("room", [0, 1, 100, 600, 1200])
def test_a_full_disk_at_the_request_costs_that_exchange_alone(
    rig: RecorderRig, disk: FullDisk, room: int, caplog: pytest.LogCaptureFixture
) -> None:
    rig.whole("f-1", "s-1")
    disk.room = room
    caplog.set_level(logging.ERROR)
    try:
        rig.begin("f-2", "s-1")
    except OSError as error:
        rig.recorder.handle(Failed("f-2", error))
    assert caplog.text.count("could not be captured (OSError: No space left on device)") == 1
    assert not list(rig.store.root.rglob("*.part"))
    disk.room = None
    rig.whole("f-3", "s-1")
    assert [line["flow_id"] for line in rig.lines("s-1")] == ["f-1", "f-3"]
    told = [rig.manifest(s)["counts"].get("capture_errors", 0) for s in ("s-1",)]
    unknown = rig.folder(None).exists() and rig.manifest(None)["counts"]["capture_errors"]
    assert sum(told) + int(unknown) == 1


def test_a_full_disk_during_a_response_is_recorded_in_its_session(
    rig: RecorderRig, disk: FullDisk
) -> None:
    rig.begin("f-1", "s-1")
    rig.begin("f-2", "s-1")
    rig.answer("f-1", START)
    disk.room = 0
    rig.recorder.handle(Failed("nobody", OSError(errno.ENOSPC, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        rig.recorder.settle()
    disk.room = None
    rig.answer("f-2", START, STOP)
    rig.end("f-2")
    rig.recorder.settle()
    assert [line["flow_id"] for line in rig.lines("s-1")] == ["f-2"]
    manifest = rig.manifest("s-1")
    assert manifest["counts"]["capture_errors"] == 1
    assert manifest["gaps"][0]["sequence"] == 1
    assert manifest["gaps"][0]["detail"] == "OSError: No space left on device"


def test_a_full_disk_at_the_end_is_recorded_and_recovered_at_the_next_start(
    rig: RecorderRig, disk: FullDisk
) -> None:
    from addon.recording.recovery import recover

    rig.begin("f-1", "s-1")
    rig.answer("f-1", START, STOP)
    rig.recorder.settle()
    disk.room = 10
    with pytest.raises(OSError, match="No space") as raised:
        rig.end("f-1")
    rig.recorder.handle(Failed("f-1", raised.value))
    disk.room = None
    rig.recorder.settle()
    assert rig.manifest("s-1")["gaps"][0]["sequence"] == 1
    recover(CaptureStore(rig.store.root))
    (line,) = rig.lines("s-1")
    assert (line["complete"], line["sequence"]) == (True, 1)


def test_a_bug_of_ours_costs_one_exchange_and_one_clear_line(
    rig: RecorderRig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.begin("f-1", "s-1")
    rig.recorder.handle(Failed("f-1", ZeroDivisionError("a bug")))
    rig.recorder.handle(Failed("f-2", ZeroDivisionError("a bug")))
    rig.whole("f-3", "s-1")
    assert [line["flow_id"] for line in rig.lines("s-1")] == ["f-3"]
    assert caplog.text.count("could not be captured (ZeroDivisionError)") == 1
    assert "a bug" not in caplog.text  # its text may hold anything
    assert rig.manifest("s-1")["counts"]["capture_errors"] == 1
    assert rig.manifest(None)["counts"]["capture_errors"] == 1


def test_no_secret_is_logged(rig: RecorderRig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    rig.whole("f-1", "s-1", target=f"/v1/{KEY}", body=json.dumps({"model": KEY}).encode())
    rig.begin("f-2", "s-1")
    rig.end("f-2", "server_disconnect", KEY)
    rig.recorder.close()
    assert "MADEUP" not in caplog.text
    assert "MADEUP" not in (rig.store.root / "traffic.log").read_text()


def test_one_client_inside_another_is_its_own(tmp_path: Path) -> None:
    inner = ClientProcess(600, 1100.0, ((500, 1000.0),))
    with open_rig(tmp_path, inner) as rig:
        rig.hooked("outer", ClientProcess(500, 1000.0))
        agent = [("user-agent", "claude-cli/2.1.325 (external, cli)")]
        rig.whole("f-1", headers=agent, target="/api/hello")
        assert rig.lines("outer") == []
        rig.whole("f-2", headers=[], target="/api/hello")
        assert rig.lines("outer") == []  # its process has called itself a client


@pytest.mark.parametrize("status", [100, 101, 103])
def test_an_interim_answer_is_not_a_complete_one(rig: RecorderRig, status: int) -> None:
    rig.begin("f-1", "s-1")
    rig.answer("f-1", status=status, headers=[])
    rig.end("f-1")
    rig.recorder.settle()
    (line,) = rig.lines("s-1")
    assert line["complete"] is False
    assert line["error"] == f"what follows status {status} is not captured"
