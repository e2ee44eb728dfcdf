"""Older exchanges of a running session are packed, the newest stay open, and nothing is lost."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from addon.storage.packing.keep_open import parse_keep_open
from addon.storage.packing.rolling import Rolling
from ccwire.wire.format import EXCHANGES, PART_SUFFIX, Exchange
from ccwire.wire.pack.files import exchange_files
from ccwire.wire.pack.reader import segments
from ccwire.wire.vocabulary import EndpointKind
from tests.addon.storage.exchange_files import all_there, write_files


class Session:
    """A session's folder to which finished exchanges are added."""

    def __init__(self, folder: Path, keep_open: int | None = 3) -> None:
        self.folder = folder
        self.folder.mkdir()
        self.rolling = Rolling(keep_open)
        self.count = 0

    def add(self, number: int = 1, kind: EndpointKind = "messages", size: int = 100) -> None:
        for _ in range(number):
            self.count += 1
            write_files(self.folder, range(self.count, self.count + 1))
            self.rolling.finished(self.folder, [line(self.count, kind, size)])

    @property
    def open(self) -> list[int]:
        return sorted({int(path.name[:4]) for path in exchange_files(self.folder)})

    def idle(self, has_ended: Callable[[str], bool] = lambda _: False) -> None:
        self.rolling.work(10, has_ended)


def line(number: int, kind: EndpointKind, size: int) -> Exchange:
    return Exchange(
        sequence=number,
        flow_id=str(number),
        started=1.0,
        method="POST",
        host="api.anthropic.com",
        path="/v1/messages",
        kind=kind,
        request_bytes=size,
    )


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path / "s-1")


def test_the_newest_stay_open(session: Session) -> None:
    session.add(3)
    session.idle()
    assert session.open == [1, 2, 3]
    session.add(7)
    before = all_there(session.folder)
    session.idle()
    assert session.open == [8, 9, 10]
    assert all_there(session.folder) == before
    session.add(1)
    session.idle()
    assert session.open == [9, 10, 11]
    assert len(segments(session.folder)) == 1


def test_telemetry_is_packed_at_once(session: Session) -> None:
    session.add(1)
    session.add(2, "event_logging")
    session.add(1)
    session.idle()
    assert session.open == [1, 4]


def test_an_exchange_in_flight_is_left_alone(session: Session) -> None:
    session.add(6)
    part = session.folder / f"0002_resp_v1_messages{PART_SUFFIX}"
    part.touch()
    session.idle()
    assert session.open == [2, 4, 5, 6]
    part.unlink()
    session.add(1)
    session.idle()
    assert session.open == [5, 6, 7]


@pytest.mark.parametrize("keep_open", [0, 1])
def test_any_number_may_stay_open(tmp_path: Path, keep_open: int) -> None:
    session = Session(tmp_path / "s-1", keep_open)
    session.add(4)
    session.idle()
    assert session.open == [1, 2, 3, 4][4 - keep_open :]


def test_all_may_stay_open(tmp_path: Path) -> None:
    session = Session(tmp_path / "s-1", None)
    session.add(4)
    session.add(1, "event_logging")
    session.idle()
    session.rolling.close()
    assert session.open == [1, 2, 3, 4, 5]


def test_unknown_stays_open(tmp_path: Path) -> None:
    session = Session(tmp_path / "unknown", 0)
    session.add(4)
    session.idle()
    session.rolling.close()
    assert len(session.open) == 4


def test_when_it_closes_all_is_packed(session: Session) -> None:
    session.add(5)
    before = all_there(session.folder)
    session.rolling.close()
    assert session.open == []
    assert all_there(session.folder) == before


@pytest.mark.parametrize(("after", "ended", "left"), [(4, True, 3), (6, True, 0), (6, False, 3)])
def test_a_session_that_has_ended_is_packed_soon(
    session: Session, monkeypatch: pytest.MonkeyPatch, after: float, ended: bool, left: int
) -> None:
    session.add(5)
    pass_time(monkeypatch, after)
    session.idle(lambda _: ended)
    assert len(session.open) == left


