"""A pack restores each file byte for byte, and damage is detected."""

import os
import random
import subprocess
from pathlib import Path

import orjson
import pytest
import zstandard

from ccwire.wire.format import file_name
from ccwire.wire.pack import (
    PackDamaged,
    described,
    exchange_files,
    members,
    packs,
    read_index,
    restore,
    verify,
    write_pack,
)
from correlate.captures.folder import read_request, read_response, request_file, response_file


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


def packed(folder: Path) -> Path:
    """Pack the folder and delete its files."""
    files = exchange_files(folder)
    pack = folder / "0005_pack.tar.zst"
    write_pack(pack, None, files)
    for path in files:
        path.unlink()
    return pack


def test_files_come_back_byte_for_byte_with_mode_and_time(folder: Path) -> None:
    before = {path.name: (path.read_bytes(), described(path)) for path in exchange_files(folder)}
    pack = packed(folder)
    assert exchange_files(folder) == []
    restore(pack, folder)
    after = {path.name: (path.read_bytes(), described(path)) for path in exchange_files(folder)}
    assert after == before
    assert {told.mode for _, told in after.values()} == {0o600}


def test_what_repeats_is_stored_once(tmp_path: Path) -> None:
    noise = random.Random(5).randbytes(200_000).hex()
    for number in range(1, 21):
        write_exchange(tmp_path, number, noise[: number * 20_000])
    pack = packed(tmp_path)
    assert pack.stat().st_size < 0.7 * len(noise)


def test_plain_tar_opens_a_pack(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = {path.name: path.read_bytes() for path in exchange_files(folder)}
    out = tmp_path_factory.mktemp("out")
    with packed(folder).open("rb") as file:
        plain = zstandard.ZstdDecompressor().stream_reader(file).read()
    subprocess.run(["tar", "-xf", "-", "-C", str(out)], input=plain, check=True)
    assert {p.name: p.read_bytes() for p in exchange_files(out)} == before
    assert (out / file_name(1, "req", "/v1/messages")).stat().st_mtime_ns % 1000 == 790


def test_a_pack_takes_in_an_older_one(folder: Path) -> None:
    older = packed(folder)
    write_exchange(folder, 6, "one more")
    newer = folder / "0006_pack.tar.zst"
    write_pack(newer, older, exchange_files(folder))
    assert [entry.name for entry in read_index(newer)][-1].startswith("0006_resp")
    assert [(e, d) for e, d in members(newer)][:10] == list(members(older))
    assert len(verify(newer)) == 12
    assert packs(folder) == [newer, older]


def test_readers_find_packed_files_in_any_order(folder: Path) -> None:
    packed(folder)
    for number in (3, 1, 5, 4, 2, 2):
        assert read_request(folder, number)["sequence"] == number
        assert read_response(folder, number)["direction"] == "resp"
    assert request_file(folder, 4) == folder / file_name(4, "req", "/v1/messages")
    assert response_file(folder, 6) is None
    with pytest.raises(FileNotFoundError):
        read_request(folder, 6)


def test_readers_go_back_in_a_pack_larger_than_what_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("correlate.captures.packed._KEPT_BYTES", 1)
    packed(folder)
    for number in (5, 1, 2, 1):
        assert read_request(folder, number)["sequence"] == number


def test_an_open_file_goes_before_a_packed_one(folder: Path) -> None:
    packed(folder)
    write_exchange(folder, 2, "newer")
    assert read_request(folder, 2)["text"] == "newer"


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other"])
def test_damage_is_noticed(folder: Path, damage: str) -> None:
    pack = packed(folder)
    data = bytearray(pack.read_bytes())
    match damage:
        case "cut":
            data = data[: len(data) // 2]
        case "flipped":
            data[len(data) // 2] ^= 0xFF
        case "empty":
            data = bytearray()
        case "other":
            data = bytearray(zstandard.compress(b"not a tar at all" * 100))
    pack.write_bytes(data)
    with pytest.raises(PackDamaged):
        verify(pack)


def test_a_file_that_is_not_the_packed_one_is_not_written_over(folder: Path) -> None:
    pack = packed(folder)
    write_exchange(folder, 2, "mine")
    with pytest.raises(PackDamaged, match="exists and differs from the one"):
        restore(pack, folder)
    assert read_request(folder, 2)["text"] == "mine"


def test_a_name_that_leads_elsewhere_is_refused(folder: Path) -> None:
    strange = folder / "0001_req_x.json"
    strange.write_bytes(b"{}")
    pack = folder / "0001_pack.tar.zst"
    write_pack(pack, None, [strange])
    plain = zstandard.ZstdDecompressor().stream_reader(pack.read_bytes()).read()
    pack.write_bytes(zstandard.compress(plain.replace(b"0001_req_x.json", b"../1_req_x.json")))
    with pytest.raises(PackDamaged, match="not an exchange file"):
        restore(pack, folder)
