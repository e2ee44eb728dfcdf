import json
import math
import time
from pathlib import Path
from typing import Any

import pytest

from addon.hooks.sessions import SessionsMap
from addon.identity.lookup import SessionLookup
from addon.identity.processes import ClientProcess

RUN = "run-1"
CLIENT = ClientProcess(500, 1000.0, ((400, 900.0), (300, 800.0)))


def entry(session_id: str, pid: int, created: float) -> dict[str, Any]:
    metadata = {"claude_pid": pid, "process_created_at": created}
    return {"session_id": session_id, "state": "active", "metadata": metadata}


class Folder:
    """An empty sessions.json and an empty client folder."""

    def __init__(self, root: Path) -> None:
        self._map = root / "sessions.json"
        self._live = root / "claude" / "sessions"
        self._live.mkdir(parents=True)
        self.lookup = SessionLookup(SessionsMap(self._map), root / "claude", RUN)

    def map(self, *entries: dict[str, Any]) -> None:
        self._map.write_text(json.dumps({"version": 1, "sessions": entries}))

    def live(self, pid: int, text: str) -> None:
        (self._live / f"{pid}.json").write_text(text)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_the_process_itself_goes_before_its_ancestors(folder: Folder) -> None:
    folder.map(entry("own", 500, 1000.0), entry("above", 400, 900.0))
    assert folder.lookup.by_process(CLIENT) == "own"


def test_the_nearest_ancestor_speaks_for_a_child(folder: Folder) -> None:
    folder.map(entry("far", 300, 800.0), entry("near", 400, 900.0))
    assert folder.lookup.by_process(CLIENT) == "near"


def test_no_ancestor_speaks_for_a_client(folder: Folder) -> None:
    folder.map(entry("outer", 400, 900.0))
    folder.lookup.is_client(CLIENT, "1.0.30")
    assert folder.lookup.by_process(CLIENT) is None


def test_no_ancestor_speaks_for_a_process_that_may_still_turn_out_to_be_a_client(
    folder: Folder,
) -> None:
    folder.map(entry("outer", 400, 900.0))
    assert folder.lookup.by_process(CLIENT, patient=False) is None
    folder.lookup.is_program(CLIENT)
    assert folder.lookup.by_process(CLIENT, patient=False) == "outer"


def test_a_program_that_is_no_client_belongs_to_the_run(folder: Folder) -> None:
    assert folder.lookup.by_run(CLIENT) is None
    folder.lookup.is_program(CLIENT)
    assert folder.lookup.by_run(CLIENT) == RUN
    assert folder.lookup.by_run(None) is None
    assert folder.lookup.by_run(None, is_program=True) == RUN


def test_a_program_that_a_client_started_waits_for_the_clients_session(folder: Folder) -> None:
    folder.lookup.is_program(CLIENT)
    folder.lookup.is_client(ClientProcess(400, 900.0), "1.0.30")
    assert folder.lookup.by_run(CLIENT) is None


def test_another_process_that_had_the_pid_is_not_it(folder: Folder) -> None:
    folder.map(entry("old", 500, 100.0))
    folder.lookup.name_session(ClientProcess(500, 100.0), "older")
    folder.lookup.is_client(ClientProcess(500, 100.0), "1.0.30")
    folder.map(entry("old", 500, 100.0), entry("above", 400, 900.0))
    assert folder.lookup.by_process(CLIENT) == "above"


def test_the_map_is_read_anew_when_a_session_starts(folder: Folder) -> None:
    assert folder.lookup.by_process(CLIENT) is None
    folder.map(entry("first", 500, 1000.0))
    assert folder.lookup.by_process(CLIENT) == "first"
    folder.map(entry("first", 500, 1000.0), entry("after clear", 500, 1000.0))
    assert folder.lookup.by_process(CLIENT) == "after clear"


def test_a_session_from_the_wire_counts_if_sessions_json_has_none(folder: Folder) -> None:
    folder.lookup.name_session(CLIENT, "told")
    folder.lookup.name_session(None, "nobody's")
    assert folder.lookup.by_process(CLIENT) == "told"
    child = ClientProcess(600, 1100.0, ((500, 1000.0), (400, 900.0)))
    assert folder.lookup.by_process(child) == "told"
    folder.map(entry("hooked", 500, 1000.0))
    assert folder.lookup.by_process(CLIENT) == "hooked"


