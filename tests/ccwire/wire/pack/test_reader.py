"""An exchange file is found wherever it is: open, in a segment, or in an older pack."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from addon.storage.packing.segments import SegmentWriter
from ccwire.wire.format import file_name
from ccwire.wire.pack.files import PackDamaged, as_ranges, exchange_files
from ccwire.wire.pack.reader import ExchangeFiles, packs, segments, tar_packs
from correlate.captures.folder import read_request, read_response, request_file, response_file
from tests.addon.storage.exchange_files import all_there, pack_files
from tests.ccwire.wire.pack.tar_packs import tar_pack

Packing = Callable[[Path], object]
FORMS = pytest.mark.parametrize("pack", [pack_files, tar_pack], ids=["segment", "tar"])


def write_exchange(folder: Path, number: int, text: str) -> None:
    for direction in ("req", "resp"):
        path = folder / file_name(number, direction, "/v1/messages")
        path.write_bytes(orjson.dumps({"sequence": number, "direction": direction, "text": text}))
        path.chmod(0o600)
        os.utime(path, ns=(1, 1_794_000_000_123_456_789 + number))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(1, 6):
        write_exchange(tmp_path, number, f"the text of exchange {number} " * 20)
    return tmp_path


@FORMS
def test_packed_files_are_found_in_any_order(folder: Path, pack: Packing) -> None:
    pack(folder)
    assert exchange_files(folder) == []
    for number in (3, 1, 5, 4, 2, 2):
        assert read_request(folder, number)["sequence"] == number
        assert read_response(folder, number)["direction"] == "resp"
    assert request_file(folder, 4) == folder / file_name(4, "req", "/v1/messages")
    assert response_file(folder, 6) is None
    with pytest.raises(FileNotFoundError):
        read_request(folder, 6)


def test_readers_go_back_in_a_tar_larger_than_what_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ccwire.wire.pack.tar._KEPT_BYTES", 1)
    tar_pack(folder)
    for number in (5, 1, 2, 1):
        assert read_request(folder, number)["sequence"] == number


@FORMS
def test_an_open_file_goes_before_a_packed_one(folder: Path, pack: Packing) -> None:
    pack(folder)
    write_exchange(folder, 2, "newer")
    assert read_request(folder, 2)["text"] == "newer"


def test_files_in_all_three_places_are_one_list(folder: Path) -> None:
    before = all_there(folder)
    tar_pack(folder)
    write_exchange(folder, 6, "six")
    pack_files(folder)
    write_exchange(folder, 7, "seven")
    assert list(all_there(folder))[:10] == list(before)
    assert [key[0] for key in ExchangeFiles(folder).all_keys()][::2] == [1, 2, 3, 4, 5, 6, 7]
    assert ExchangeFiles(folder).sizes() == {n: len(d) for n, d in all_there(folder).items()}


def test_a_file_that_is_packed_after_it_was_listed_is_found(folder: Path) -> None:
    files = ExchangeFiles(folder)
    pack_files(folder)
    assert files.file((3, "req")).name == file_name(3, "req", "/v1/messages")
    write_exchange(folder, 6, "later")
    assert orjson.loads(files.file((6, "req")).data)["text"] == "later"
    pack_files(folder)
    assert orjson.loads(files.file((6, "resp")).data)["text"] == "later"


def test_a_file_that_is_unpacked_while_it_is_looked_for_is_found(folder: Path) -> None:
    before = all_there(folder)
    pack_files(folder)
    files = ExchangeFiles(folder)
    for name, data in before.items():
        (folder / name).write_bytes(data)
    segments(folder)[0].unlink()
    assert files.file((3, "req")).data == before[file_name(3, "req", "/v1/messages")]


@FORMS
@pytest.mark.parametrize("cut", [0.0, 0.3, 0.9], ids=["empty", "early", "late"])
def test_what_a_cut_pack_lacks_is_named_with_the_pack(
    folder: Path, pack: Packing, cut: float
) -> None:
    pack(folder)
    (path,) = packs(folder)
    data = bytearray(path.read_bytes())
    if path in segments(folder):  # a segment that is merely cut off is not damaged
        data[int(len(data) * cut)] ^= 0xFF
    else:
        data = data[: int(len(data) * cut)]
    path.write_bytes(data)
    with pytest.raises(PackDamaged, match=path.name):
        for number in range(1, 6):
            read_request(folder, number)
            read_response(folder, number)


def test_only_the_newest_of_the_older_packs_is_read(folder: Path) -> None:
    older = tar_pack(folder)
    kept = older.rename(folder / "kept")
    write_exchange(folder, 6, "six")
    newer = tar_pack(folder)
    kept.rename(older)
    assert tar_packs(folder) == [newer, older]
    assert packs(folder) == [newer]


def test_the_exchanges_that_a_damaged_segment_lacks_are_named(folder: Path) -> None:
    for path in exchange_files(folder):
        SegmentWriter(folder).append([path])
        path.unlink()
    (segment,) = segments(folder)
    data = bytearray(segment.read_bytes())
    records = [m.start() for m in re.finditer(rb"\x9eccw", data)]
    data[records[4] + 45] ^= 0xFF  # the request of exchange 3
    data[records[7] + 45] ^= 0xFF  # the response of exchange 4
    segment.write_bytes(data)
    files = ExchangeFiles(folder)
    assert files.lost(range(1, 6)) == [4]
    assert files.damaged() == [segment]
    with pytest.raises(PackDamaged, match=r"0001_pack\.seg is damaged; req file 0003 is not in it"):
        files.file((3, "req"))
    assert files.file((3, "resp")).name == file_name(3, "resp", "/v1/messages")
    assert as_ranges([1, 2, 3, 5, 8, 9]) == "1 to 3, 5, 8 to 9"
