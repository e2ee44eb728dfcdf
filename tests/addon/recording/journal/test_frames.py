import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.identity.processes import ClientProcess
from addon.recording.jobs import Answered, Begun, Chunk, Ended, Job, Lost, ResponseSeen
from addon.recording.journal.frames import (
    CHUNK,
    CHUNK_HEAD,
    TIME_SIZE,
    FrameParser,
    Owned,
    begun_frame,
    frame_of,
)
from tests.faults import busy


def chunk_frame(at: float, data: bytes) -> bytes:
    return CHUNK_HEAD.pack(CHUNK, TIME_SIZE + len(data), at) + data


REQUEST = busy.request("flow", busy.SESSIONS[0])
PROCESS = ClientProcess(7, 1.25, ((6, 0.5), (1, 0.25)))
RESPONSE = ResponseSeen(
    at=2.5, status=200, reason="OK", http_version="HTTP/1.1", headers=[("a", "b"), ("a", "\udcff")]
)
JOBS: list[Job] = [
    Begun(REQUEST, PROCESS),
    Answered("flow", RESPONSE),
    Chunk("flow", 3.5, b"data \0\xff"),
    Lost("flow"),
    Ended("flow", 4.5, "server_disconnect", "reset"),
]
FRAMES = b"".join(
    (
        *begun_frame(REQUEST, PROCESS, is_owned=True),
        frame_of(Answered("flow", RESPONSE)),
        chunk_frame(3.5, b"data \0\xff"),
        frame_of(Lost("flow")),
        frame_of(Ended("flow", 4.5, "server_disconnect", "reset")),
    )
)


def test_every_job_comes_back_as_it_was() -> None:
    assert FrameParser("flow").feed(FRAMES) == JOBS


def test_byte_by_byte_gives_the_same() -> None:
    parser = FrameParser("flow")
    assert [job for byte in FRAMES for job in parser.feed(bytes([byte]))] == JOBS


def test_a_cut_frame_is_no_job() -> None:
    for end in range(len(FRAMES)):
        parser = FrameParser("flow")
        jobs = parser.feed(FRAMES[:end])
        assert jobs == JOBS[: len(jobs)]
        assert len(jobs) < len(JOBS)
        parser.drop_cut()
        assert parser.feed(FRAMES) == JOBS


def test_jobs_wait_for_the_process() -> None:
    parser = FrameParser("flow")
    begun = b"".join(begun_frame(REQUEST, None, is_owned=False))
    ended = frame_of(Ended("flow", 4.5, "http_end", None))
    assert parser.feed(begun + chunk_frame(3.5, b"x") + ended) == []
    assert parser.feed(frame_of(Owned("flow", PROCESS))) == [
        Begun(REQUEST, PROCESS),
        Chunk("flow", 3.5, b"x"),
        Ended("flow", 4.5, "http_end", None),
    ]
    assert parser.feed(chunk_frame(5.5, b"y")) == [Chunk("flow", 5.5, b"y")]


def test_jobs_whose_process_is_never_found_are_flushed() -> None:
    parser = FrameParser("flow")
    assert parser.feed(b"".join(begun_frame(REQUEST, None, is_owned=False))) == []
    assert parser.flush() == [Begun(REQUEST, None)]
    assert parser.flush() == []


@given(st.binary(max_size=60))
def test_rubbish_is_a_value_error_or_nothing(data: bytes) -> None:
    parser = FrameParser("flow")
    try:
        parser.feed(data)
        parser.feed(data)
    except ValueError:
        return


@pytest.mark.parametrize("kind", range(8))
def test_a_frame_without_content_is_a_value_error(kind: int) -> None:
    frame = struct.pack("!BI", kind, 1) + b"x"
    if kind == 3:
        assert FrameParser("flow").feed(frame) == [Lost("flow")]
        return
    with pytest.raises(ValueError):
        FrameParser("flow").feed(frame)
