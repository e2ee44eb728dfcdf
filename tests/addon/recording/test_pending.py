import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from addon.identity.processes import ClientProcess
from addon.recording import pending as waiting
from tests.addon.recording.recorders import START, STOP, RecorderRig, open_rig

CLIENT = ClientProcess(500, 1000.0)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[RecorderRig]:
    with open_rig(tmp_path, CLIENT) as rig:
        yield rig


def counts(rig: RecorderRig, session: str | None) -> int:
    count: int = rig.manifest(session)["counts"].get("exchanges", 0)
    return count


def test_an_exchange_waits_under_unknown(rig: RecorderRig) -> None:
    rig.whole("f-1")
    assert [line["identified_by"] for line in rig.lines(None)] == ["none"]
    assert rig.names(None) == [
        "0001_req_v1_messages.json",
        "0001_resp_v1_messages.json",
        "exchanges.jsonl",
        "manifest.json",
    ]
    assert (rig.file(None, "0001_req_v1_messages.json")["session_id"], counts(rig, None)) == (
        None,
        1,
    )


def test_it_is_filed_with_the_first_session_of_its_process(rig: RecorderRig) -> None:
    rig.whole("f-1")
    rig.whole("f-2")
    rig.hooked("s-1", CLIENT)
    rig.recorder.settle()
    assert [(line["flow_id"], line["sequence"]) for line in rig.lines("s-1")] == [
        ("f-1", 1),
        ("f-2", 2),
    ]
    assert {line["identified_by"] for line in rig.lines("s-1")} == {"process"}
    assert rig.lines(None) == []
    assert rig.names(None) == ["exchanges.jsonl", "manifest.json"]
    assert (counts(rig, "s-1"), counts(rig, None)) == (2, 0)
    assert rig.manifest("s-1")["evidence"] == {"process": 2}
    assert rig.manifest("s-1")["cwd"] == "/p"
    for name in ("0002_req_v1_messages.json", "0002_resp_v1_messages.json"):
        told = rig.file("s-1", name)
        assert (told["session_id"], told["identified_by"], told["sequence"]) == (
            "s-1",
            "process",
            2,
        )


def test_one_that_is_in_flight_when_its_session_starts_is_filed_when_it_ends(
    rig: RecorderRig,
) -> None:
    rig.begin("f-1")
    rig.answer("f-1", START)
    rig.recorder.settle()
    rig.hooked("s-1", CLIENT)
    rig.recorder.settle()
    assert [name for name in rig.names(None) if name.endswith(".part")]
    rig.answer("f-1", STOP)
    rig.end("f-1")
    rig.recorder.settle()
    (line,) = rig.lines("s-1")
    assert (line["complete"], line["identified_by"]) == (True, "process")
    assert rig.names(None) == ["exchanges.jsonl", "manifest.json"]
    assert rig.names("s-1") == [
        "0001_req_v1_messages.json",
        "0001_resp_v1_messages.json",
        "exchanges.jsonl",
        "manifest.json",
    ]


def test_the_wire_may_name_the_session_first(rig: RecorderRig) -> None:
    rig.whole("f-1")
    rig.whole("f-2", "s-1")
    assert [(line["flow_id"], line["identified_by"]) for line in rig.lines("s-1")] == [
        ("f-2", "header"),
        ("f-1", "process"),
    ]
    assert rig.lines(None) == []


def test_a_live_record_of_a_client_that_has_just_started_does_not_count(tmp_path: Path) -> None:
    """With `--continue`, the record first names a session that the client never uses."""
    rig = RecorderRig(tmp_path, ClientProcess(500, time.time()))
    record = tmp_path / "claude" / "sessions" / "500.json"
    record.parent.mkdir(parents=True)
    record.write_text('{"pid": 500, "sessionId": "provisional"}')
    rig.whole("f-1", at=time.time(), started=time.time(), target="/api/hello")
    assert [line["flow_id"] for line in rig.lines(None)] == ["f-1"]
    rig.whole("f-2", "s-1", started=time.time())
    assert {line["flow_id"] for line in rig.lines("s-1")} == {"f-1", "f-2"}
    assert rig.manifest("s-1")["conflicts"] == 0


