"""A pack of the older format is untrusted: reading it ends in PackDamaged or in its files."""

import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from addon.storage.packing.pack import unpack_session
from ccwire.wire.pack.files import PackDamaged
from ccwire.wire.pack.reader import ExchangeFiles
from ccwire.wire.pack.tar import TarPack
from tests.ccwire.wire.pack.tar_packs import DATA, ENTRY, NAME, member, written

LATER = 4e9


def read_all(pack: Path) -> None:
    opened = TarPack(pack)
    for name in opened.names:
        opened.read(name)


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
    with pytest.raises(PackDamaged):
        read_all(pack)
    with pytest.raises(PackDamaged):
        unpack_session(tmp_path, now=LATER)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", pack.name]


@pytest.mark.parametrize("index", [{}, 7, None, [7], [[]], [{}], [ENTRY, ENTRY]])
def test_an_index_of_another_shape_is_damage(tmp_path: Path, index: Any) -> None:
    with pytest.raises(PackDamaged):
        TarPack(written(tmp_path, index, (member(), DATA)))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE]
)
def test_a_member_that_is_no_file_is_damage(tmp_path: Path, kind: bytes) -> None:
    pack = written(tmp_path, [{**ENTRY, "size": 0}], (member(kind=kind), b""))
    with pytest.raises(PackDamaged):
        read_all(pack)


def test_a_pack_cut_anywhere_is_damage(tmp_path: Path) -> None:
    pack = written(tmp_path, [ENTRY], (member(), DATA))
    data = pack.read_bytes()
    for length in range(len(data) - 1):
        pack.write_bytes(data[:length])
        with pytest.raises(PackDamaged):
            read_all(pack)


def test_a_member_that_expands_beyond_its_entry_is_not_read(tmp_path: Path) -> None:
    pack = written(tmp_path, [ENTRY], (member(), bytes(64 << 20)))
    with pytest.raises(PackDamaged, match="index lacks"):
        read_all(pack)


def test_restored_files_are_private_whatever_the_index_lists(tmp_path: Path) -> None:
    written(tmp_path, [{**ENTRY, "mode": 0o4777}], (member(), DATA))
    unpack_session(tmp_path, now=LATER)
    assert (tmp_path / NAME).stat().st_mode & 0o7777 == 0o600


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "outside"
    path.write_bytes(b"precious")
    return path


def plant_in_the_place_of_a_file(folder: Path, outside: Path) -> None:
    (folder / NAME).symlink_to(outside)


def plant_a_temporary(folder: Path, outside: Path) -> None:
    (folder / f".{NAME}.tmp").symlink_to(outside)


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


def test_a_pipe_in_the_place_of_a_pack_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "0001_pack.tar.zst")
    with pytest.raises(OSError, match="Not a regular file"):
        TarPack(tmp_path / "0001_pack.tar.zst")
    assert ExchangeFiles(tmp_path).all_keys() == []
