"""Appending to segments: what is shared, when a new one begins, and what a kill leaves."""

import os
import random
from pathlib import Path

import orjson
import pytest

from addon.storage.packing.segments import SegmentWriter
from ccwire.wire.format import file_name
from ccwire.wire.pack.files import exchange_files
from ccwire.wire.pack.reader import segments
from ccwire.wire.pack.segment import Segment
from tests.addon.storage.exchange_files import all_there, pack_files, write_files


def request(folder: Path, number: int, texts: list[str], **more: str) -> Path:
    """Write a request as the client repeats it: the conversation so far, marked at its end."""
    messages = [{"role": "user", "content": [{"type": "text", "text": text}]} for text in texts]
    last = messages[-1]["content"][0]
    assert isinstance(last, dict)
    last["cache_control"] = {"type": "ephemeral"}
    path = folder / file_name(number, "req", "/v1/messages")
    system = [{"type": "text", "text": "You are a program. " * 500}]
    value = {"sequence": number, "flow_id": f"f-{number}", "messages": messages, "system": system}
    path.write_bytes(orjson.dumps({**value, **more}))
    return path


def noise(seed: int, size: int = 3000) -> str:
    return random.Random(seed).randbytes(size // 2).hex()


def stored(folder: Path) -> int:
    return sum(path.stat().st_size for path in segments(folder))


def test_a_request_that_repeats_another_takes_little_more(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path)
    texts = [noise(n) for n in range(30)]
    writer.append([request(tmp_path, 1, texts)])
    first = stored(tmp_path)
    writer.append([request(tmp_path, 2, [*texts, noise(99)])])
    assert stored(tmp_path) - first < 3000


def test_a_writer_that_takes_over_knows_what_is_there(tmp_path: Path) -> None:
    texts = [noise(n) for n in range(30)]
    SegmentWriter(tmp_path).append([request(tmp_path, 1, texts)])
    first = stored(tmp_path)
    SegmentWriter(tmp_path).append([request(tmp_path, 2, [*texts, noise(99)])])
    assert stored(tmp_path) - first < 3000
    assert len(segments(tmp_path)) == 1


def test_two_writers_in_turn_take_in_what_the_other_wrote(tmp_path: Path) -> None:
    writers = [SegmentWriter(tmp_path), SegmentWriter(tmp_path)]
    texts: list[str] = []
    for number in range(1, 21):
        texts.append(noise(number))
        path = request(tmp_path, number, texts)
        assert writers[number % 2].append([path]) == [path]
    before = {path.name: path.read_bytes() for path in exchange_files(tmp_path)}
    for path in exchange_files(tmp_path):
        path.unlink()
    assert all_there(tmp_path) == before
    assert stored(tmp_path) < 20 * 3000


def test_a_file_that_is_packed_already_is_not_stored_again(tmp_path: Path) -> None:
    write_files(tmp_path, range(1, 4))
    files = exchange_files(tmp_path)
    SegmentWriter(tmp_path).append(files)
    before = stored(tmp_path)
    assert SegmentWriter(tmp_path).append(files) == files
    assert stored(tmp_path) == before


def test_a_record_that_was_cut_off_is_written_over(tmp_path: Path) -> None:
    write_files(tmp_path, range(1, 3))
    pack_files(tmp_path)
    (segment,) = segments(tmp_path)
    whole = segment.read_bytes()
    write_files(tmp_path, range(3, 5))
    SegmentWriter(tmp_path).append(exchange_files(tmp_path))
    longer = segment.read_bytes()
    for length in range(len(whole) + 1, len(longer), 37):
        segment.write_bytes(longer[:length])
        assert SegmentWriter(tmp_path).append(exchange_files(tmp_path)) == exchange_files(tmp_path)
        assert len(segments(tmp_path)) == 1
        assert not Segment(segment).is_cut_off
        assert len(all_there(tmp_path)) == 8


@pytest.mark.parametrize("place", [0.5, 0.999], ids=["middle", "end"])
def test_a_damaged_segment_is_left_as_it_is(tmp_path: Path, place: float) -> None:
    write_files(tmp_path, range(1, 6))
    pack_files(tmp_path)
    (segment,) = segments(tmp_path)
    data = bytearray(segment.read_bytes())
    data[int(len(data) * place)] ^= 0xFF
    segment.write_bytes(data)
    write_files(tmp_path, range(6, 8))
    pack_files(tmp_path)
    assert segment.read_bytes() == data
    assert [path.name for path in segments(tmp_path)] == ["0001_pack.seg", "0006_pack.seg"]


def test_zeros_at_the_end_are_damage(tmp_path: Path) -> None:
    write_files(tmp_path, range(1, 6))
    pack_files(tmp_path)
    (segment,) = segments(tmp_path)
    segment.write_bytes(segment.read_bytes() + bytes(4096))
    write_files(tmp_path, range(6, 8))
    pack_files(tmp_path)
    assert len(segments(tmp_path)) == 2
    assert len(all_there(tmp_path)) == 14


def test_a_large_segment_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("addon.storage.packing.segments._LEAST_SEGMENT", 20_000)
    monkeypatch.setattr("addon.storage.packing.segments._RECENT", 1)
    writer = SegmentWriter(tmp_path)
    for number in range(1, 41):
        path = request(tmp_path, number, [noise(number)])
        writer.append([path])
        path.unlink()
    found = segments(tmp_path)
    assert 2 <= len(found) <= 6
    assert [len(Segment(path).names) > 0 for path in found] == [True] * len(found)
    assert len(all_there(tmp_path)) == 40


def test_a_failed_write_leaves_the_segment_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = SegmentWriter(tmp_path)
    write_files(tmp_path, range(1, 3))
    writer.append(exchange_files(tmp_path))
    before = segments(tmp_path)[0].read_bytes()
    write_files(tmp_path, range(3, 5))
    for failing in (
        "addon.storage.packing.segments.write_all",
        "addon.storage.packing.segments.os.fsync",
    ):
        with monkeypatch.context() as patch:
            patch.setattr(failing, half_written)
            with pytest.raises(OSError, match="full"):
                writer.append(exchange_files(tmp_path))
        assert segments(tmp_path)[0].read_bytes() == before
    assert len(writer.append(exchange_files(tmp_path))) == 8


def half_written(file: object, data: bytes = b"") -> None:
    if data:
        os.write(file.fileno(), data[: len(data) // 2])  # type: ignore[attr-defined]
    raise OSError(28, "full")


def test_segments_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_files(tmp_path, range(1, 3))
        pack_files(tmp_path)
    finally:
        os.umask(before)
    assert segments(tmp_path)[0].stat().st_mode & 0o777 == 0o600


def test_empty_and_odd_files_come_back(tmp_path: Path) -> None:
    contents = [b"", b"{}", b"\0" * 70_000, '{"ü": "\u2028"}'.encode(), b'"' * 5000, b'","' * 9000]
    for number, data in enumerate(contents, 1):
        for direction in ("req", "resp"):
            (tmp_path / file_name(number, direction, "/x")).write_bytes(data)
    before = all_there(tmp_path)
    pack_files(tmp_path)
    assert all_there(tmp_path) == before


def test_a_file_in_an_older_segment_is_not_stored_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("addon.storage.packing.segments._LEAST_SEGMENT", 5_000)
    monkeypatch.setattr("addon.storage.packing.segments._REPEATED", 1)
    monkeypatch.setattr("addon.storage.packing.segments._RECENT", 1)
    writer = SegmentWriter(tmp_path)
    for number in range(1, 21):
        writer.append([request(tmp_path, number, [noise(number)])])
    assert len(segments(tmp_path)) > 2
    before = stored(tmp_path)
    files = exchange_files(tmp_path)
    assert SegmentWriter(tmp_path).append(files) == files
    assert writer.append(files) == files
    assert stored(tmp_path) == before


def test_a_damaged_copy_of_a_file_is_stored_again_and_read_from_there(tmp_path: Path) -> None:
    write_files(tmp_path, range(1, 9))
    before = all_there(tmp_path)
    SegmentWriter(tmp_path).append(exchange_files(tmp_path))
    (segment,) = segments(tmp_path)
    data = bytearray(segment.read_bytes())
    data[60] ^= 0xFF
    segment.write_bytes(data)
    pack_files(tmp_path)
    assert all_there(tmp_path) == before


def test_many_agents_share_what_they_have_also_after_a_pause(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path)
    contexts = {agent: [noise(100 * agent, 20_000)] for agent in range(12)}
    number = 0
    for turn in range(4):
        for texts in contexts.values():
            number += 1
            texts.append(noise(1000 + number, 400))
            path = request(tmp_path, number, texts)
            writer.append([path])
            path.unlink()
        if turn % 2:
            writer.forget()
        else:
            writer = SegmentWriter(tmp_path)
    assert stored(tmp_path) < 1.3 * 12 * 20_000
