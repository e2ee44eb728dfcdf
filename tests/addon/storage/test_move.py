import json
from pathlib import Path

import pytest

from addon.identity.session import Identity
from addon.recording.content.exchange_files import head, whole_file
from addon.storage.files import write_whole
from addon.storage.folder import CaptureStore, Slot
from addon.storage.move import finish_move, refile, with_identity
from ccwire.wire.format import Exchange
from ccwire.wire.json_text import parse_json
from ccwire.wire.vocabulary import RecordDirection

NEW = Identity("s-1", "process")
LINE = Exchange(
    sequence=1,
    flow_id="f",
    started=1.0,
    method="POST",
    host="h",
    path="/v1/messages",
    kind="messages",
)


def capture(direction: RecordDirection, sequence: int = 1) -> bytes:
    top = head({"flow_id": "f", "sequence": sequence}, Identity(None, "none"), direction, 1000.0)
    return whole_file(top, {"body": {"text": '\n"session_id": null,\n"sequence": 1,\n'}})


@pytest.fixture
def store(tmp_path: Path) -> CaptureStore:
    return CaptureStore(tmp_path / "captures")


@pytest.fixture
def slot(store: CaptureStore) -> Slot:
    """A finished exchange under `unknown`, and one before it in the session."""
    store.release(store.open_slot("s-1", "/v1/messages"))
    slot = store.open_slot(None, "/v1/messages")
    write_whole(slot.request_file, capture("request"))
    write_whole(slot.response_file, capture("response"))
    store.release(slot)
    return slot


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def test_only_the_head_of_a_file_changes() -> None:
    old = capture("request")
    new = with_identity(old, NEW, 17)
    told = json.loads(new)
    assert (told["session_id"], told["identified_by"], told["sequence"]) == ("s-1", "process", 17)
    assert [*told] == [*json.loads(old)]
    assert told["body"] == json.loads(old)["body"]
    assert new.partition(b'"direction"')[2] == old.partition(b'"direction"')[2]


@pytest.mark.parametrize("data", [b"", b"{}", b'{"format": 1}', b"\n" + capture("request")])
def test_what_is_no_capture_file_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a capture file"):
        with_identity(data, NEW, 1)


def test_an_exchange_moves_with_both_its_files(store: CaptureStore, slot: Slot) -> None:
    new, line = refile(store, slot, LINE, NEW)
    assert (new.sequence, line.sequence, line.identified_by) == (2, 2, "process")
    assert names(slot.folder) == []
    assert names(new.folder) == [
        "0002_req_v1_messages.json",
        "0002_resp_v1_messages.json",
        "0002_resp_v1_messages.part",
    ]
    for path in (new.request_file, new.response_file):
        told = parse_json(path.read_bytes())
        assert (told["session_id"], told["sequence"]) == ("s-1", 2)


def test_an_interrupted_move_is_finished_from_its_part_file(
    store: CaptureStore, slot: Slot
) -> None:
    copy = capture("response")
    new, _ = refile(store, slot, LINE, NEW)
    write_whole(slot.response_file, copy)  # as if it had been killed before this
    new.response_file.unlink()
    told = parse_json(new.part_file.read_bytes())["moved"]
    line = finish_move(slot.folder, new.folder, told)
    assert line.sequence == 2
    assert names(slot.folder) == []
    assert parse_json(new.response_file.read_bytes())["session_id"] == "s-1"
    assert finish_move(slot.folder, new.folder, told) == line  # finishing twice is harmless