def test_a_live_record_may_too(rig: RecorderRig, tmp_path: Path) -> None:
    rig.whole("f-1")
    record = tmp_path / "claude" / "sessions" / "500.json"
    record.parent.mkdir(parents=True)
    record.write_text('{"pid": 500, "sessionId": "s-1"}')
    rig.recorder.settle()
    assert [line["identified_by"] for line in rig.lines("s-1")] == ["live_record"]


def test_another_session_s_exchanges_stay(rig: RecorderRig) -> None:
    rig.whole("f-1")
    rig.hooked("s-1", ClientProcess(501, 1000.0))
    rig.recorder.settle()
    assert [line["flow_id"] for line in rig.lines(None)] == ["f-1"]


@pytest.mark.parametrize("name", ["../../etc/x", "", "unknown", "a" * 65])
def test_a_name_that_is_no_session_is_not_waited_for(
    rig: RecorderRig, tmp_path: Path, name: str
) -> None:
    rig.whole("f-1")
    rig.hooked(name, CLIENT)
    rig.recorder.settle()
    assert [line["flow_id"] for line in rig.lines(None)] == ["f-1"]
    assert sorted(path.name for path in rig.store.root.iterdir()) == [
        ".gitignore",
        "traffic.log",
        "unknown",
    ]


TELEMETRY: dict[str, Any] = {
    "target": "/api/event_logging/batch",
    "body": b'{"session_id":"hinted"}',
}


def test_telemetry_names_a_session_only_when_nothing_better_came(rig: RecorderRig) -> None:
    rig.whole("f-1", at=1e11, **TELEMETRY)  # so it never counts as having waited long
    rig.whole("f-2", at=1e11, target="/api/hello")
    rig.hooked("s-1", CLIENT)
    rig.recorder.settle()
    assert [line["flow_id"] for line in rig.lines("s-1")] == ["f-1", "f-2"]
    assert rig.lines("hinted") == []


def test_telemetry_names_it_for_all_of_its_process_in_the_end(rig: RecorderRig) -> None:
    """The rig's exchanges ended long ago, so their telemetry counts at once."""
    rig.whole("f-1", target="/api/hello")
    rig.whole("f-2", **TELEMETRY)
    assert {line["flow_id"] for line in rig.lines("hinted")} == {"f-1", "f-2"}
    assert {line["identified_by"] for line in rig.lines("hinted")} == {"telemetry"}
    rig.whole("f-3", target="/api/hello")
    assert [line["identified_by"] for line in rig.lines("hinted")][-1] == "process"


def test_what_waits_for_too_many_processes_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_MOST_PROCESSES", 1)
    with open_rig(tmp_path, CLIENT) as rig:
        rig.whole("f-1")
        rig.process = ClientProcess(501, 1.0)
        rig.whole("f-2")
        rig.hooked("s-1", CLIENT)
        rig.recorder.settle()
        assert [line["flow_id"] for line in rig.lines(None)] == ["f-1", "f-2"]


RUN = "run-1"
AGENT: dict[str, Any] = {"headers": [("user-agent", "claude-cli/1.0.30 (external, cli)")]}


def test_a_program_that_is_no_client_is_filed_under_the_run_at_once(tmp_path: Path) -> None:
    rig = RecorderRig(tmp_path, CLIENT, RUN)
    rig.whole("f-1", target="/api/hello")  # not a call, so it may be a client's
    assert [line["flow_id"] for line in rig.lines(None)] == ["f-1"]
    rig.whole("f-2")
    assert [(line["flow_id"], line["identified_by"]) for line in rig.lines(RUN)] == [
        ("f-2", "run"),
        ("f-1", "run"),
    ]
    assert rig.lines(None) == []
    manifest = rig.manifest(RUN)
    assert (manifest["session_id"], manifest["conflicts"], manifest["evidence"]) == (
        RUN,
        0,
        {"run": 2},
    )


