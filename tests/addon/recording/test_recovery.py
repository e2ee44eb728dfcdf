import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from addon.identity.processes import ClientProcess
from addon.recording.recorder import Recorder
from addon.recording.recovery import recover
from addon.redaction.redactor import Redactor
from addon.storage.folder import CaptureStore
from ccwire.wire.format import parse_file_name
from ccwire.wire.json_text import dump, parse_json
from tests.addon.recording.recorders import START, STOP, RecorderRig, open_rig
from tests.addon.sudden_death import Killed, killed_after

CLIENT = ClientProcess(500, 1000.0)
DELTA = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":"half a sentence "}}\n\n'
)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[RecorderRig]:
    with open_rig(tmp_path, CLIENT) as rig:
        yield rig


def abandon(rig: RecorderRig) -> None:
    """Close the part files in flight, as when the process is killed."""
    for exchange in rig.recorder._open.values():
        exchange.slot.part.close()
    rig.recorder._open.clear()


def test_what_was_in_flight_becomes_a_response_that_is_not_complete(rig: RecorderRig) -> None:
    rig.whole("f-1", "s-1")
    rig.begin("f-2", "s-1")
    rig.answer("f-2", START, DELTA)
    rig.recorder.settle()
    abandon(rig)
    assert recover(rig.store) == 1
    line = rig.lines("s-1")[-1]
    assert (line["flow_id"], line["sequence"], line["complete"]) == ("f-2", 2, False)
    assert (line["ended_by"], line["error"]) == ("proxy_stopped", "the proxy was killed")
    assert (line["usage_at_start"], line["message_id"]) == ({"output_tokens": 2}, "msg_1")
    assert (line["status"], line["request_id"], line["model"]) == (200, "req_1", "m")
    told = rig.file("s-1", "0002_resp_v1_messages.json")
    assert (told["session_id"], told["flow_id"], told["direction"]) == ("s-1", "f-2", "response")
    assert [event["event"] for event in told["body"]["events"]] == [
        "message_start",
        "content_block_delta",
    ]
    assert told["message"]["content"] == [{"text": "half a sentence "}]
    manifest = rig.manifest("s-1")
    assert (manifest["counts"]["exchanges"], manifest["counts"]["incomplete"]) == (2, 1)
    assert [gap["kind"] for gap in manifest["gaps"]] == ["recovered"]
    assert recover(rig.store) == 0


def test_one_that_had_no_answer_yet_has_none(rig: RecorderRig) -> None:
    rig.begin("f-1", "s-1")
    abandon(rig)
    assert recover(rig.store) == 1
    (line,) = rig.lines("s-1")
    assert (line["status"], line["ended_by"]) == (None, "proxy_stopped")
    assert rig.file("s-1", "0001_resp_v1_messages.json")["body"] == {"type": "empty", "size": 0}


def test_one_whose_answer_was_whole_is_complete(rig: RecorderRig) -> None:
    rig.begin("f-1", "s-1")
    rig.answer("f-1", START, STOP)
    rig.recorder.settle()
    abandon(rig)
    recover(rig.store)
    (line,) = rig.lines("s-1")
    assert (line["complete"], line["ended_by"]) == (True, "message_stop")


def test_a_line_that_was_cut_short_is_left_out(rig: RecorderRig) -> None:
    rig.begin("f-1", "s-1")
    rig.answer("f-1", START, DELTA)
    rig.recorder.settle()
    abandon(rig)
    part = rig.folder("s-1") / "0001_resp_v1_messages.part"
    part.write_bytes(part.read_bytes()[:-10])
    recover(rig.store)
    told = rig.file("s-1", "0001_resp_v1_messages.json")
    assert [event["event"] for event in told["body"]["events"]] == ["message_start"]


def test_events_with_lone_surrogates_are_recovered(rig: RecorderRig) -> None:
    rig.begin("f-1", "s-1", body=rb'{"model":"\ud800"}')
    rig.answer("f-1", START, DELTA.replace(b"half", rb"\ud800"))
    rig.recorder.settle()
    abandon(rig)
    recover(rig.store)
    told = rig.file("s-1", "0001_resp_v1_messages.json")
    assert told["message"]["content"] == [{"text": "\ud800 a sentence "}]
    assert rig.lines("s-1")[0]["model"] == "\ud800"


def test_what_was_in_flight_without_a_session_stays_under_unknown(rig: RecorderRig) -> None:
    rig.begin("f-1")
    abandon(rig)
    recover(rig.store)
    (line,) = rig.lines(None)
    assert (line["flow_id"], line["identified_by"]) == ("f-1", "none")
    assert rig.file(None, "0001_resp_v1_messages.json")["session_id"] is None


def test_an_empty_part_file_is_removed(rig: RecorderRig) -> None:
    slot = rig.store.open_slot("s-1", "/v1/messages")
    slot.part.close()
    assert recover(rig.store) == 0
    assert rig.names("s-1") == []


