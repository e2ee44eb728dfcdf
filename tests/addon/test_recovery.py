from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from addon.format import parse_file_name, parse_json
from addon.processes import ClientProcess
from addon.recovery import recover
from addon.store import CaptureStore
from addon.wire_json import dump
from tests.addon.desk import START, STOP, Desk, open_desk
from tests.addon.sudden_death import Killed, killed_after

CLIENT = ClientProcess(500, 1000.0)
DELTA = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":"half a sentence "}}\n\n'
)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with open_desk(tmp_path, CLIENT) as desk:
        yield desk


def abandon(desk: Desk) -> None:
    """What is in flight is let go of, as when the process is killed."""
    for exchange in desk.filing._open.values():
        exchange.slot.part.close()
    desk.filing._open.clear()


def test_what_was_in_flight_becomes_a_response_that_is_not_complete(desk: Desk) -> None:
    desk.whole("f-1", "s-1")
    desk.begin("f-2", "s-1")
    desk.answer("f-2", START, DELTA)
    desk.filing.settle()
    abandon(desk)
    assert recover(desk.store) == 1
    line = desk.lines("s-1")[-1]
    assert (line["flow_id"], line["sequence"], line["complete"]) == ("f-2", 2, False)
    assert (line["ended_by"], line["error"]) == ("proxy_stopped", "the proxy was killed")
    assert (line["usage_at_start"], line["message_id"]) == ({"output_tokens": 2}, "msg_1")
    assert (line["status"], line["request_id"], line["model"]) == (200, "req_1", "m")
    told = desk.file("s-1", "0002_resp_v1_messages.json")
    assert (told["session_id"], told["flow_id"], told["direction"]) == ("s-1", "f-2", "response")
    assert [event["event"] for event in told["body"]["events"]] == [
        "message_start",
        "content_block_delta",
    ]
    assert told["message"]["content"] == [{"text": "half a sentence "}]
    manifest = desk.manifest("s-1")
    assert (manifest["counts"]["exchanges"], manifest["counts"]["incomplete"]) == (2, 1)
    assert [gap["kind"] for gap in manifest["gaps"]] == ["recovered"]
    assert recover(desk.store) == 0


def test_one_that_had_no_answer_yet_has_none(desk: Desk) -> None:
    desk.begin("f-1", "s-1")
    abandon(desk)
    assert recover(desk.store) == 1
    (line,) = desk.lines("s-1")
    assert (line["status"], line["ended_by"]) == (None, "proxy_stopped")
    assert desk.file("s-1", "0001_resp_v1_messages.json")["body"] == {"type": "empty", "size": 0}


def test_one_whose_answer_was_whole_is_complete(desk: Desk) -> None:
    desk.begin("f-1", "s-1")
    desk.answer("f-1", START, STOP)
    desk.filing.settle()
    abandon(desk)
    recover(desk.store)
    (line,) = desk.lines("s-1")
    assert (line["complete"], line["ended_by"]) == (True, "message_stop")


def test_a_line_that_was_cut_short_is_left_out(desk: Desk) -> None:
    desk.begin("f-1", "s-1")
    desk.answer("f-1", START, DELTA)
    desk.filing.settle()
    abandon(desk)
    part = desk.folder("s-1") / "0001_resp_v1_messages.part"
    part.write_bytes(part.read_bytes()[:-10])
    recover(desk.store)
    told = desk.file("s-1", "0001_resp_v1_messages.json")
    assert [event["event"] for event in told["body"]["events"]] == ["message_start"]


def test_events_with_lone_surrogates_are_recovered(desk: Desk) -> None:
    desk.begin("f-1", "s-1", body=rb'{"model":"\ud800"}')
    desk.answer("f-1", START, DELTA.replace(b"half", rb"\ud800"))
    desk.filing.settle()
    abandon(desk)
    recover(desk.store)
    told = desk.file("s-1", "0001_resp_v1_messages.json")
    assert told["message"]["content"] == [{"text": "\ud800 a sentence "}]
    assert desk.lines("s-1")[0]["model"] == "\ud800"


def test_what_was_in_flight_without_a_session_stays_under_unknown(desk: Desk) -> None:
    desk.begin("f-1")
    abandon(desk)
    recover(desk.store)
    (line,) = desk.lines(None)
    assert (line["flow_id"], line["identified_by"]) == ("f-1", "none")
    assert desk.file(None, "0001_resp_v1_messages.json")["session_id"] is None