def test_a_client_without_a_session_is_filed_under_the_run_when_the_proxy_stops(
    tmp_path: Path,
) -> None:
    rig = RecorderRig(tmp_path, CLIENT, RUN)
    rig.whole("f-1", **AGENT)
    rig.recorder.settle()
    assert [line["flow_id"] for line in rig.lines(None)] == ["f-1"]
    rig.recorder.close()
    assert [line["identified_by"] for line in rig.lines(RUN)] == ["run"]
    assert rig.lines(None) == []


def test_a_client_that_gets_its_session_is_not_filed_under_the_run(tmp_path: Path) -> None:
    rig = RecorderRig(tmp_path, CLIENT, RUN)
    rig.whole("f-1", target="/api/hello")
    rig.whole("f-2", **AGENT)
    rig.hooked("s-1", CLIENT)
    rig.recorder.close()
    assert [line["identified_by"] for line in rig.lines("s-1")] == ["process", "process"]
    assert rig.lines(RUN) == []


def test_a_program_of_an_unknown_process_is_filed_under_the_run(tmp_path: Path) -> None:
    rig = RecorderRig(tmp_path, None, RUN)
    rig.whole("f-1")
    assert [line["identified_by"] for line in rig.lines(RUN)] == ["run"]
    rig.whole("f-2", **AGENT)
    rig.recorder.close()
    assert [line["flow_id"] for line in rig.lines(RUN)] == ["f-1", "f-2"]


def test_a_program_that_names_a_session_is_filed_with_it(tmp_path: Path) -> None:
    rig = RecorderRig(tmp_path, CLIENT, RUN)
    rig.whole("f-1", "s-1")
    assert [line["identified_by"] for line in rig.lines("s-1")] == ["header"]
    assert rig.manifest("s-1")["conflicts"] == 0


def test_without_a_run_a_program_stays_unknown(rig: RecorderRig) -> None:
    rig.whole("f-1")
    rig.recorder.close()
    assert [line["identified_by"] for line in rig.lines(None)] == ["none"]


def transcript(root: Path, session: str, *ids: str, began: str = "1970-01-01T00:00:00Z") -> None:
    path = root / "claude" / "projects" / "-p" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = [{"type": "user", "timestamp": began}]
    lines += [{"type": "assistant", "message": {"id": name}} for name in ids]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def called(rig: RecorderRig, flow: str, message: str, started: float = 1000.0) -> None:
    """Record a call whose answer has that id."""
    rig.begin(flow, started=started, **AGENT)
    rig.answer(flow, START.replace(b"msg_1", message.encode()), STOP)
    rig.end(flow)
    rig.recorder.settle()


def sent(rig: RecorderRig, flow: str, started: float) -> None:
    """Record an exchange of the client that is no call."""
    rig.begin(flow, started=started, target="/v1/rgstr")
    rig.answer(flow, b"{}", headers=[])
    rig.end(flow)
    rig.recorder.settle()


def identified(rig: RecorderRig, session: str | None) -> dict[str, str]:
    return {line["flow_id"]: line["identified_by"] for line in rig.lines(session)}


def test_a_call_is_filed_with_the_transcript_that_contains_its_answer(
    rig: RecorderRig, tmp_path: Path
) -> None:
    sent(rig, "early", 990.0)
    called(rig, "call", "msg_1")
    called(rig, "side", "msg_side", started=1001.0)
    assert len(rig.lines(None)) == 3
    transcript(tmp_path, "s-1", "msg_1")
    rig.recorder.idle()
    assert identified(rig, "s-1") == {"early": "process", "call": "message_id", "side": "process"}
    assert identified(rig, None) == {}