@pytest.mark.parametrize(
    "part",
    [
        b"{}\n",
        b'{"request":{}}\n',
        b'{"request":5}\n',
        b'{"moved":{}}\n',
        b'{"moved":{"from":1,"line":{"sequence":1}}}\n',
        b'{"request":{"flow_id":"f","identified_by":"x","base":{},"facts":{},"pid":1}}\n',
    ],
)
def test_a_part_that_is_none_is_set_aside_and_counted(
    rig: RecorderRig, part: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    rig.whole("f-1", "s-1")
    (rig.folder("s-1") / "0002_resp_v1_messages.part").write_bytes(part)
    (rig.folder("s-1") / "0003_resp_v1_messages.part").write_bytes(
        dump({"request": {"flow_id": "f-3", **head_of_a_part(rig)}}) + b"\n"
    )
    recover(rig.store)
    assert "0002_resp_v1_messages.part.unreadable" in rig.names("s-1")
    assert [line["flow_id"] for line in rig.lines("s-1")] == ["f-1", "f-3"]
    assert rig.manifest("s-1")["counts"]["capture_errors"] == 1
    assert "set aside" in caplog.text
    assert recover(rig.store) == 0


def head_of_a_part(rig: RecorderRig) -> dict[str, Any]:
    rig.begin("template", "template")
    (part,) = rig.folder("template").glob("*.part")
    head = parse_json(part.read_bytes())["request"]
    rig.end("template")
    rig.recorder.settle()
    return {name: value for name, value in head.items() if name != "flow_id"}


def test_numbering_goes_on_after_it(rig: RecorderRig) -> None:
    rig.begin("f-1", "s-1")
    abandon(rig)
    store = CaptureStore(rig.store.root)
    recover(store)
    assert store.open_slot("s-1", "/v1/messages").sequence == 2


def nothing_yet(rig: RecorderRig) -> None:
    """An empty capture folder."""


def one_session(rig: RecorderRig) -> None:
    rig.whole("before", "s-1")


def several_waiting(rig: RecorderRig) -> None:
    rig.whole("before", "s-1")
    rig.lookup._named.clear()
    rig.whole("waiting-1", headers=[("user-agent", "claude-cli/1.0.30 (external, cli)")])
    rig.whole("waiting-2", target="/api/hello")


def several_recently_waiting(rig: RecorderRig) -> None:
    rig.whole("waiting-1", started=time.time())
    rig.whole("waiting-2", started=time.time(), target="/api/hello")


def two_in_one_session(rig: RecorderRig) -> None:
    rig.begin("f-1", "s-1")
    rig.begin("f-2", "s-1", target="/api/hello")
    rig.answer("f-1", START)
    rig.recorder.settle()
    rig.answer("f-2", b"{}", headers=[("content-type", "application/json")])
    rig.end("f-2")
    rig.answer("f-1", DELTA, STOP)
    rig.end("f-1")
    rig.recorder.settle()


def its_session_starts(rig: RecorderRig) -> None:
    rig.hooked("s-1", CLIENT)
    rig.recorder.settle()


def its_transcript_is_written(rig: RecorderRig) -> None:
    path = rig.root / "claude" / "projects" / "-p" / "s-1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text('{"type":"assistant","message":{"id":"msg_1"}}\n')
    rig.recorder.close()


def the_next_proxy_files_them(rig: RecorderRig) -> None:
    lock = rig.recorder._adoption._lock
    assert lock is not None
    lock.close()
    rig.hooked("s-1", CLIENT)
    rig.recorder = Recorder(rig.store, Redactor(b"key"), rig.lookup)
    rig.recorder.idle()


def stopped_in_flight(rig: RecorderRig) -> None:
    rig.begin("f-1", "s-1")
    rig.begin("f-2")
    rig.answer("f-1", START)
    rig.recorder.close()


@pytest.mark.parametrize(
    ("before", "act"),
    [
        (nothing_yet, two_in_one_session),
        (one_session, two_in_one_session),
        (several_waiting, its_session_starts),
        (several_waiting, its_transcript_is_written),
        (several_recently_waiting, the_next_proxy_files_them),
        (one_session, stopped_in_flight),
    ],
)
def test_killed_at_any_moment_nothing_finished_is_lost_and_each_is_recorded_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: Callable[[RecorderRig], None],
    act: Callable[[RecorderRig], None],
) -> None:
    moment, survived = 0, False
    while not survived:
        root = tmp_path / f"{moment:03d}"
        root.mkdir()
        with open_rig(root, CLIENT) as rig:
            before(rig)
            finished = {line["flow_id"] for name in ("s-1", None) for line in rig.lines(name)}
            with killed_after(monkeypatch, moment):
                try:
                    act(rig)
                    survived = True
                except Killed:
                    pass
            let_go(rig)
            recover(CaptureStore(rig.store.root)) if rig.store.root.exists() else None
            check(rig, finished)
        moment += 1
    assert moment > 10


def let_go(rig: RecorderRig) -> None:
    """Release all locks, as when the process is killed."""
    abandon(rig)
    for finished in rig.recorder._index._finished.values():
        for item in finished:
            item.slot.part.close()


def check(rig: RecorderRig, finished: set[str]) -> None:
    told: list[str] = []
    for session in ("s-1", None):
        lines = {line["sequence"]: line for line in rig.lines(session)}
        told += [line["flow_id"] for line in lines.values()]
        responses = set()
        for name in rig.names(session):
            assert name in ("exchanges.jsonl", "manifest.json") or parse_file_name(name), name
            if place := parse_file_name(name):
                file = rig.file(session, name)
                assert (file["session_id"], file["sequence"]) == (session, place[0])
                assert file["flow_id"] == lines[place[0]]["flow_id"]
                if place[1] == "resp":
                    responses.add(place[0])
        assert responses == set(lines)
        if lines:
            counts = rig.manifest(session)["counts"]
            assert counts["exchanges"] == len(lines)
            assert counts["complete"] == sum(line["complete"] for line in lines.values())
    assert len(told) == len(set(told))
    assert finished <= set(told)
