"""Whatever happens while a session is packed or unpacked, nothing is lost."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from addon.storage.pack import Busy, pack_session, unpack_session
from ccwire.wire.format import PART_SUFFIX
from ccwire.wire.pack import exchange_files, packs
from lab.made_session import MadeSession
from tests.addon.storage.exchange_files import all_there, contents, write_files

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

    monkeypatch.setattr("ccwire.wire.pack.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        pack_session(folder, now=LATER)
    assert contents(folder) == before
    assert list(folder.glob(".packing*")) == []


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
            if event in ("open", "os.rename", "os.remove", "os.chmod", "os.utime"):
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
