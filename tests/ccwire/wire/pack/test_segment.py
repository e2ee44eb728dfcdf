"""A segment gives back each file as it was, reads little for it, and loses little when damaged."""

import random
import zlib
from pathlib import Path

import orjson
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from addon.storage.packing.segments import SegmentWriter
from ccwire.wire.format import file_name
from ccwire.wire.pack.files import PackDamaged, PackedFile, exchange_files
from ccwire.wire.pack.reader import segments
from ccwire.wire.pack.records import INDEX, REQUESTS, StreamPiece, encode_record
from ccwire.wire.pack.segment import Segment, encode_line
from tests.addon.storage.exchange_files import pack_files, write_files

NAME = "0001_req_v1_messages.json"
MAGIC = bytes.fromhex("9e636377")


@pytest.fixture
def segment(tmp_path: Path) -> Segment:
    """Forty exchanges, each in a record of its own."""
    writer = SegmentWriter(tmp_path)
    for number in range(1, 41):
        write_files(tmp_path, range(number, number + 1))
        for path in writer.append(exchange_files(tmp_path)):
            path.rename(tmp_path / f"kept-{path.name}")
    (path,) = segments(tmp_path)
    return Segment(path)


def original(segment: Segment, name: str) -> bytes:
    return (segment.path.parent / f"kept-{name}").read_bytes()


def readable(path: Path) -> set[str]:
    """Return the names of the files that can be read; each is what it was."""
    segment = Segment(path)
    found = set()
    for name in segment.names:
        try:
            data = segment.read(name)
        except PackDamaged:
            continue
        assert data == original(segment, name)
        found.add(name)
    return found


def test_every_file_is_read_as_it_was(segment: Segment) -> None:
    assert len(readable(segment.path)) == 80
    assert segment.names[0] == NAME
    assert segment.entry(NAME).size == len(original(segment, NAME))
    assert not segment.is_damaged


def test_what_repeats_is_stored_once(tmp_path: Path) -> None:
    noise = random.Random(5).randbytes(200_000).hex()
    for number in range(1, 21):
        texts = [noise[n * 1000 : n * 1000 + 1000] for n in range(20 * number)]
        messages = [{"role": "user", "content": text} for text in texts]
        path = tmp_path / file_name(number, "req", "/v1/messages")
        path.write_bytes(orjson.dumps({"sequence": number, "messages": messages}))
    total = sum(path.stat().st_size for path in exchange_files(tmp_path))
    pack_files(tmp_path)
    (path,) = segments(tmp_path)
    assert total > 4_000_000
    assert path.stat().st_size < 0.6 * len(noise)


def test_reading_a_file_does_not_decompress_the_others(tmp_path: Path) -> None:
    chance = random.Random(9)
    messages: list[dict[str, str]] = []
    total = 0
    writer = SegmentWriter(tmp_path)
    for number in range(1, 201):
        messages.append({"role": "user", "content": chance.randbytes(1500).hex()})
        path = tmp_path / file_name(number, "req", "/v1/messages")
        path.write_bytes(orjson.dumps({"sequence": number, "messages": messages}))
        total += path.stat().st_size
        writer.append([path])
        path.unlink()
    shares = []
    for number in range(1, 201, 9):
        segment = Segment(segments(tmp_path)[-1])
        name = file_name(number, "req", "/v1/messages")
        for path in segments(tmp_path):
            segment = Segment(path)
            if name in segment:
                break
        segment.read(name)
        shares.append(segment.inflated / total)
    assert sum(shares) / len(shares) < 0.05


def test_records_appended_later_are_taken_in(tmp_path: Path) -> None:
    write_files(tmp_path, range(1, 3))
    pack_files(tmp_path)
    reading = Segment(segments(tmp_path)[0])
    write_files(tmp_path, range(3, 5))
    data = (tmp_path / file_name(4, "req", "/v1/messages")).read_bytes()
    pack_files(tmp_path)
    assert len(reading.names) == 4
    reading.refresh()
    assert len(reading.names) == 8
    assert reading.read(file_name(4, "req", "/v1/messages")) == data


