import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from addon.storage.files import append_lines, locked, read_file, write_new, write_whole
from addon.storage.folder import CaptureStore, read_lines
from ccwire.wire.format import Exchange
from tests.addon.full_disk import FullDisk, full_disk

PATH = "/v1/messages"


@pytest.fixture
def store(tmp_path: Path) -> CaptureStore:
    return CaptureStore(tmp_path / "captures")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[FullDisk]:
    with full_disk(monkeypatch) as disk:
        yield disk


def line(sequence: int, **fields: Any) -> bytes:
    exchange = Exchange(
        sequence=sequence,
        flow_id=f"f-{sequence}",
        started=1.0,
        method="POST",
        host="h",
        path=PATH,
        kind="messages",
    )
    return orjson.dumps({**exchange.to_json(), **fields})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0, 0o022, 0o077, 0o777])
def test_folders_and_files_are_private_under_any_umask(tmp_path: Path, umask: int) -> None:
    old = os.umask(umask)
    try:
        store = CaptureStore(tmp_path / "deep" / "captures")
        slot = store.open_slot("s-1", PATH)
        write_whole(slot.request_file, b"{}")
        append_lines(slot.folder / "exchanges.jsonl", [b"{}"])
        store.log_traffic("x")
    finally:
        os.umask(old)
    made = [tmp_path / "deep", *(tmp_path / "deep").rglob("*")]
    assert len(made) == 9
    for path in made:
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path.name


def test_a_capture_is_never_committed_by_accident(store: CaptureStore) -> None:
    store.prepare()
    assert (store.root / ".gitignore").read_text() == "*\n"


def test_a_folder_that_holds_other_things_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "something").write_text("else")
    CaptureStore(tmp_path).prepare()
    assert mode(tmp_path) == 0o755


def test_the_folder_that_came_with_the_project_becomes_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / ".gitignore").write_text("*\n!.gitignore\n")
    CaptureStore(tmp_path).prepare()
    assert mode(tmp_path) == 0o700
    assert (tmp_path / ".gitignore").read_text() == "*\n!.gitignore\n"


@pytest.mark.parametrize("name", ["", "../../etc/x", "..", "a/b", "a" * 65, "unknown", "UNKNOWN"])
def test_what_is_no_session_never_becomes_a_path(
    store: CaptureStore, tmp_path: Path, name: str
) -> None:
    with pytest.raises(ValueError, match="not a session id"):
        store.open_slot(name, PATH)
    assert list(tmp_path.rglob("*")) == []


def test_no_session_is_unknown(store: CaptureStore) -> None:
    assert store.open_slot(None, PATH).folder == store.root / "unknown"


@pytest.mark.parametrize("path", ["/../../x", "/" + "a" * 500, "/%2e%2e/\0\n", "", "/"])
def test_any_path_makes_a_file_name_in_the_folder(store: CaptureStore, path: str) -> None:
    slot = store.open_slot("s-1", path)
    write_whole(slot.request_file, b"{}")
    assert slot.request_file.parent == slot.part_file.parent == store.root / "s-1"
    assert slot.part_file.exists()


def test_numbers_go_up(store: CaptureStore) -> None:
    assert [store.open_slot("s-1", PATH).sequence for _ in range(3)] == [1, 2, 3]
    assert store.open_slot("s-2", PATH).sequence == 1


@pytest.mark.parametrize("lost", [b"", b"0", b"1", b"rubbish", None])
def test_numbers_go_on_after_a_restart_whatever_became_of_the_counter(
    store: CaptureStore, lost: bytes | None
) -> None:
    for _ in range(3):
        slot = store.open_slot("s-1", PATH)
        write_whole(slot.request_file, b"{}")
        store.release(slot)
    counter = store.root / "s-1" / ".lock"
    counter.unlink() if lost is None else counter.write_bytes(lost)
    again = CaptureStore(store.root)
    assert [again.open_slot("s-1", PATH).sequence for _ in range(2)] == [4, 5]


def test_numbers_go_on_behind_lines_whose_files_are_gone(store: CaptureStore) -> None:
    folder = store.folder("s-1")
    append_lines(folder / "exchanges.jsonl", [line(7), b'{"torn'])
    (folder / "20260101_notes.txt").write_text("not ours")
    assert store.open_slot("s-1", PATH).sequence == 8


def test_names_past_9999_are_sorted_out_too(store: CaptureStore) -> None:
    (store.folder("s-1") / "12345_resp_v1_messages.json").write_text("{}")
    assert store.open_slot("s-1", PATH).sequence == 12346


