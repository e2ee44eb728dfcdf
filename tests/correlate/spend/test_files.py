"""A file is read on where it was left, and the result is that of reading it whole."""

import os
import random
from pathlib import Path

import pytest

from correlate.spend.files import FileRecord, transcript_paths
from correlate.spend.stored import record_of_json, record_to_json
from tests.correlate.spend.made import answer, read, write


def _outputs(record: FileRecord) -> list[int]:
    turns = (*record.turns, *record.unfinished)
    return [turn.usage["output_tokens"] for turn in turns if turn.usage]


def _kept(record: FileRecord) -> FileRecord:
    found = record_of_json(record_to_json(record))
    assert found is not None
    return found


@pytest.mark.parametrize("seed", range(40))
def test_what_is_appended_in_any_pieces_is_read_as_the_whole_file_is(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    path = write(tmp_path, "one.jsonl")
    known: FileRecord | None = None
    for _ in range(12):
        if chance.random() < 0.2:
            _damage(chance, path)
        else:
            data = b"".join(_any_line(chance) for _ in range(chance.randrange(4)))
            is_cut = chance.random() < 0.3
            with path.open("ab") as file:
                file.write(data[: chance.randrange(len(data) + 1)] if is_cut else data)
        known = read(path, known)
        assert known == read(path)
        known = _kept(known)
        assert known == read(path)


def _any_line(chance: random.Random) -> bytes:
    message = chance.choice(["m1", "m2", "m3", None])
    return answer(
        message,
        chance.choice(["r1", "r2", None]),
        chance.choice([1, 2, 300, None]),
        stop=chance.choice([None, "end_turn"]),
        fresh=chance.choice([1, 2]),
        uuid=chance.choice(["u1", "u2", None]),
        attributionAgent="Explore" if message == "m1" else None,
        at=f"2026-11-0{chance.randrange(1, 9)}T10:00:00.000Z",
    )


def _damage(chance: random.Random, path: Path) -> None:
    """Cut the file, or replace bytes in it, as no client does."""
    if chance.random() < 0.5:
        os.truncate(path, chance.randrange(path.stat().st_size + 1))
    else:
        path.write_bytes(path.read_bytes().replace(b"300", b"301"))


def test_a_last_line_without_a_line_feed_counts_before_and_after_it_is_kept(tmp_path: Path) -> None:
    path = write(tmp_path, "one.jsonl", answer("m1", "r1", 5), answer("m2", "r2", 7).rstrip())
    known = read(path)
    assert _outputs(known) == _outputs(read(path, _kept(known))) == [5, 7]
    with path.open("ab") as file:
        file.write(b"\n" + answer("m3", "r3", 9))
    assert _outputs(read(path, _kept(known))) == [5, 7, 9]


def test_a_line_that_is_completed_later_is_read_then(tmp_path: Path) -> None:
    line = answer("m2", "r2", 7)
    path = write(tmp_path, "one.jsonl", answer("m1", "r1", 5), line[:40])
    known = read(path)
    assert _outputs(known) == [5]
    with path.open("ab") as file:
        file.write(line[40:])
    assert _outputs(read(path, known)) == [5, 7]


def test_a_file_of_the_same_size_and_time_that_was_written_anew_is_read_anew(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, "one.jsonl", answer("m1", "r1", 5))
    known, times = read(path), path.stat()
    path.write_bytes(answer("m1", "r1", 6))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert _outputs(read(path, known)) == [6]


@pytest.mark.parametrize(
    "asked",
    [
        b'{"type":"user","message":"And now?"}\n',
        b'{"parentUuid":null,"type":"user","message":{"role":"user","content":"And now?"}}\n',
        b'{"type":"tool_result","tool_use_id":"t","content":"out"}\n',
    ],
)
def test_a_prompt_between_answers_without_ids_makes_them_two(tmp_path: Path, asked: bytes) -> None:
    same = answer(None, None, 5)
    assert _outputs(read(write(tmp_path, "one.jsonl", same, same))) == [5]
    assert _outputs(read(write(tmp_path, "two.jsonl", same, asked, same))) == [5, 5]


def test_another_file_in_its_place_is_read_anew(tmp_path: Path) -> None:
    path = write(tmp_path, "one.jsonl", answer("m1", "r1", 5))
    known = read(path)
    other = write(tmp_path, "two.jsonl", answer("m2", "r2", 6), answer("m3", "r3", 7))
    other.replace(path)
    assert _outputs(read(path, known)) == [6, 7]


def test_lines_are_counted_as_the_clients_statistics_do(tmp_path: Path) -> None:
    split = [answer("m1", "r1", 5, stop=None), answer("m1", "r1", 50)]
    late = answer("m2", "r2", 7, at="2026-11-05T23:30:00-02:00")
    others = [answer("m3", "r3", 9, isSidechain=True), answer("m4", "r4", 9, model="<synthetic>")]
    lines = read(write(tmp_path, "one.jsonl", *split, late, *others)).lines
    assert {day: tokens.output for (day, _), tokens in lines.items()} == {
        "2026-11-05": 55,
        "2026-11-06": 7,
    }


@pytest.mark.parametrize("place", range(9))
@pytest.mark.parametrize("damage", [None, -1, "x", [1], [[1, 2]], {"a": 1}, 1.5])
def test_a_damaged_record_is_refused_or_harmless(
    tmp_path: Path, place: int, damage: object
) -> None:
    kept = record_to_json(read(write(tmp_path, "one.jsonl", answer("m1", "r1", 5))))
    kept[place] = damage
    found = record_of_json(kept)
    assert found is None or isinstance(found, FileRecord)


def test_a_project_may_be_a_link_and_each_folder_is_read_once(tmp_path: Path) -> None:
    inside = write(tmp_path, "one.jsonl", answer("m1", "r1", 5))
    elsewhere = tmp_path / "elsewhere" / "two.jsonl"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(answer("m2", "r2", 6))
    for name, target in (("a", elsewhere.parent), ("b", elsewhere.parent), ("c", inside.parent)):
        (tmp_path / "projects" / name).symlink_to(target)
    (elsewhere.parent / "loop").symlink_to(elsewhere.parent)
    found = transcript_paths(tmp_path)
    assert [path.removeprefix(str(tmp_path)) for path in found] == [
        "/projects/-lab/one.jsonl",
        "/projects/a/two.jsonl",
    ]


@pytest.mark.parametrize("place", [0, 3])
@pytest.mark.parametrize("value", [1e300, float("inf"), -1, "x", True])
def test_a_record_with_a_value_of_no_file_is_refused(
    tmp_path: Path, place: int, value: object
) -> None:
    kept = record_to_json(read(write(tmp_path, "one.jsonl", answer("m1", "r1", 5))))
    kept[place] = [[value, *kept[3][0][1:]]] if place else [value, *kept[0][1:]]
    assert (place == 0 and value in (1e300, -1, True)) or record_of_json(kept) is None