def test_a_segment_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    write_files(tmp_path, range(1, 3))
    pack_files(tmp_path)
    (path,) = segments(tmp_path)
    reading = Segment(path)
    write_files(tmp_path, range(1, 6))
    other = tmp_path / "other"
    other.mkdir()
    for file in exchange_files(tmp_path):
        file.rename(other / file.name)
    for file in exchange_files(other):
        SegmentWriter(other).append([file])
    path.write_bytes(segments(other)[0].read_bytes())  # the same inode, and a larger file
    reading.refresh()
    assert len(reading.names) == 10
    assert not reading.is_damaged
    for name in reading.names:
        assert reading.read(name) == (other / name).read_bytes()


def test_a_segment_cut_anywhere_has_what_was_whole_before(segment: Segment) -> None:
    data = segment.path.read_bytes()
    before = 0
    for length in range(0, len(data), 7):
        segment.path.write_bytes(data[:length])
        cut = Segment(segment.path)
        found = readable(segment.path)
        assert len(found) == len(cut.names) >= before  # never fewer than a shorter one
        assert not cut.is_damaged
        assert cut.is_cut_off == (cut.end < length)
        before = len(found)
    assert before >= 78


def test_a_flipped_byte_loses_what_depends_on_it_and_nothing_else(segment: Segment) -> None:
    data = segment.path.read_bytes()
    least = 80
    for position in range(0, len(data), 97):
        flipped = bytearray(data)
        flipped[position] ^= 0x55
        segment.path.write_bytes(flipped)
        damaged = Segment(segment.path)
        found = readable(segment.path)
        assert damaged.is_damaged or damaged.is_cut_off or len(found) < 80
        least = min(least, len(found))
    assert len(found) >= 78, "damage at the end loses only what is there"


def test_a_bit_of_a_head_that_flipped_is_damage_and_not_a_record_cut_off(
    segment: Segment,
) -> None:
    data = segment.path.read_bytes()
    last = data.rindex(MAGIC)
    for position in range(last, last + 37):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[position] ^= 1 << bit
            segment.path.write_bytes(flipped)
            found = Segment(segment.path)
            assert found.is_damaged, (position - last, bit)
            assert not found.is_cut_off


def test_false_heads_do_not_take_time_beyond_the_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed = 100_000
    false = (
        encode_record([StreamPiece(1, bytes(claimed), 0), None, None])[: -claimed - 4] + b"wrong"
    )
    path = tmp_path / "0001_pack.seg"
    path.write_bytes(false * 6000)
    checked = 0

    def counted(data: bytes, crc: int = 0) -> int:
        nonlocal checked
        checked += len(data)
        return zlib_crc32(data, crc)

    zlib_crc32 = zlib.crc32
    monkeypatch.setattr("ccwire.wire.pack.records.zlib.crc32", counted)
    found = Segment(path)
    assert found.is_damaged
    assert found.names == []
    assert checked < 12 * path.stat().st_size


def test_an_index_of_nothing_but_lines_takes_no_memory(tmp_path: Path) -> None:
    lines = b"\n" * (64 << 20)
    path = tmp_path / "0001_pack.seg"
    path.write_bytes(encode_record([None, None, StreamPiece(len(lines), frame(lines), 0)]))
    found = Segment(path)
    assert found.is_damaged
    assert found.inflated == 0


def test_what_follows_a_damaged_block_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("addon.storage.packing.segments._MOST_PIECES", 4)
    writer = SegmentWriter(tmp_path)
    ends = []
    for number in range(1, 21):
        path = tmp_path / file_name(number, "resp", "/v1/messages")
        path.write_bytes(orjson.dumps({"text": random.Random(number).randbytes(400).hex()}))
        writer.append([path])
        path.rename(tmp_path / f"kept-{path.name}")
        ends.append(segments(tmp_path)[0].stat().st_size)
    (path,) = segments(tmp_path)
    data = bytearray(path.read_bytes())
    data[ends[4] + 60] ^= 0xFF  # in the sixth record, the second of its block
    path.write_bytes(data)
    lost = {file_name(number, "resp", "/v1/messages") for number in (6, 7, 8)}
    everything = {file_name(number, "resp", "/v1/messages") for number in range(1, 21)}
    assert readable(path) == everything - lost
    assert Segment(path).is_damaged


