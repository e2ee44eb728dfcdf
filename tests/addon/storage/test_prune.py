"""Deleting a session: whole or not at all, only our own files, and never one in use."""

import os
import threading
from pathlib import Path

import pytest

from addon.storage.files import locked
from addon.storage.folder import CaptureStore
from addon.storage.packing.pack import pack_session
from addon.storage.prune import (
    InUse,
    delete_log_of_none,
    delete_session,
    finish,
    is_own_file,
    unfinished,
    why_in_use,
)
from correlate.captures.folder import read_exchanges, session_folders
from tests.addon.recording.recorders import RecorderRig
from tests.addon.sudden_death import Killed, killed_after

LATER = float("inf")  # long after the last write


@pytest.fixture
def rig(tmp_path: Path) -> RecorderRig:
    """Two recorded sessions: `s-1` with two exchanges, `s-2` with one."""
    made = RecorderRig(tmp_path)
    for flow, session in (("f-1", "s-1"), ("f-2", "s-1"), ("f-3", "s-2")):
        made.whole(flow, session)
    return made


def test_a_session_is_deleted_and_the_others_stay(rig: RecorderRig) -> None:
    folder = rig.folder("s-1")
    size = sum(path.stat().st_size for path in folder.iterdir())
    count = len(list(folder.iterdir()))
    deleted = delete_session(folder, LATER)
    assert (deleted.session_id, deleted.files, deleted.bytes) == ("s-1", count, size)
    assert deleted.left == ()
    assert sorted(path.name for path in rig.store.root.iterdir()) == [
        ".gitignore",
        "s-2",
        "traffic.log",
    ]
    assert len(rig.lines("s-2")) == 1


def test_a_packed_session_is_deleted(rig: RecorderRig) -> None:
    pack_session(rig.folder("s-1"), now=LATER)
    assert delete_session(rig.folder("s-1"), LATER).left == ()
    assert not rig.folder("s-1").exists()


def test_other_files_are_left_and_named(rig: RecorderRig, tmp_path: Path) -> None:
    folder = rig.folder("s-1")
    outside = tmp_path / "outside.json"
    outside.write_text("mine")
    (folder / "notes.txt").write_text("mine")
    (folder / "0009_req_v1_messages.json").symlink_to(outside)
    (folder / "0008_req_v1_messages.json").mkdir()
    deleted = delete_session(folder, LATER)
    left = ("0008_req_v1_messages.json", "0009_req_v1_messages.json", "notes.txt")
    assert (deleted.folder, deleted.left) == (folder, left)
    assert sorted(path.name for path in folder.iterdir()) == list(left)
    assert outside.read_text() == "mine"
    assert unfinished(rig.store.root) == []
    assert [found.name for found in session_folders(rig.store.root)] == ["s-2"]


def test_a_link_in_place_of_a_session_is_not_followed(rig: RecorderRig, tmp_path: Path) -> None:
    target = rig.folder("s-1").rename(tmp_path / "elsewhere")
    rig.folder("s-1").symlink_to(target)
    with pytest.raises(OSError, match="symbolic link"):
        delete_session(rig.folder("s-1"), LATER)
    assert len(read_exchanges(target)) == 2


def test_a_session_that_was_just_written_is_in_use(rig: RecorderRig) -> None:
    folder = rig.folder("s-1")
    now = max(path.stat().st_mtime for path in folder.iterdir())
    assert why_in_use(folder, now + 60) == "it was written to in the last 2 minutes"
    assert why_in_use(folder, now + 180) is None
    with pytest.raises(InUse, match="last 2 minutes"):
        delete_session(folder, now + 60)
    assert len(rig.lines("s-1")) == 2


def test_an_exchange_in_flight_keeps_its_session(rig: RecorderRig) -> None:
    slot = rig.store.open_slot("s-1", "/v1/messages")
    assert why_in_use(rig.folder("s-1"), LATER) == "an exchange is in flight"
    with pytest.raises(InUse, match="in flight"):
        delete_session(rig.folder("s-1"), LATER)
    slot.part.close()  # as a kill does
    assert why_in_use(rig.folder("s-1"), LATER) is None
    delete_session(rig.folder("s-1"), LATER)
    assert not rig.folder("s-1").exists()