def test_processes_on_one_folder_never_share_a_number(store: CaptureStore) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from addon.storage.folder import CaptureStore\n"
        "store = CaptureStore(Path(sys.argv[1]))\n"
        "for _ in range(40):\n"
        "    slot = store.open_slot('s-1', '/v1/messages')\n"
        "    print(slot.sequence)\n"
        "    slot.request_file.write_text('x')\n"
        "    store.release(slot)\n"
    )
    command = [sys.executable, "-c", program, str(store.root)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    taken = [int(n) for process in running for n in process.communicate()[0].split()]
    assert sorted(taken) == list(range(1, 121))


def test_a_session_s_folder_that_is_a_link_is_not_followed(
    store: CaptureStore, tmp_path: Path
) -> None:
    store.prepare()
    (tmp_path / "outside").mkdir()
    (store.root / "s-1").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match="symbolic link"):
        store.open_slot("s-1", PATH)
    assert list((tmp_path / "outside").iterdir()) == []
    assert store.session_folders() == []


@pytest.mark.parametrize("name", [".lock", "exchanges.jsonl", "manifest.json", "traffic.log"])
@pytest.mark.parametrize("dangling", [True, False])
def test_a_file_that_is_a_link_is_not_followed(
    store: CaptureStore, tmp_path: Path, name: str, dangling: bool
) -> None:
    folder = store.folder("s-1")
    outside = tmp_path / "outside.txt"
    if not dangling:
        outside.write_text("not ours")
    place = (store.root if name == "traffic.log" else folder) / name
    place.symlink_to(outside)

    def use() -> None:
        match name:
            case ".lock":
                store.open_slot("s-1", PATH)
            case "exchanges.jsonl":
                append_lines(place, [b"{}"])
            case "traffic.log":
                store.log_traffic("x")
            case _:
                read_file(place)

    with pytest.raises(OSError) as raised:
        use()
    assert raised.value.errno == errno.ELOOP
    assert outside.exists() is not dangling
    if not dangling:
        assert outside.read_text() == "not ours"


def test_a_whole_file_takes_the_place_of_a_link(store: CaptureStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("not ours")
    place = store.folder("s-1") / "manifest.json"
    place.symlink_to(outside)
    write_whole(place, b"{}")
    assert (place.read_bytes(), place.is_symlink()) == (b"{}", False)
    assert outside.read_text() == "not ours"


def test_a_file_is_whole_or_not_there(store: CaptureStore, disk: FullDisk) -> None:
    place = store.folder("s-1") / "0001_req_x.json"
    disk.room = 5
    with pytest.raises(OSError, match="No space"):
        write_whole(place, b"0123456789")
    assert list(place.parent.iterdir()) == []
    disk.room = None
    write_whole(place, b"0123456789")
    disk.room = 5
    with pytest.raises(OSError, match="No space"):
        write_whole(place, b"another")
    assert place.read_bytes() == b"0123456789"


def test_what_is_written_piece_by_piece_is_whole(
    store: CaptureStore, disk: FullDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "take", lambda size: min(size, 3))
    place = store.folder("s-1") / "0001_req_x.json"
    write_whole(place, b"0123456789")
    assert place.read_bytes() == b"0123456789"


def test_lines_are_all_there_or_none_of_them(store: CaptureStore, disk: FullDisk) -> None:
    place = store.folder("s-1") / "exchanges.jsonl"
    append_lines(place, [line(1)])
    disk.room = 300
    with pytest.raises(OSError, match="No space"):
        append_lines(place, [line(2), line(3)])
    assert place.read_bytes() == line(1) + b"\n"
    disk.room = None
    append_lines(place, [line(2), line(3)])
    assert [e.sequence for e in read_lines(place)] == [1, 2, 3]


def test_a_line_that_a_kill_cut_short_stays_apart(store: CaptureStore) -> None:
    place = store.folder("s-1") / "exchanges.jsonl"
    place.write_bytes(line(1) + b"\n" + line(2)[:20])
    append_lines(place, [line(3)])
    assert [e.sequence for e in read_lines(place)] == [1, 3]
    assert place.read_bytes().count(b"\n") == 3


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"5",
        b"{}",
        line(2).replace(b":2,", b':"2",'),
        line(2, started=None),
        line(2, agent_id=["x"]),
        line(2, status="200"),
        b"\xff",
    ],
)
def test_lines_one_cannot_count_with_are_passed_over(store: CaptureStore, bad: bytes) -> None:
    place = store.folder("s-1") / "exchanges.jsonl"
    place.write_bytes(line(1) + b"\n" + bad + b"\n" + line(3) + b"\n")
    assert [e.sequence for e in read_lines(place)] == [1, 3]