def frame(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def entry(**more: object) -> PackedFile:
    import hashlib

    values = {
        "name": NAME,
        "size": 4,
        "mode": 0o600,
        "mtime_ns": 1,
        "sha256": hashlib.sha256(b"abcd").hexdigest(),
    }
    return PackedFile(**{**values, **more})  # type: ignore[arg-type]


def false_segment(folder: Path, line: bytes, content: bytes = b"abcd", claimed: int = 4) -> Path:
    pieces = [StreamPiece(claimed, frame(content), 0), None, StreamPiece(len(line), frame(line), 0)]
    path = folder / "0001_pack.seg"
    path.write_bytes(encode_record(pieces))
    return path


def test_a_made_up_segment_is_read(tmp_path: Path) -> None:
    path = false_segment(tmp_path, encode_line(entry(), [(0, 2), (2, 2)]))
    assert Segment(path).read(NAME) == b"abcd"


@pytest.mark.parametrize(
    "line",
    [
        encode_line(entry(size=5), [(0, 5)]),
        encode_line(entry(size=1 << 50), [(0, 1 << 50)]),
        encode_line(entry(), [(0, 3)]),
        encode_line(entry(), [(1, 4)]),
        encode_line(entry(), [(1 << 40, 4)]),
        encode_line(entry(), [(-4, 4)]),
        encode_line(entry(sha256="0" * 64), [(0, 4)]),
        encode_line(entry(mtime_ns=-1), [(0, 4)]),
        f'["{NAME}",4,1,"x",[0]]\n'.encode(),
        f'["{NAME}",4,1,"x",[0,true,0,3]]\n'.encode(),
        f'["{NAME}",4,1,"x"]\n'.encode(),
        f'["{NAME}",4,1,"x",{{}}]\n'.encode(),
    ],
)
def test_an_odd_line_is_damage(tmp_path: Path, line: bytes) -> None:
    with pytest.raises(PackDamaged):
        Segment(false_segment(tmp_path, line)).read(NAME)


def test_a_line_without_an_end_is_damage(tmp_path: Path) -> None:
    found = Segment(false_segment(tmp_path, encode_line(entry(), [(0, 4)])[:-1]))
    assert found.names == []
    assert found.is_damaged


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "/etc/0001_req_x.json",
        "0001_req_/../x.json",
        "x",
        "",
        "0001_req_\x1b.json",
        "1" * 5000 + "_req_x.json",
    ],
)
def test_a_name_that_is_no_exchange_files_is_not_listed(tmp_path: Path, name: str) -> None:
    found = Segment(false_segment(tmp_path, encode_line(entry(name=name), [(0, 4)])))
    assert found.names == []
    assert found.is_damaged


def test_content_that_expands_beyond_what_is_claimed_is_not_read(tmp_path: Path) -> None:
    line = encode_line(entry(), [(0, 4)])
    bomb = false_segment(tmp_path, line, content=bytes(256 << 20))
    opened = Segment(bomb)
    with pytest.raises(PackDamaged):
        opened.read(NAME)
    assert opened.inflated < 1 << 20


def test_a_claim_beyond_the_content_is_damage(tmp_path: Path) -> None:
    line = encode_line(entry(), [(0, 4)])
    with pytest.raises(PackDamaged):
        Segment(false_segment(tmp_path, line, claimed=1 << 30)).read(NAME)


@given(st.binary(max_size=2000), st.integers(0, 3))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_a_segment_or_damage(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, whole: int
) -> None:
    path = tmp_path_factory.mktemp("s") / "0001_pack.seg"
    line = encode_line(entry(), [(0, 4)])
    record = encode_record(
        [StreamPiece(4, frame(b"abcd"), 0), None, StreamPiece(len(line), frame(line), 0)]
    )
    path.write_bytes(record * (whole > 0) + data)
    found = Segment(path)
    if whole:
        assert found.read(NAME) == b"abcd"
    assert found.is_damaged or found.is_cut_off or found.end == path.stat().st_size


def test_streams_are_as_numbered_in_the_format() -> None:
    assert (REQUESTS, INDEX) == (0, 2)