def test_a_running_proxy_keeps_unknown(rig: RecorderRig) -> None:
    rig.whole("f-9")
    assert why_in_use(rig.folder(None), LATER) == "a proxy is running"


@pytest.mark.parametrize(
    "name",
    [
        "manifest.json",
        "exchanges.jsonl",
        ".lock",
        ".recorders",
        "0001_req_v1_messages.json",
        "12345_resp_v1_messages.json",
        "0001_resp_v1_messages.part",
        "0001_resp_v1_messages.part.unreadable",
        "0042_pack.tar.zst",
        ".manifest.json.0123456789abcdef.tmp",
        ".packing.0123456789abcdef.tmp",
    ],
)
def test_every_file_of_a_session_is_ours(name: str) -> None:
    assert is_own_file(name)


@pytest.mark.parametrize(
    "name",
    ["notes.txt", "manifest.json.bak", "1_req_x.json", "0001_note.json", ".tmp", ".gitignore"],
)
def test_no_other_file_is_ours(name: str) -> None:
    assert not is_own_file(name)


def test_a_kill_at_any_point_leaves_a_session_or_what_the_next_prune_deletes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for acts in range(100):
        rig = RecorderRig(tmp_path / str(acts))
        rig.whole("f-1", "s-1")
        rig.whole("f-2", "s-1")
        try:
            with killed_after(monkeypatch, acts):
                delete_session(rig.folder("s-1"), LATER)
        except Killed:
            readable = [len(read_exchanges(found)) for found in session_folders(rig.store.root)]
            assert readable in ([2], [])  # never a part of it
            for hidden in unfinished(rig.store.root):
                assert finish(hidden).left == ()
            if readable:
                delete_session(rig.folder("s-1"), LATER)
        assert [path.name for path in rig.store.root.iterdir() if path.is_dir()] == []
        if not os.path.lexists(rig.folder("s-1")) and acts > 20:
            break
    assert acts > 8  # else nothing was killed in between


def test_what_is_left_of_an_interrupted_deletion_gets_its_name_back(rig: RecorderRig) -> None:
    (rig.folder("s-1") / "notes.txt").write_text("mine")
    hidden = rig.folder("s-1").rename(rig.store.root / ".pruned-s-1-0123abcd")
    assert unfinished(rig.store.root) == [hidden]
    assert finish(hidden).left == ("notes.txt",)
    assert [path.name for path in rig.folder("s-1").iterdir()] == ["notes.txt"]


def test_what_is_left_stays_hidden_if_the_session_was_continued(rig: RecorderRig) -> None:
    (rig.folder("s-1") / "notes.txt").write_text("mine")
    hidden = rig.folder("s-1").rename(rig.store.root / ".pruned-s-1-0123abcd")
    rig.whole("f-4", "s-1")
    deleted = finish(hidden)
    assert (deleted.folder, deleted.left) == (hidden, ("notes.txt",))
    assert len(rig.lines("s-1")) == 1


def test_a_proxy_that_waits_for_the_lock_starts_a_new_folder(rig: RecorderRig) -> None:
    """It has opened the lock file of the folder that is deleted meanwhile."""
    folder = rig.folder("s-1")
    opened: list[int] = []

    def capture() -> None:
        slot = CaptureStore(rig.store.root).open_slot("s-1", "/v1/messages")
        opened.append(slot.sequence)
        slot.part.close()

    proxy = threading.Thread(target=capture)
    with locked(folder):
        proxy.start()
        proxy.join(0.2)
        assert proxy.is_alive()
        hidden = folder.rename(rig.store.root / ".pruned-s-1-0123abcd")
        finish(hidden)
    proxy.join(10)
    assert opened == [1]
    names = [path.name for path in folder.iterdir()]
    assert sorted(names) == [".lock", "0001_resp_v1_messages.part"]


def test_a_lock_whose_folder_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), locked(tmp_path / "gone"):
        pass


def test_the_log_goes_with_the_last_session(rig: RecorderRig) -> None:
    root = rig.store.root
    assert not delete_log_of_none(root)
    for session in ("s-1", "s-2"):
        delete_session(rig.folder(session), LATER)
    assert delete_log_of_none(root)
    assert [path.name for path in root.iterdir()] == [".gitignore"]
    assert not delete_log_of_none(root)
