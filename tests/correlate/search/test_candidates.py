from pathlib import Path

import pytest

from addon.storage.packing.segments import SegmentWriter
from ccwire.wire.pack.reader import ExchangeFiles
from correlate.search.candidates import file_may_match, ruled_out
from correlate.search.pattern import Pattern


@pytest.mark.parametrize("before", [0, (1 << 18) - 4, (1 << 18) - 6, (2 << 18) - 9])
def test_a_word_is_found_across_the_pieces_of_a_file(tmp_path: Path, before: int) -> None:
    path = tmp_path / "some.jsonl"
    path.write_bytes(b"x" * before + b"Quokka" + b"y" * 9)
    assert file_may_match(path, Pattern("Quokka"))
    assert file_may_match(path, Pattern("quokka", ignore_case=True))
    assert not file_may_match(path, Pattern("quokka"))


def test_a_packed_file_is_ruled_out_only_if_it_cannot_match(tmp_path: Path) -> None:
    """Each request repeats the one before it, also in chunks cut within a long string."""
    contents: dict[int, bytes] = {}
    text = b""
    for number in range(1, 9):
        text += b"%06d " % number * (300 * number)
        contents[number] = b'{"body":{"data":{"messages":["' + text + b'","end"]}}}'
        path = tmp_path / f"{number:04d}_req_v1_messages.json"
        path.write_bytes(contents[number])
        SegmentWriter(tmp_path).append([path])
        path.unlink()
    assert len(ExchangeFiles(tmp_path).all_keys()) == 8
    needles = [contents[8][at : at + 9] for at in range(40, len(contents[8]) - 60, 97)]
    for needle in {needle.decode() for needle in needles if b'"' not in needle}:
        absent = {number for number, data in contents.items() if needle.encode() not in data}
        assert {number for number, _ in ruled_out(tmp_path, Pattern(needle))} == absent
