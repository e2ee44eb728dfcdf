import json
from pathlib import Path

import pytest

from addon.storage.packing.pack import pack_session
from ccwire.wire.format import EXCHANGES
from correlate.captures.folder import read_exchanges
from correlate.show.stored import parts_in, read_stored, session_exchanges
from correlate.transcript.locate import ClaudeDir
from tests.correlate.report.made import SESSION, small_session
from tests.recorded import SESSION as RECORDED
from tests.recorded import Recorded

TAKEN_FROM_FILES = (
    *("sequence", "flow_id", "started", "method", "host", "path", "kind", "model", "served_model"),
    *("status", "usage", "complete", "ended_by", "error"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_session().write(tmp_path / "claude", tmp_path / "captures")
    return tmp_path / "captures" / SESSION


def test_an_exchange_has_its_line_and_its_files(folder: Path) -> None:
    stored = read_stored(folder, read_exchanges(folder), 2)
    assert stored.call.sequence == 2
    assert stored.request is not None and stored.request["body"]["data"]["messages"]
    assert stored.response is not None and stored.response["message"]["content"]
    assert (stored.problems, stored.in_flight) == ((), False)


def test_a_packed_exchange_is_the_same(folder: Path) -> None:
    exchanges = read_exchanges(folder)
    before = read_stored(folder, exchanges, 2)
    pack_session(folder, now=float("inf"))
    assert not list(folder.glob("0002_*"))
    assert read_stored(folder, exchanges, 2) == before


def test_only_what_is_asked_for_is_read(folder: Path) -> None:
    exchanges = read_exchanges(folder)
    assert read_stored(folder, exchanges, 2, response=False).response is None
    assert read_stored(folder, exchanges, 2, request=False).request is None


def test_a_missing_and_a_damaged_file_are_problems(folder: Path) -> None:
    next(folder.glob("0002_req_*")).unlink()
    next(folder.glob("0002_resp_*")).write_bytes(b"[]")
    stored = read_stored(folder, read_exchanges(folder), 2)
    assert (stored.request, stored.response) == (None, None)
    missing, damaged = stored.problems
    assert missing == "The request file is missing."
    assert damaged.startswith("The response file is damaged (")


def test_a_number_that_the_session_does_not_have(folder: Path) -> None:
    with pytest.raises(KeyError):
        read_stored(folder, read_exchanges(folder), 99)


def test_an_exchange_without_a_line_is_read_from_its_files(recorded: Recorded) -> None:
    folder = recorded.captures / RECORDED
    calls = [call for call in read_exchanges(folder) if call.usage]
    assert calls
    for call in calls:
        found = read_stored(folder, [], call.sequence).call
        for name in TAKEN_FROM_FILES:
            assert getattr(found, name) == getattr(call, name), name


def test_an_exchange_in_flight_has_no_line_and_no_answer(
    recorded: Recorded, tmp_path: Path
) -> None:
    source = recorded.captures / RECORDED
    call = next(call for call in read_exchanges(source) if call.kind == "messages")
    folder = tmp_path / RECORDED
    folder.mkdir()
    request = next(source.glob(f"{call.sequence:04d}_req_*"))
    (folder / request.name).write_bytes(request.read_bytes())
    part = request.name.replace("_req_", "_resp_").replace(".json", ".part")
    (folder / part).write_text(json.dumps({"request": {}}) + "\n")
    (folder / EXCHANGES).write_bytes(b"")
    exchanges = session_exchanges(folder, RECORDED, ClaudeDir(tmp_path))
    assert parts_in(folder) == {call.sequence}
    assert [one.sequence for one in exchanges] == [call.sequence]
    assert exchanges[0].model == call.model
    stored = read_stored(folder, exchanges, call.sequence)
    assert stored.in_flight and stored.response is None and stored.request is not None
    assert stored.problems == ()


def test_calls_without_a_session_are_found_by_their_ids(tmp_path: Path) -> None:
    small_session().write(tmp_path / "claude", tmp_path / "captures")
    unknown = tmp_path / "captures" / "unknown"
    (tmp_path / "captures" / SESSION).rename(unknown)
    lines = (unknown / EXCHANGES).read_bytes().splitlines()
    other = {**json.loads(lines[0]), "sequence": 70, "pid": 1, "request_id": "x", "message_id": "x"}
    (unknown / EXCHANGES).write_bytes(b"\n".join([*lines, json.dumps(other).encode(), b""]))
    exchanges = session_exchanges(unknown, SESSION, ClaudeDir(tmp_path / "claude"))
    assert [call.sequence for call in exchanges] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(KeyError):
        read_stored(unknown, exchanges, 70, only_listed=True)
