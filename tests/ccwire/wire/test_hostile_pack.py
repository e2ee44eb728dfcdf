"""A pack is untrusted: whatever it contains, reading it ends in PackDamaged or in its files."""

import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from addon.storage.pack import pack_session, unpack_session
from ccwire.wire.pack import PackDamaged, members, packs, read_index, restore, verify
from tests.addon.storage.exchange_files import write_files

LATER = 4e9
NAME = "0001_req_v1_messages.json"
DATA = b"{}"
ENTRY = {
    "name": NAME,
    "size": len(DATA),
    "mode": 0o600,
    "mtime_ns": 1_794_000_000_000_000_000,
    "sha256": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
}


def written(folder: Path, index: Any, *files: tuple[tarfile.TarInfo, bytes]) -> Path:
    """Write a pack with this index and these members."""
    listed = tarfile.TarInfo("index.json")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for member, data in ((listed, json.dumps(index).encode()), *files):
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    folder.mkdir(exist_ok=True)
    pack = folder / "0001_pack.tar.zst"
    pack.write_bytes(zstandard.ZstdCompressor().compress(out.getvalue()))
    return pack


def member(name: str = NAME, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode = kind, "../../outside", 0o4777
    return made


@pytest.mark.parametrize(
    "change",
    [
        {"name": 5},
        {"name": "../x"},
        {"name": "/etc/0001_req_x.json"},
        {"name": "0001_req_/../x.json"},
        {"size": "2"},
        {"size": -1},
        {"size": 1 << 50},
        {"size": 3},
        {"mode": None},
        {"mode": 1 << 40},
        {"mtime_ns": -1},
        {"mtime_ns": 10**30},
        {"mtime_ns": 1.5},
        {"sha256": None},
        {"sha256": "0" * 64},
    ],
)
def test_an_odd_value_in_the_index_is_damage(tmp_path: Path, change: dict[str, Any]) -> None:
    pack = written(tmp_path, [{**ENTRY, **change}], (member(), DATA))
    for read in (verify, lambda path: restore(path, tmp_path)):
        with pytest.raises(PackDamaged):
            read(pack)
    assert list(tmp_path.iterdir()) == [pack]


@pytest.mark.parametrize("index", [{}, 7, None, [7], [[]], [{}], [ENTRY, ENTRY]])
def test_an_index_of_another_shape_is_damage(tmp_path: Path, index: Any) -> None:
    with pytest.raises(PackDamaged):
        read_index(written(tmp_path, index, (member(), DATA)))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE]
)
def test_a_member_that_is_no_file_is_damage(tmp_path: Path, kind: bytes) -> None:
    pack = written(tmp_path, [{**ENTRY, "size": 0}], (member(kind=kind), b""))
    with pytest.raises(PackDamaged):
        restore(pack, tmp_path)


def test_a_member_twice_is_damage(tmp_path: Path) -> None:
    with pytest.raises(PackDamaged):
        list(members(written(tmp_path, [ENTRY], (member(), DATA), (member(), DATA))))


def test_a_pack_cut_anywhere_is_damage(tmp_path: Path) -> None:
    pack = written(tmp_path, [ENTRY], (member(), DATA))
    data = pack.read_bytes()
    for length in range(len(data) - 1):
        pack.write_bytes(data[:length])
        with pytest.raises(PackDamaged):
            verify(pack)


def test_a_member_that_expands_beyond_its_entry_is_not_read(tmp_path: Path) -> None:
    pack = written(tmp_path, [ENTRY], (member(), bytes(64 << 20)))
    with pytest.raises(PackDamaged, match="index lacks"):
        list(members(pack))


def test_restored_files_are_private_whatever_the_index_lists(tmp_path: Path) -> None:
    restore(written(tmp_path, [{**ENTRY, "mode": 0o4777}], (member(), DATA)), tmp_path)
    assert (tmp_path / NAME).stat().st_mode & 0o7777 == 0o600


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "outside"
    path.write_bytes(b"precious")
    return path


def plant_in_the_place_of_a_file(folder: Path, outside: Path) -> None:
    (folder / NAME).symlink_to(outside)


def plant_a_temporary(folder: Path, outside: Path) -> None:
    for name in (f".{NAME}.tmp", ".packing.tmp"):
        (folder / name).symlink_to(outside)


@pytest.mark.parametrize("plant", [plant_in_the_place_of_a_file, plant_a_temporary])
def test_a_planted_link_is_not_followed(
    tmp_path: Path, outside: Path, plant: Callable[[Path, Path], None]
) -> None:
    folder = tmp_path / "session"
    written(folder, [ENTRY], (member(), DATA))
    plant(folder, outside)
    try:
        unpack_session(folder, now=LATER)
    except OSError as error:
        assert plant is plant_in_the_place_of_a_file, error
    assert outside.read_bytes() == b"precious"


def test_packing_neither_reads_nor_removes_a_planted_link(tmp_path: Path, outside: Path) -> None:
    folder = tmp_path / "session"
    folder.mkdir()
    write_files(folder, range(1, 3))
    (folder / "0009_req_x.json").symlink_to(outside)
    plant_a_temporary(folder, outside)
    pack_session(folder, now=LATER)
    (pack,) = packs(folder)
    assert "0009_req_x.json" not in [entry.name for entry in read_index(pack)]
    assert outside.read_bytes() == b"precious"


def test_a_pipe_in_the_place_of_a_pack_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "0001_pack.tar.zst")
    with pytest.raises(OSError, match="Not a regular file"):
        read_index(tmp_path / "0001_pack.tar.zst")
