from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from addon import waiting
from addon.processes import ClientProcess
from tests.addon.desk import START, STOP, Desk, open_desk

CLIENT = ClientProcess(500, 1000.0)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with open_desk(tmp_path, CLIENT) as desk:
        yield desk


def counts(desk: Desk, session: str | None) -> int:
    count: int = desk.manifest(session)["counts"].get("exchanges", 0)
    return count


def test_an_exchange_waits_under_unknown(desk: Desk) -> None:
    desk.whole("f-1")
    assert [line["identified_by"] for line in desk.lines(None)] == ["none"]
    assert desk.names(None) == [
        "0001_req_v1_messages.json",
        "0001_resp_v1_messages.json",
        "exchanges.jsonl",
        "manifest.json",
    ]
    assert (desk.file(None, "0001_req_v1_messages.json")["session_id"], counts(desk, None)) == (
        None,
        1,
    )


def test_it_is_filed_with_the_first_session_of_its_process(desk: Desk) -> None:
    desk.whole("f-1")
    desk.whole("f-2")
    desk.hooked("s-1", CLIENT)
    desk.filing.settle()
    assert [(line["flow_id"], line["sequence"]) for line in desk.lines("s-1")] == [
        ("f-1", 1),
        ("f-2", 2),
    ]
    assert {line["identified_by"] for line in desk.lines("s-1")} == {"process"}
    assert desk.lines(None) == []
    assert desk.names(None) == ["exchanges.jsonl", "manifest.json"]
    assert (counts(desk, "s-1"), counts(desk, None)) == (2, 0)
    assert desk.manifest("s-1")["evidence"] == {"process": 2}
    assert desk.manifest("s-1")["cwd"] == "/p"
    for name in ("0002_req_v1_messages.json", "0002_resp_v1_messages.json"):
        told = desk.file("s-1", name)
        assert (told["session_id"], told["identified_by"], told["sequence"]) == (
            "s-1",
            "process",
            2,
        )


def test_one_that_is_in_flight_when_its_session_starts_is_filed_when_it_ends(desk: Desk) -> None:
    desk.begin("f-1")
    desk.answer("f-1", START)
    desk.filing.settle()
    desk.hooked("s-1", CLIENT)
    desk.filing.settle()
    assert [name for name in desk.names(None) if name.endswith(".part")]
    desk.answer("f-1", STOP)
    desk.end("f-1")
    desk.filing.settle()
    (line,) = desk.lines("s-1")
    assert (line["complete"], line["identified_by"]) == (True, "process")
    assert desk.names(None) == ["exchanges.jsonl", "manifest.json"]
    assert desk.names("s-1") == [
        "0001_req_v1_messages.json",
        "0001_resp_v1_messages.json",
        "exchanges.jsonl",
        "manifest.json",
    ]


def test_the_wire_may_name_the_session_first(desk: Desk) -> None:
    desk.whole("f-1")
    desk.whole("f-2", "s-1")
    assert [(line["flow_id"], line["identified_by"]) for line in desk.lines("s-1")] == [
        ("f-2", "header"),
        ("f-1", "process"),
    ]
    assert desk.lines(None) == []


def test_a_live_record_may_too(desk: Desk, tmp_path: Path) -> None:
    desk.whole("f-1")
    record = tmp_path / "claude" / "sessions" / "500.json"
    record.parent.mkdir(parents=True)
    record.write_text('{"pid": 500, "sessionId": "s-1"}')
    desk.filing.settle()
    assert [line["identified_by"] for line in desk.lines("s-1")] == ["live_record"]


def test_another_session_s_exchanges_stay(desk: Desk) -> None:
    desk.whole("f-1")
    desk.hooked("s-1", ClientProcess(501, 1000.0))
    desk.filing.settle()
    assert [line["flow_id"] for line in desk.lines(None)] == ["f-1"]


@pytest.mark.parametrize("name", ["../../etc/x", "", "unknown", "a" * 65])
def test_a_name_that_is_no_session_is_not_waited_for(desk: Desk, tmp_path: Path, name: str) -> None:
    desk.whole("f-1")
    desk.hooked(name, CLIENT)
    desk.filing.settle()
    assert [line["flow_id"] for line in desk.lines(None)] == ["f-1"]
    assert sorted(path.name for path in desk.store.root.iterdir()) == [
        ".gitignore",
        "traffic.log",
        "unknown",
    ]


TELEMETRY: dict[str, Any] = {
    "target": "/api/event_logging/batch",
    "body": b'{"session_id":"hinted"}',
}


def test_telemetry_names_a_session_only_when_nothing_better_came(desk: Desk) -> None:
    desk.whole("f-1", at=1e11, **TELEMETRY)  # it will not have waited long for ages
    desk.whole("f-2", at=1e11, target="/api/hello")
    desk.hooked("s-1", CLIENT)
    desk.filing.settle()
    assert [line["flow_id"] for line in desk.lines("s-1")] == ["f-1", "f-2"]
    assert desk.lines("hinted") == []


def test_telemetry_names_it_for_all_of_its_process_in_the_end(desk: Desk) -> None:
    """The desk's exchanges ended long ago, by the clock that patience goes by."""
    desk.whole("f-1", target="/api/hello")
    desk.whole("f-2", **TELEMETRY)
    assert {line["flow_id"] for line in desk.lines("hinted")} == {"f-1", "f-2"}
    assert {line["identified_by"] for line in desk.lines("hinted")} == {"telemetry"}
    desk.whole("f-3", target="/api/hello")
    assert [line["identified_by"] for line in desk.lines("hinted")][-1] == "process"


def test_what_waits_for_too_many_processes_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_MOST_PROCESSES", 1)
    with open_desk(tmp_path, CLIENT) as desk:
        desk.whole("f-1")
        other = ClientProcess(501, 1.0)
        monkeypatch.setattr(desk._resolver, "process", lambda connection: other)
        desk.whole("f-2")
        desk.hooked("s-1", CLIENT)
        desk.filing.settle()
        assert [line["flow_id"] for line in desk.lines(None)] == ["f-1", "f-2"]
