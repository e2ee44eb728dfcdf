from collections.abc import Iterator
from pathlib import Path

import pytest

from addon.hooks.sessions import SessionEntry
from addon.storage.files import append_lines
from addon.storage.folder import CaptureStore, read_lines
from addon.storage.index import Finished, SessionIndex, current_manifest, enter_once, recount
from addon.storage.manifest import MOST_GAPS
from ccwire.wire.format import Exchange, Manifest
from ccwire.wire.json_text import dump, parse_json
from tests.addon.full_disk import FullDisk, full_disk

PATH = "/v1/messages"


@pytest.fixture
def store(tmp_path: Path) -> CaptureStore:
    return CaptureStore(tmp_path / "captures")


@pytest.fixture
def index(store: CaptureStore) -> SessionIndex:
    entry = SessionEntry(session_id="s-1", project_dir="/p", transcript_path="/t.jsonl")
    return SessionIndex(store, lambda session_id: entry if session_id == "s-1" else None)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[FullDisk]:
    with full_disk(monkeypatch) as disk:
        yield disk


def exchange(sequence: int, model: str = "m") -> Exchange:
    return Exchange(
        sequence=sequence,
        flow_id=f"f-{sequence}",
        started=1.0,
        method="POST",
        host="h",
        path=PATH,
        kind="messages",
        status=200,
        model=model,
        complete=True,
    )


def finished(store: CaptureStore, session: str = "s-1", conflicts: int = 0) -> Finished:
    slot = store.open_slot(session, PATH)
    return Finished(slot, exchange(slot.sequence), conflicts)


def sequences(store: CaptureStore, session: str = "s-1") -> list[int]:
    return [e.sequence for e in read_lines(store.root / session / "exchanges.jsonl")]


def manifest(store: CaptureStore, session: str = "s-1") -> Manifest:
    return current_manifest(store.root / session)


def in_flight(store: CaptureStore) -> list[str]:
    return sorted(path.name for path in store.root.glob("*/*.part"))


def test_a_batch_is_entered_at_once(store: CaptureStore, index: SessionIndex) -> None:
    for _ in range(3):
        index.enter("s-1", finished(store, conflicts=1))
    index.gap("s-1", {"kind": "capture_error", "detail": "disk too slow"})
    assert len(in_flight(store)) == 3
    index.write()
    assert sequences(store) == [1, 2, 3]
    told = manifest(store)
    assert (told.counts["exchanges"], told.counts["capture_errors"], told.conflicts) == (3, 1, 3)
    assert (told.cwd, told.transcript_paths) == ("/p", ["/t.jsonl"])
    assert (store.root / "traffic.log").read_text().count("POST h/v1/messages") == 3
    assert in_flight(store) == []
    index.write()
    assert sequences(store) == [1, 2, 3]


@pytest.mark.parametrize("room", range(0, 2500, 250))
def test_what_a_full_disk_refused_is_entered_once_there_is_room(
    store: CaptureStore, index: SessionIndex, disk: FullDisk, room: int
) -> None:
    index.enter("s-1", finished(store))
    index.enter("s-1", finished(store))
    index.gap("s-1", {"kind": "capture_error", "detail": "disk too slow"})
    disk.room = room
    try:
        index.write()
    except OSError:
        assert in_flight(store) or (store.root / "traffic.log").exists()
    disk.room = None
    index.enter("s-1", finished(store))
    index.write()
    assert sequences(store) == [1, 2, 3]
    told = manifest(store)
    assert (told.counts["exchanges"], told.counts["capture_errors"]) == (3, 1)
    assert in_flight(store) == []


def test_one_folder_that_cannot_be_written_does_not_hold_up_the_others(
    store: CaptureStore, index: SessionIndex, tmp_path: Path
) -> None:
    for session in ("s-1", "s-2", "s-3"):
        index.enter(session, finished(store, session))
    moved = tmp_path / "elsewhere"
    (store.root / "s-2").rename(moved)
    (store.root / "s-2").symlink_to(moved)
    with pytest.raises(OSError, match="symbolic link"):
        index.write()
    assert sequences(store, "s-1") == sequences(store, "s-3") == [1]
    (store.root / "s-2").unlink()
    moved.rename(store.root / "s-2")
    index.write()
    assert sequences(store, "s-2") == [1]