def test_an_idle_session_is_packed_and_may_go_on(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.add(5)
    pass_time(monkeypatch, 301)
    session.idle()
    assert session.open == []
    session.add(2)
    session.idle()
    assert session.open == [6, 7]
    assert len(all_there(session.folder)) == 14


def test_files_from_before_are_packed_too(session: Session) -> None:
    write_files(session.folder, range(1, 9))
    session.count = 8
    session.add(1)
    session.idle()
    session.add(1)
    session.idle()
    assert session.open == [8, 9, 10]


def test_what_a_killed_proxy_has_left_half_packed_is_taken_up(session: Session) -> None:
    session.add(5)
    session.idle()
    (session.folder / EXCHANGES).touch()
    next_one = Rolling(3)
    next_one.take_up(session.folder)
    next_one.close()
    assert session.open == [3, 4, 5], "it was written to a moment ago"
    os.utime(session.folder / EXCHANGES, (1, 1))
    next_one.take_up(session.folder)
    next_one.close()
    assert session.open == []


def test_a_session_that_was_unpacked_is_not_taken_up(session: Session) -> None:
    session.add(5)
    (session.folder / EXCHANGES).touch()
    os.utime(session.folder / EXCHANGES, (1, 1))
    next_one = Rolling(3)
    next_one.take_up(session.folder)
    next_one.close()
    assert session.open == [1, 2, 3, 4, 5]


def test_under_load_it_waits_until_there_is_much_to_pack(session: Session) -> None:
    session.add(10)
    session.rolling.catch_up(10)
    assert len(session.open) == 10
    session.add(2, size=600 << 10)
    session.rolling.catch_up(10)
    assert len(session.open) == 12  # the large ones are to stay open
    session.add(3)
    session.rolling.catch_up(10)
    assert session.open == [13, 14, 15]


def test_a_full_disk_is_logged_once_and_tried_again_later(
    session: Session, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session.add(5)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("addon.storage.packing.segments.os.fsync", full)
        session.idle()
        session.idle()
    assert len(session.open) == 5
    assert caplog.text.count("could not be packed (No space left on device)") == 1
    session.idle()
    assert len(session.open) == 5
    pass_time(monkeypatch, 31)
    session.idle()
    assert session.open == [3, 4, 5]
    assert len(all_there(session.folder)) == 10


def test_a_folder_that_was_deleted_is_forgotten(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    session.add(5)
    shutil.rmtree(session.folder)
    session.idle()
    session.rolling.close()
    assert caplog.text == ""
    assert not session.folder.exists()


def test_an_exchange_that_cannot_be_packed_does_not_hold_up_the_others(session: Session) -> None:
    session.add(4)
    session.rolling.close()
    (session.folder / "0002_req_v1_messages.json").write_bytes(b"not what was packed")
    session.add(5)
    session.idle()
    session.idle()
    assert session.open == [2, 7, 8, 9]
    assert (session.folder / "0002_req_v1_messages.json").read_bytes() == b"not what was packed"


def test_many_sessions_share_a_few_compressors(tmp_path: Path) -> None:
    sessions = [Session(tmp_path / f"s-{number}") for number in range(12)]
    shared = sessions[0].rolling
    for _ in range(3):
        for session in sessions:
            session.rolling = shared
            session.add(2)
        shared.work(10, lambda _: False)
    for session in sessions:
        assert session.open == [4, 5, 6]
        assert len(all_there(session.folder)) == 12


@pytest.mark.parametrize("text", ["", "-1", "1.5", "All", "many", "²", "1" * 30])
def test_an_odd_setting_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a number or `all`"):
        parse_keep_open(text)


def test_a_setting_is_a_number_or_all() -> None:
    assert (parse_keep_open("20"), parse_keep_open("0"), parse_keep_open("all")) == (20, 0, None)


def pass_time(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    real = time.monotonic
    monkeypatch.setattr("addon.storage.packing.rolling.time.monotonic", lambda: real() + seconds)