def test_no_process_has_no_session(folder: Folder) -> None:
    assert folder.lookup.by_process(None) is None
    assert folder.lookup.by_live_record(None, math.inf) is None


def test_the_newest_entry_of_a_session_is_given(folder: Folder) -> None:
    folder.map(entry("s", 1, 1.0), entry("other", 2, 1.0), entry("s", 3, 1.0))
    found = folder.lookup.entry("s")
    assert found is not None
    assert found.pid == 3
    assert folder.lookup.entry("nobody") is None


def test_a_live_record_names_the_session_of_its_pid(folder: Folder) -> None:
    now = time.time()
    process = ClientProcess(500, now - 1)
    folder.live(500, json.dumps({"pid": 500, "sessionId": "s-1", "startedAt": now * 1000}))
    assert folder.lookup.by_live_record(process, math.inf) == "s-1"


def test_a_record_that_a_crashed_client_left_is_not_the_next_one_s(folder: Folder) -> None:
    record = {"pid": 500, "sessionId": "s-1", "startedAt": 5_000_000}
    folder.live(500, json.dumps(record))
    assert folder.lookup.by_live_record(ClientProcess(500, 4999.0), math.inf) == "s-1"
    assert folder.lookup.by_live_record(ClientProcess(500, 6000.0), math.inf) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"pid": 501, "sessionId": "s"}',
        '{"pid": 500}',
        '{"pid": "500"}',
        '{"pid": 500, "sessionId": 7}',
        '{"pid": 500, "sessionId": ""}',
    ],
)
def test_a_record_without_a_session_is_ignored(folder: Folder, text: str) -> None:
    folder.live(500, text)
    assert folder.lookup.by_live_record(CLIENT, math.inf) is None


def test_files_beside_the_record_are_never_opened(folder: Folder, tmp_path: Path) -> None:
    key = tmp_path / "claude" / "sessions" / "500.key"
    key.mkdir()  # opening it would fail
    assert folder.lookup.by_live_record(CLIENT, math.inf) is None


def test_a_side_call_belongs_to_the_call_before_it(folder: Folder) -> None:
    folder.lookup.is_client(CLIENT, "1.0.30")
    folder.lookup.note_call(CLIENT, 30.0, "after-clear")
    folder.lookup.note_call(CLIENT, 10.0, "first")
    moments = {5.0: "first", 10.0: "first", 20.0: "first", 30.0: "after-clear"}
    for at, session in moments.items():
        assert folder.lookup.by_calls(CLIENT, at, patient=False) == session
    assert folder.lookup.by_calls(CLIENT, 31.0, patient=False) is None  # `/clear` may follow
    assert folder.lookup.by_calls(CLIENT, 31.0) == "after-clear"
    assert folder.lookup.by_calls(None, 31.0) is None


def test_calls_of_an_ancestor_count_for_a_program_and_not_for_a_client(folder: Folder) -> None:
    folder.lookup.note_call(ClientProcess(400, 900.0), 10.0, "outer")
    assert folder.lookup.by_calls(CLIENT, 5.0, patient=False) is None
    assert folder.lookup.by_calls(CLIENT, 5.0) == "outer"
    folder.lookup.is_client(CLIENT, "1.0.30")
    assert folder.lookup.by_calls(CLIENT, 5.0) is None


def test_the_record_of_a_process_that_has_just_started_does_not_count(folder: Folder) -> None:
    folder.live(500, '{"pid": 500, "sessionId": "provisional"}')
    assert folder.lookup.by_live_record(CLIENT, CLIENT.created - 1) is None
    assert folder.lookup.by_live_record(CLIENT, CLIENT.created) == "provisional"


def test_the_version_of_a_client_is_remembered(folder: Folder) -> None:
    folder.lookup.is_client(CLIENT, "1.0.30")
    assert folder.lookup.version_of(CLIENT.pid, CLIENT.created) == "1.0.30"
    assert folder.lookup.version_of(CLIENT.pid, CLIENT.created + 1) is None
    assert folder.lookup.version_of(None, None) is None