def test_a_line_with_a_lone_surrogate_is_read(store: CaptureStore) -> None:
    place = store.folder("s-1") / "exchanges.jsonl"
    append_lines(place, [line(1).replace(b'"model":null', rb'"model":"\ud800"')])
    assert [e.model for e in read_lines(place)] == ["\ud800"]


def test_taking_lines_out_keeps_the_others_to_the_byte(store: CaptureStore) -> None:
    folder = store.folder(None)
    kept = [line(1, of_tomorrow=True), b"torn {", line(4)]
    append_lines(folder / "exchanges.jsonl", [kept[0], line(2), kept[1], line(3), kept[2]])
    left = store.remove_exchanges(folder, {"f-2", "f-3"})
    assert [e.sequence for e in left] == [1, 4]
    assert (folder / "exchanges.jsonl").read_bytes() == b"\n".join(kept) + b"\n"


def test_taking_lines_out_of_nothing_is_nothing(store: CaptureStore) -> None:
    assert store.remove_exchanges(store.folder(None), {"f"}) == []


def test_a_new_file_is_written_by_the_first_alone(store: CaptureStore) -> None:
    place = store.folder("s-1") / "x"
    assert write_new(place, b"one")
    assert not write_new(place, b"two")
    assert place.read_bytes() == b"one"


def parts(store: CaptureStore) -> list[str]:
    return [
        part.name for folder in store.session_folders() for part in store.abandoned_parts(folder)
    ]


def test_a_part_is_abandoned_when_its_proxy_is_gone(store: CaptureStore) -> None:
    slot = store.open_slot("s-1", PATH)
    assert parts(store) == []
    slot.part.close()  # as when its process ends
    assert parts(store) == ["0001_resp_v1_messages.part"]
    store.release(store.open_slot("s-1", PATH))
    assert parts(store) == ["0001_resp_v1_messages.part"]


def test_a_part_that_is_not_wanted_can_be_taken_by_who_wants_it(store: CaptureStore) -> None:
    slots = [store.open_slot("s-1", PATH) for _ in range(2)]
    for slot in slots:
        slot.part.close()
    for part in store.abandoned_parts(slots[0].folder, lambda part: part.name.startswith("0002")):
        assert part == slots[1].part_file
        assert store.reopen_slot(part, PATH) is None
        taken = store.reopen_slot(slots[0].part_file, PATH)
        assert taken is not None
        taken.part.close()


def test_a_part_that_is_a_link_is_left_alone(store: CaptureStore, tmp_path: Path) -> None:
    store.release(store.open_slot("s-1", PATH))
    (tmp_path / "outside").write_text("x")
    (store.root / "s-1" / "0009_resp_x.part").symlink_to(tmp_path / "outside")
    assert parts(store) == []


def test_a_part_is_not_taken_while_it_is_being_opened(store: CaptureStore) -> None:
    """A proxy that opens a part file holds the folder's lock until the part is locked too."""
    slot = store.open_slot("s-1", PATH)
    slot.part.close()
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from addon.storage.folder import CaptureStore\n"
        "store = CaptureStore(Path(sys.argv[1]))\n"
        "print('looking', flush=True)\n"
        "print([p.name for p in store.abandoned_parts(store.root / 's-1')])\n"
    )
    with locked(slot.folder):
        looking = subprocess.Popen(
            [sys.executable, "-c", program, str(store.root)], stdout=subprocess.PIPE, text=True
        )
        assert looking.stdout is not None
        assert looking.stdout.readline() == "looking\n"
        slot.part_file.unlink()
    assert looking.communicate()[0] == "[]\n"


def test_folders_of_others_are_not_looked_into(store: CaptureStore) -> None:
    store.folder("s-1")
    (store.root / "downloads").mkdir()
    (store.root / "downloads" / "0001_resp_film.part").write_text("half")
    store.open_slot("s-2", PATH).part.close()
    store.open_slot(None, PATH).part.close()
    store.open_slot("zzz", PATH).part.close()
    assert [folder.name for folder in store.session_folders()] == ["s-2", "zzz", "unknown"]


def test_what_a_killed_proxy_was_writing_is_cleared(store: CaptureStore) -> None:
    living = store.open_slot("s-1", PATH)
    names = {
        ".0001_resp_v1_messages.json.77.tmp": True,  # its part file exists
        ".0009_req_v1_messages.json.77.tmp": False,
        ".manifest.json.77.tmp": False,
        ".exchanges.jsonl.77.tmp": False,
        ".something.tmp": True,
        ".lock": True,
    }
    for name in names:
        (living.folder / name).touch()
    store.clear_temporaries(living.folder)
    assert {name: (living.folder / name).exists() for name in names} == names