def test_a_log_that_cannot_be_written_costs_no_line(
    store: CaptureStore, index: SessionIndex
) -> None:
    index.enter("s-1", finished(store))
    (store.root / "traffic.log").mkdir()
    with pytest.raises(IsADirectoryError):
        index.write()
    assert sequences(store) == [1]
    assert in_flight(store) == []
    index.write()
    assert manifest(store).counts["exchanges"] == 1


@pytest.mark.parametrize(
    "found", [b"", b"{", b"[]", b'{"session_id":"s-1","counts":5}', b"\xff", b"null"]
)
def test_a_manifest_that_is_none_is_made_anew_from_the_lines(
    store: CaptureStore, index: SessionIndex, found: bytes
) -> None:
    index.enter("s-1", finished(store))
    index.write()
    (store.root / "s-1" / "manifest.json").write_bytes(found)
    index.enter("s-1", finished(store))
    index.write()
    told = manifest(store)
    assert told.counts["exchanges"] == 2
    assert [gap["kind"] for gap in told.gaps] == ["manifest_lost"]


def test_a_manifest_that_is_gone_is_made_anew_from_the_lines(
    store: CaptureStore, index: SessionIndex
) -> None:
    index.enter("s-1", finished(store))
    index.write()
    (store.root / "s-1" / "manifest.json").unlink()
    index.enter("s-1", finished(store))
    index.write()
    assert (manifest(store).counts["exchanges"], manifest(store).gaps) == (2, [])


def test_a_manifest_that_is_a_link_is_replaced(
    store: CaptureStore, index: SessionIndex, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.json"
    outside.write_bytes(dump(Manifest(session_id="else", conflicts=9).to_json()))
    (store.folder("s-1") / "manifest.json").symlink_to(outside)
    index.enter("s-1", finished(store))
    index.write()
    assert (manifest(store).session_id, manifest(store).conflicts) == ("s-1", 0)
    assert parse_json(outside.read_bytes())["conflicts"] == 9


def test_names_from_the_wire_that_are_no_text_are_entered(
    store: CaptureStore, index: SessionIndex
) -> None:
    slot = store.open_slot("s-1", PATH)
    index.enter("s-1", Finished(slot, exchange(slot.sequence, model="\ud800")))
    index.write()
    assert manifest(store).models == ["\ud800"]
    (line,) = read_lines(store.root / "s-1" / "exchanges.jsonl")
    assert line.model == "\ud800"


def test_gaps_that_cannot_be_written_are_counted_and_the_newest_listed(
    store: CaptureStore, index: SessionIndex
) -> None:
    for number in range(3000):
        index.gap(None, {"kind": "capture_error", "detail": f"loss {number}"})
    index.write()
    written = manifest(store, "unknown")
    assert written.counts["capture_errors"] == 3000
    assert len(written.gaps) == MOST_GAPS
    assert written.gaps[-1]["detail"] == "loss 2999"


def test_a_line_is_entered_once(store: CaptureStore) -> None:
    folder = store.folder("s-1")
    enter_once(folder, exchange(1))
    enter_once(folder, exchange(1))
    assert sequences(store) == [1]


def test_a_recount_makes_the_manifest_agree(store: CaptureStore) -> None:
    folder = store.folder("s-1")
    append_lines(folder / "exchanges.jsonl", [dump(exchange(n).to_json()) for n in (1, 2)])
    recount(folder, {"kind": "recovered", "detail": "killed"})
    recount(folder)
    assert manifest(store).counts["exchanges"] == 2
    assert [gap["kind"] for gap in manifest(store).gaps] == ["recovered"]
