"""Both sides of the journal: what is appended is read in order, once, and kept until recorded."""

import errno
import os
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from addon.identity.processes import ClientProcess
from addon.recording.jobs import Begun, Chunk, Ended, Failed, Lost
from addon.recording.journal import append, read
from addon.recording.journal.read import JournalReader
from tests.addon.recording.journal.journals import both, plain
from tests.faults import busy

PROCESS = ClientProcess(7, 1.25)


def test_what_is_appended_is_read_once_in_order(tmp_path: Path) -> None:
    with both(tmp_path) as made:
        jobs = made.exchange("a") + made.exchange("b")
        assert plain(made.read()) == plain(jobs)
        assert made.read() == []
        assert made.woken == len(jobs)
        made.journal.has_read(made.reader.size)
        assert made.journal.unread == 0


def test_an_exchange_is_kept_until_it_is_forgotten(tmp_path: Path) -> None:
    with both(tmp_path) as made:
        jobs = made.exchange("a")
        made.read()
        made.exchange("b", upto=3)
        made.read()
        assert made.reader.ended == ["a"]
        again = JournalReader(made.folder)
        assert plain(again.read())[: len(jobs)] == plain(jobs)
        again.close()
        made.reader.forget(["a"])
        assert made.names() == ["00000002-b.0"]


def test_modes_are_private(tmp_path: Path) -> None:
    with both(tmp_path) as made:
        made.exchange("a", upto=1)
        assert made.folder.path.stat().st_mode & 0o777 == 0o700
        assert made.folder.path.parent.stat().st_mode & 0o777 == 0o700
        assert (made.folder.path / made.names()[0]).stat().st_mode & 0o777 == 0o600


def test_a_process_that_is_found_later_is_waited_for_by_the_reader_only(tmp_path: Path) -> None:
    with both(tmp_path) as made:
        made.owners["5"] = Future()
        made.exchange("a", process=5)
        assert made.read() == []
        assert not made.journal.is_complete
        made.journal.complete()
        assert made.read() == []
        made.owners["5"].set_result(PROCESS)
        made.journal.complete()
        assert made.journal.is_complete
        first, *_, last = made.read()
        assert isinstance(first, Begun)
        assert first.process == PROCESS
        assert isinstance(last, Ended)


def test_a_lookup_that_fails_or_never_ends_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with both(tmp_path) as made:
        made.owners["5"] = Future()
        made.owners["5"].set_exception(RuntimeError("made up"))
        made.owners["6"] = Future()
        monkeypatch.setattr(append, "_PATIENCE_SECONDS", -1.0)
        made.exchange("a", process=5)
        made.exchange("b", process=6)
        made.journal.complete()
        begun = [job for job in made.read() if isinstance(job, Begun)]
        assert [(job.flow_id, job.process) for job in begun] == [("a", None), ("b", None)]


def test_a_long_answer_is_read_from_segments_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append, "SEGMENT", 1000)
    monkeypatch.setattr(read, "REPLAYED", 5000)
    with both(tmp_path) as made:
        made.exchange("a", upto=2)
        tee = made.journal.tee("a")
        seen = []
        for number in range(40):
            tee(bytes([number]) * 300)
            seen += [job.data for job in made.read() if isinstance(job, Chunk)]
        assert seen == [bytes([number]) * 300 for number in range(40)]
        assert len(made.names()) < 3
        assert "00000001-a.0" not in made.names()
        made.journal.put(Ended("a", 1.0, "http_end", None))
        assert [type(job) for job in made.read()] == [Ended]
        made.reader.forget(["a"])
        assert made.names() == []


def test_a_short_one_is_kept_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append, "SEGMENT", 300)
    with both(tmp_path) as made:
        jobs = made.exchange("a")
        assert len(made.names()) > 2
        made.read()
        again = JournalReader(made.folder)
        assert plain(again.read()) == plain(jobs)
        again.close()
        made.reader.forget(["a"])
        assert made.names() == []


