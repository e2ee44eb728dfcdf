"""Whatever happens while a session is packed or unpacked, nothing is lost."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from addon.storage.packing.pack import Busy, pack_session, unpack_session
from addon.storage.packing.segments import SegmentWriter
from ccwire.wire.format import PART_SUFFIX
from ccwire.wire.pack.files import PackDamaged, exchange_files
from ccwire.wire.pack.reader import packs, segments
from lab.made_session import MadeSession
from tests.addon.storage.exchange_files import all_there, contents, write_files
from tests.ccwire.wire.pack.tar_packs import tar_pack

LATER = time.time() + 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A captured session that was last written to long ago."""
    made = MadeSession("11111111-2222-4333-8444-555555555555")
    made.prompt("go")
    made.call(("text",))
    folder = made.write_capture(tmp_path / "captures")
    write_files(folder, range(1, 4))
    for path in folder.iterdir():
        os.utime(path, (1_794_000_000, 1_794_000_000))
    return folder


def test_packing_and_unpacking_brings_everything_back(folder: Path) -> None:
    before = contents(folder)
    packed = pack_session(folder, now=LATER)
    assert (packed.did, packed.files) == ("packed", 6)
    assert packed.after < packed.before
    assert (exchange_files(folder), len(packs(folder))) == ([], 1)
    assert pack_session(folder, now=LATER).did == "nothing to do"
    unpacked = unpack_session(folder, now=LATER)
    assert (unpacked.did, unpacked.files) == ("unpacked", 6)
    assert (contents(folder), packs(folder)) == (before, [])
    assert unpack_session(folder, now=LATER).did == "nothing to do"


def test_a_full_disk_loses_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(folder)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("addon.storage.packing.segments.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        pack_session(folder, now=LATER)
    assert contents(folder) == before
    monkeypatch.undo()
    assert pack_session(folder, now=LATER).did == "packed"
    assert unpack_session(folder, now=LATER).did == "unpacked"
    assert contents(folder) == before


@pytest.mark.parametrize("unpack", [False, True], ids=["pack", "unpack"])
def test_killed_at_any_file_operation_nothing_is_lost(folder: Path, unpack: bool) -> None:
    for path in exchange_files(folder)[2:]:
        path.unlink()
    before = contents(folder)
    data = {name: content for name, (content, _) in before.items()}
    act = unpack_session if unpack else pack_session
    moment = 0
    while True:
        if unpack:
            pack_session(folder, now=LATER)
        killed = _killed_at(moment, folder, act)
        assert all_there(folder) == data, f"at operation {moment}"
        unpack_session(folder, now=LATER)
        assert contents(folder) == before
        assert sorted(p.name for p in folder.iterdir() if p.name.startswith(".")) == [".lock"]
        if not killed:
            break
        moment += 1
    assert moment > 10


def _killed_at(moment: int, folder: Path, act: Any) -> bool:
    """Has a child do it, killed before its file operation of that number; False: it got by."""
    child = os.fork()
    if child == 0:
        left = moment

        def count(event: str, _: object) -> None:
            nonlocal left
            if event in ("open", "os.rename", "os.remove", "os.chmod", "os.utime", "os.truncate"):
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1

        sys.addaudithook(count)
        act(folder, now=LATER)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0 or os.WTERMSIG(status) == signal.SIGKILL, status
    return status != 0


@pytest.mark.parametrize("act", [pack_session, unpack_session])
def test_a_session_under_way_is_refused(folder: Path, act: Any) -> None:
    with pytest.raises(Busy, match="written to in the last 10 seconds"):
        act(folder, now=1_794_000_001)
    (folder / f"0004_resp_v1_messages{PART_SUFFIX}").write_bytes(b"")
    with pytest.raises(Busy, match="an exchange is in flight"):
        act(folder, now=LATER)


def test_a_pack_of_the_older_format_is_unpacked_too(folder: Path) -> None:
    before = contents(folder)
    tar_pack(folder)
    write_files(folder, range(4, 6))
    later = all_there(folder)
    pack_session(folder, now=LATER)
    assert all_there(folder) == later
    assert len(packs(folder)) == 2
    assert unpack_session(folder, now=LATER).files == 10
    assert packs(folder) == []
    assert {name: data for name, (data, _) in contents(folder).items()} == later
    assert before.keys() < later.keys()


def test_unpacking_a_damaged_segment_restores_the_rest_and_names_the_lost(folder: Path) -> None:
    before = contents(folder)
    for path in exchange_files(folder):
        SegmentWriter(folder).append([path])
        path.unlink()
    (segment,) = segments(folder)
    data = bytearray(segment.read_bytes())
    second = data.index(b"\x9eccw", 1)
    data[second + 45] ^= 0xFF  # of the response of exchange 1
    segment.write_bytes(data)
    with pytest.raises(PackDamaged, match=segment.name) as damage:
        unpack_session(folder, now=LATER)
    assert str(damage.value) == "0001_pack.seg is damaged; lost: 1"
    assert segment.exists()
    assert {**before, **contents(folder)} == before
    assert len(contents(folder)) == len(before) - 1


def test_a_file_that_is_not_the_packed_one_is_left_alone(folder: Path) -> None:
    pack_session(folder, now=LATER)
    mine = folder / "0002_req_v1_messages.json"
    mine.write_bytes(b"mine")
    for act in (pack_session, unpack_session):
        with pytest.raises(PackDamaged, match="differs from the"):
            act(folder, now=LATER)
    assert mine.read_bytes() == b"mine"
    assert len(packs(folder)) == 1


def test_packing_neither_reads_nor_removes_a_planted_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    folder = tmp_path / "session"
    folder.mkdir()
    write_files(folder, range(1, 3))
    (folder / "0009_req_x.json").symlink_to(outside)
    (folder / "0001_pack.seg").symlink_to(outside)
    with pytest.raises(FileExistsError):
        pack_session(folder, now=LATER)
    (folder / "0001_pack.seg").unlink()
    pack_session(folder, now=LATER)
    assert len(all_there(folder)) == 4
    assert outside.read_bytes() == b"precious"


def test_a_file_that_is_not_the_recorder_s_or_too_large_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, range(1, 2))
    odd = tmp_path / '0002_req_"quoted".json'
    odd.write_bytes(b"{}")
    large = tmp_path / "0003_resp_v1_messages.json"
    large.write_bytes(b"1" * 10_000)
    monkeypatch.setattr("addon.storage.packing.segments._LARGEST", {0: 9_999, 1: 9_999})
    assert pack_session(tmp_path, now=LATER).files == 2
    assert exchange_files(tmp_path) == [odd, large]
    assert len(all_there(tmp_path)) == 4