def test_clients_in_one_folder_keep_their_calls_apart(tmp_path: Path) -> None:
    rig = RecorderRig(tmp_path, CLIENT)
    other = ClientProcess(501, 1000.0, ((500, 1000.0),))  # started by the first one
    for number, process in enumerate([CLIENT, other, CLIENT, other]):
        rig.process = process
        called(rig, f"call-{number}", f"msg_{number}", 1000.0 + number)
        sent(rig, f"side-{number}", 1000.5 + number)
    transcript(tmp_path, "outer", "msg_0", "msg_2")
    transcript(tmp_path, "inner", "msg_1", "msg_3")
    rig.recorder.close()
    assert set(identified(rig, "outer")) == {"call-0", "side-0", "call-2", "side-2"}
    assert set(identified(rig, "inner")) == {"call-1", "side-1", "call-3", "side-3"}
    assert identified(rig, None) == {}


def test_after_clear_side_calls_belong_to_the_new_session(rig: RecorderRig, tmp_path: Path) -> None:
    called(rig, "first", "msg_1", 1000.0)
    sent(rig, "between", 1010.0)
    sent(rig, "cleared", 1021.0)
    called(rig, "second", "msg_2", 1030.0)
    transcript(tmp_path, "s-1", "msg_1")
    transcript(tmp_path, "s-2", "msg_2", began="1970-01-01T00:17:00Z")  # 1020
    rig.recorder.idle()
    assert set(identified(rig, "s-1")) == {"first", "between"}
    assert set(identified(rig, "s-2")) == {"cleared", "second"}


def test_the_next_call_of_such_a_client_is_not_taken_for_the_same_session(
    rig: RecorderRig, tmp_path: Path
) -> None:
    called(rig, "first", "msg_1", 1000.0)
    transcript(tmp_path, "s-1", "msg_1")
    rig.recorder.idle()
    called(rig, "second", "msg_2", 1030.0)
    assert identified(rig, None) == {"second": "none"}
    transcript(tmp_path, "s-2", "msg_2")
    rig.recorder.close()
    assert (identified(rig, "s-1"), identified(rig, "s-2")) == (
        {"first": "message_id"},
        {"second": "message_id"},
    )


def test_a_call_of_an_unknown_process_is_filed_by_its_id_alone(tmp_path: Path) -> None:
    rig = RecorderRig(tmp_path)
    called(rig, "call", "msg_1")
    called(rig, "other", "msg_2")
    transcript(tmp_path, "s-1", "msg_1")
    rig.recorder.close()
    assert (identified(rig, "s-1"), identified(rig, None)) == (
        {"call": "message_id"},
        {"other": "none"},
    )


def test_only_so_many_exchanges_of_a_process_wait(
    rig: RecorderRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_MOST_EXCHANGES", 1)
    rig.whole("f-1")
    rig.whole("f-2")
    rig.hooked("s-1", CLIENT)
    rig.recorder.settle()
    assert (set(identified(rig, "s-1")), set(identified(rig, None))) == ({"f-2"}, {"f-1"})


def test_a_client_whose_calls_all_failed_is_filed_by_the_time_of_its_error(
    rig: RecorderRig, tmp_path: Path
) -> None:
    sent(rig, "early", 990.0)
    rig.begin("call", **AGENT)
    rig.answer("call", b"{}", headers=[], status=400)
    rig.end("call", at=1010.0)
    path = tmp_path / "claude" / "projects" / "-p" / "s-1.jsonl"
    path.parent.mkdir(parents=True)
    error = {"type": "assistant", "message": {"id": "made-up", "model": "<synthetic>"}}
    path.write_text(json.dumps(error | {"timestamp": "1970-01-01T00:16:51Z"}) + "\n")  # 1011
    rig.recorder.close()
    assert identified(rig, "s-1") == {"early": "process", "call": "process"}