def test_a_segment_that_cannot_be_opened_now_is_read_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append, "SEGMENT", 300)
    with both(tmp_path) as made:
        jobs = made.exchange("a")
        made.reader._begin(made.folder.files()[0])
        with monkeypatch.context() as full:
            full.setattr(os, "open", _no_descriptor)
            with pytest.raises(OSError, match="Too many open files"):
                made.read()
        again = made.read()
        assert plain(again) == plain(jobs)[-len(again) :]
        assert isinstance(again[-1], Ended)


def _no_descriptor(*given: object) -> int:
    raise OSError(errno.EMFILE, "Too many open files")


def test_a_recorder_that_is_far_behind_costs_bodies_and_each_loss_is_a_job(tmp_path: Path) -> None:
    with both(tmp_path, limit=10_000) as made:
        made.exchange("a", upto=2)
        tee = made.journal.tee("a")
        chunks = [bytes([65 + number]) * 3000 for number in range(6)]
        assert [tee(chunk) for chunk in chunks] == chunks
        made.journal.put(Ended("a", 2.0, "http_end", None))
        made.exchange("b", upto=1, size=5000)
        jobs = made.read()
        kept = [job.data for job in jobs if isinstance(job, Chunk)]
        assert kept == chunks[: len(kept)]
        assert 0 < len(kept) < 4
        assert [type(job) for job in jobs[-4:]] == [Lost, Ended, Begun, Lost]
        begun = jobs[-2]
        assert isinstance(begun, Begun)
        assert begun.request.body == b""
        made.journal.has_read(made.reader.size)
        made.journal.put(Ended("b", 2.0, "http_end", None))
        jobs = made.exchange("c", size=5000)
        assert plain(made.read()[1:]) == plain(jobs)


def test_far_behind_it_asks_for_patience(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append, "CROWDED", 2000)
    asked = []
    with both(tmp_path) as made:
        made.exchange("a", upto=2)
        tee = made.journal.tee("a", lambda: asked.append(made.journal.unread))
        for _ in range(4):
            tee(b"x" * 900)
    assert len(asked) == 2


class FullMemory:
    """`os.writev` that writes half of each frame, or nothing, while it is `full`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, half: bool) -> None:
        self.full = False
        self._half = half
        self._real = os.writev
        monkeypatch.setattr(os, "writev", self._writev)

    def _writev(self, descriptor: int, pieces: Any) -> int:
        if not self.full:
            return self._real(descriptor, pieces)
        if not self._half:
            raise OSError(errno.ENOSPC, "No space left on device")
        data = b"".join(pieces)
        return self._real(descriptor, [data[: len(data) // 2]])


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("first", [0, 1, 2, 4, 8])
def test_full_memory_never_fails_the_client_and_the_loss_is_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, half: bool, first: int
) -> None:
    memory = FullMemory(monkeypatch, half)
    with both(tmp_path) as made:
        given = busy.jobs("a", busy.SESSIONS[0])
        for number, job in enumerate(given):
            memory.full = number >= first
            made.put(job)
        memory.full = False
        made.journal.complete()
        assert made.journal.is_complete
        jobs = made.read()
        kinds = [type(job) for job in jobs]
        assert kinds[0] is Begun
        assert kinds[-1] is Ended
        is_lost = any(isinstance(job, Chunk) for job in given[first:]) or first == 0
        assert kinds.count(Lost) == is_lost
        assert Failed not in kinds
        made.reader.forget(["a"])
        assert made.names() == []


def test_damage_is_a_failed_exchange_and_no_other_suffers(tmp_path: Path) -> None:
    with both(tmp_path) as made:
        made.exchange("a", upto=2)
        with (made.folder.path / made.names()[0]).open("ab") as file:
            file.write(b"\xff" + b"\0\0\0\1" + b"rubbish")
        jobs = made.exchange("b")
        found = made.read()
        (failed,) = [job for job in found if isinstance(job, Failed)]
        assert failed.flow_id == "a"
        assert plain(found)[-len(jobs) :] == plain(jobs)
        assert made.reader.ended == ["a", "b"]


def test_a_folder_that_somebody_removed_is_noticed(tmp_path: Path) -> None:
    with both(tmp_path) as made:
        made.folder.remove()
        made.exchange("a")
        assert made.journal.is_gone
        assert made.read() == []