def test_a_part_that_says_nothing_goes_without_a_trace(desk: Desk) -> None:
    slot = desk.store.open_slot("s-1", "/v1/messages")
    slot.part.close()
    assert recover(desk.store) == 0
    assert desk.names("s-1") == []


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
    desk: Desk, part: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    desk.whole("f-1", "s-1")
    (desk.folder("s-1") / "0002_resp_v1_messages.part").write_bytes(part)
    (desk.folder("s-1") / "0003_resp_v1_messages.part").write_bytes(
        dump({"request": {"flow_id": "f-3", **head_of_a_part(desk)}}) + b"\n"
    )
    recover(desk.store)
    assert "0002_resp_v1_messages.part.unreadable" in desk.names("s-1")
    assert [line["flow_id"] for line in desk.lines("s-1")] == ["f-1", "f-3"]
    assert desk.manifest("s-1")["counts"]["capture_errors"] == 1
    assert "set aside" in caplog.text
    assert recover(desk.store) == 0


def head_of_a_part(desk: Desk) -> dict[str, Any]:
    desk.begin("template", "template")
    (part,) = desk.folder("template").glob("*.part")
    head = parse_json(part.read_bytes())["request"]
    desk.end("template")
    desk.filing.settle()
    return {name: value for name, value in head.items() if name != "flow_id"}


def test_numbering_goes_on_after_it(desk: Desk) -> None:
    desk.begin("f-1", "s-1")
    abandon(desk)
    store = CaptureStore(desk.store.root)
    recover(store)
    assert store.open_slot("s-1", "/v1/messages").sequence == 2


def nothing_yet(desk: Desk) -> None:
    """A folder where nothing has happened."""


def one_session(desk: Desk) -> None:
    desk.whole("before", "s-1")


def several_waiting(desk: Desk) -> None:
    desk.whole("before", "s-1")
    desk.lookup._told.clear()
    desk.whole("waiting-1")
    desk.whole("waiting-2", target="/api/hello")


def two_in_one_session(desk: Desk) -> None:
    desk.begin("f-1", "s-1")
    desk.begin("f-2", "s-1", target="/api/hello")
    desk.answer("f-1", START)
    desk.filing.settle()
    desk.answer("f-2", b"{}", headers=[("content-type", "application/json")])
    desk.end("f-2")
    desk.answer("f-1", DELTA, STOP)
    desk.end("f-1")
    desk.filing.settle()


def its_session_starts(desk: Desk) -> None:
    desk.hooked("s-1", CLIENT)
    desk.filing.settle()


def stopped_in_flight(desk: Desk) -> None:
    desk.begin("f-1", "s-1")
    desk.begin("f-2")
    desk.answer("f-1", START)
    desk.filing.close()


@pytest.mark.parametrize(
    ("before", "act"),
    [
        (nothing_yet, two_in_one_session),
        (one_session, two_in_one_session),
        (several_waiting, its_session_starts),
        (one_session, stopped_in_flight),
    ],
)
def test_killed_at_any_moment_nothing_finished_is_lost_and_all_is_told_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: Callable[[Desk], None],
    act: Callable[[Desk], None],
) -> None:
    moment, survived = 0, False
    while not survived:
        root = tmp_path / f"{moment:03d}"
        root.mkdir()
        with open_desk(root, CLIENT) as desk:
            before(desk)
            finished = {line["flow_id"] for name in ("s-1", None) for line in desk.lines(name)}
            with killed_after(monkeypatch, moment):
                try:
                    act(desk)
                    survived = True
                except Killed:
                    pass
            let_go(desk)
            recover(CaptureStore(desk.store.root)) if desk.store.root.exists() else None
            check(desk, finished)
        moment += 1
    assert moment > 10


def let_go(desk: Desk) -> None:
    """The locks of a killed process are gone."""
    abandon(desk)
    for finished in desk.filing._books._finished.values():
        for item in finished:
            item.slot.part.close()


def check(desk: Desk, finished: set[str]) -> None:
    told: list[str] = []
    for session in ("s-1", None):
        lines = {line["sequence"]: line for line in desk.lines(session)}
        told += [line["flow_id"] for line in lines.values()]
        responses = set()
        for name in desk.names(session):
            assert name in ("exchanges.jsonl", "manifest.json") or parse_file_name(name), name
            if place := parse_file_name(name):
                file = desk.file(session, name)
                assert (file["session_id"], file["sequence"]) == (session, place[0])
                assert file["flow_id"] == lines[place[0]]["flow_id"]
                if place[1] == "resp":
                    responses.add(place[0])
        assert responses == set(lines)
        if lines:
            counts = desk.manifest(session)["counts"]
            assert counts["exchanges"] == len(lines)
            assert counts["complete"] == sum(line["complete"] for line in lines.values())
    assert len(told) == len(set(told))
    assert finished <= set(told)
