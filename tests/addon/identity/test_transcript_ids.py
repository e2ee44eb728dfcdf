import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.identity import transcript_ids
from addon.identity.transcript_ids import TranscriptIds
from tests.properties import property_test


def line(message: str | None, request: str | None = None, **more: Any) -> bytes:
    record = {"type": "assistant", "message": {"id": message}, "requestId": request, **more}
    return json.dumps(record).encode() + b"\n"


class Folder:
    """A client folder with transcripts that can be written piece by piece."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.ids = TranscriptIds(root)

    def write(self, session: str, data: bytes, at: float = 2000.0, project: str = "-p") -> Path:
        path = self._root / "projects" / project / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(data)
        os.utime(path, (at, at))
        return path

    def read(self, since: float = 0.0) -> None:
        self.ids.read(since, 10.0)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_an_answer_is_found_by_its_message_id_or_its_request_id(folder: Folder) -> None:
    folder.write("s-1", line("msg_1", "req_1"))
    folder.write("s-2", line("msg_2"), project="-q")
    folder.read()
    assert folder.ids.session_of("msg_1") == "s-1"
    assert folder.ids.session_of(None, "req_1") == "s-1"
    assert folder.ids.session_of("msg_2", "req_9") == "s-2"
    assert folder.ids.session_of("msg_3", None) is None


def test_a_slow_scan_of_the_folder_leaves_time_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Folder(tmp_path).write("s-1", line("msg_1"))
    now, scan = [0.0], transcript_ids._transcripts

    def slow_scan(projects: Path) -> list[tuple[str, os.stat_result]]:
        now[0] += 60.0
        return list(scan(projects))

    monkeypatch.setattr(transcript_ids, "_transcripts", slow_scan)
    ids = TranscriptIds(tmp_path, clock=lambda: now[0])
    ids.read(0.0, 0.05)
    assert ids.session_of("msg_1") == "s-1"


def test_what_is_appended_is_found_by_the_next_read(folder: Folder) -> None:
    folder.write("s-1", line("msg_1"))
    folder.read()
    folder.write("s-1", line("msg_2"))
    assert folder.ids.session_of("msg_2") is None
    folder.read()
    assert folder.ids.session_of("msg_2") == "s-1"


def test_files_that_have_not_changed_since_are_not_read(folder: Folder) -> None:
    folder.write("s-1", line("msg_1"), at=1000.0)
    folder.read(since=1500.0)
    assert folder.ids.session_of("msg_1") is None


def test_a_copy_of_a_session_does_not_take_its_answers(folder: Folder) -> None:
    """`--resume` in older clients and `--fork-session` copy the lines into a new file."""
    folder.write("a-copy", line("msg_1") + line("msg_2"), at=3000.0)
    folder.write("s-1", line("msg_1"), at=2000.0)
    folder.read()
    assert folder.ids.session_of("msg_1") == "s-1"
    assert folder.ids.session_of("msg_2") == "a-copy"


def test_a_file_that_was_replaced_by_a_shorter_one_is_read_again(folder: Folder) -> None:
    path = folder.write("s-1", line("msg_1", "a-long-request-id"))
    folder.read()
    path.write_bytes(line("msg_2"))
    folder.read()
    assert folder.ids.session_of("msg_2") == "s-1"


def test_the_time_of_the_first_line_is_known(folder: Folder) -> None:
    head = b'{"type":"summary"}\n{"type":"user","timestamp":"1970-01-01T00:16:40Z"}\n'
    folder.write("s-1", head + line("msg_1", timestamp="1970-01-01T00:20:00Z"))
    folder.read()
    assert folder.ids.began("s-1") == 1000.0
    assert folder.ids.began("s-2") is None


def error(at: str) -> bytes:
    return line("made-up", timestamp=at).replace(b'"made-up"', b'"made-up", "model": "<synthetic>"')


def test_a_failed_call_is_reported_by_the_line_that_follows_it(folder: Folder) -> None:
    folder.write("s-1", error("1970-01-01T00:16:40Z"))
    folder.read()
    assert folder.ids.session_reporting(999.0) == "s-1"
    assert folder.ids.session_reporting(1000.1) == "s-1"  # the end of the response came later
    assert folder.ids.session_reporting(1001.0) is None
    assert folder.ids.session_reporting(990.0) is None


def test_two_sessions_that_report_a_failure_at_once_are_not_told_apart(folder: Folder) -> None:
    folder.write("s-1", error("1970-01-01T00:16:40Z"))
    folder.write("s-2", error("1970-01-01T00:16:41Z"))
    folder.read()
    assert folder.ids.session_reporting(999.0) is None


def test_a_session_that_began_later_does_not_report_a_failure(folder: Folder) -> None:
    prompt = b'{"type":"user","timestamp":"1970-01-01T00:16:38Z"}\n'
    folder.write("s-1", prompt + error("1970-01-01T00:16:40Z"))
    folder.read()
    assert folder.ids.session_reporting(999.0) == "s-1"
    assert folder.ids.session_reporting(997.0) is None


@pytest.mark.parametrize("name", ["agent-1", "unknown", "a b", "x" * 65])
def test_files_of_other_names_are_not_read(folder: Folder, name: str) -> None:
    folder.write(name, line("msg_1"))
    folder.read()
    assert folder.ids.session_of("msg_1") is None


@pytest.mark.parametrize(
    "data",
    [
        b'"assistant"\n',
        b'["assistant"]\n',
        b'{"type":"assistant","message":7,"requestId":8}\n',
        b'{"type":"assistant"\n\xff\xfe"assistant"\n',
        b"\0" * 1000,
    ],
)
def test_nonsense_is_skipped(folder: Folder, data: bytes) -> None:
    folder.write("s-1", data + b"\n" + line("msg_1"))
    folder.read()
    assert folder.ids.session_of("msg_1") == "s-1"


def test_only_the_end_of_a_long_file_is_read(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_ids, "_TAIL", 200)
    folder.write("s-1", line("msg_0") + b"x" * 300 + b"\n" + line("msg_1"))
    folder.read()
    assert folder.ids.session_of("msg_0") is None
    assert folder.ids.session_of("msg_1") == "s-1"


def test_reading_stops_in_time_and_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_ids, "_PIECE", 10)
    ticks = iter(range(1000))
    folder = Folder(tmp_path)
    folder.ids = TranscriptIds(tmp_path, lambda: float(next(ticks)))
    folder.write("s-1", b"".join(line(f"msg_{number}") for number in range(9)))
    folder.ids.read(0.0, 5.0)
    assert folder.ids.session_of("msg_8") is None
    for _ in range(20):
        folder.ids.read(0.0, 10.0)
    assert folder.ids.session_of("msg_8") == "s-1"


def test_the_folder_is_not_scanned_too_often(tmp_path: Path) -> None:
    now = [100.0]
    ids = TranscriptIds(tmp_path, lambda: now[0])
    assert ids.is_due()
    ids.read(0.0, 1.0)
    assert not ids.is_due()
    now[0] += 1.0
    assert ids.is_due()


def test_only_so_many_ids_are_kept(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_ids, "_MOST_IDS", 2)
    folder.write("s-1", b"".join(line(f"msg_{number}") for number in range(3)))
    folder.read()
    found = [folder.ids.session_of(f"msg_{number}") for number in range(3)]
    assert found == [None, "s-1", "s-1"]


def test_a_missing_folder_has_no_answers(folder: Folder) -> None:
    folder.read()
    assert folder.ids.session_of("msg_1") is None


@property_test
@given(cuts=st.lists(st.integers(0, 400), max_size=8))
def test_however_a_file_grows_every_answer_is_found(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    folder = Folder(tmp_path_factory.mktemp("claude"))
    data = b"".join(line(f"msg_{number}", f"req_{number}") for number in range(5))
    places = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
    for start, end in itertools.pairwise(places):
        folder.write("s-1", data[start:end])
        folder.read()
    assert {folder.ids.session_of(f"msg_{n}", f"req_{n}") for n in range(5)} == {"s-1"}
