import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from addon.recording.jobs import (
    Answered,
    Begun,
    Chunk,
    Ended,
    Failed,
    Job,
    Lost,
    RequestSeen,
    ResponseSeen,
)
from addon.recording.queue import JobQueue


class SlowSink:
    """Records every job; blocks while `go_on` is cleared."""

    def __init__(self) -> None:
        self.handled: list[tuple[Any, ...]] = []
        self.go_on = threading.Event()
        self.go_on.set()
        self.busy = threading.Event()
        self.raising: type[BaseException] | None = None
        self.fails_at_failing = False

    def handle(self, job: Job) -> None:
        match job:
            case Failed(flow_id, error):
                self.handled.append(("failed", flow_id, type(error)))
                if self.fails_at_failing:
                    raise RuntimeError("that too")
            case Begun(request):
                self._record("begin", job.flow_id, request.body)
            case Answered(flow_id):
                self._record("answered", flow_id)
            case Chunk(flow_id, _, data):
                self._record("chunk", flow_id, data)
            case Lost(flow_id):
                self._record("lost", flow_id)
            case Ended(flow_id, _, ended_by):
                self._record("end", flow_id, ended_by)

    def _record(self, *what: Any) -> None:
        self.busy.set()
        self.go_on.wait(10)
        self.handled.append(what)
        if self.raising is not None:
            raise self.raising("made up")

    def settle(self) -> None: ...

    def idle(self) -> None: ...

    def close(self) -> None:
        self.handled.append(("close",))


@pytest.fixture
def sink() -> SlowSink:
    return SlowSink()


Make = Callable[..., JobQueue]


@pytest.fixture
def writer(sink: SlowSink) -> Iterator[Make]:
    made: list[JobQueue] = []

    def make(limit: int = 1 << 20) -> JobQueue:
        made.append(JobQueue(sink, limit=limit))
        return made[-1]

    yield make
    sink.go_on.set()
    for one in made:
        one.close()


def request(flow_id: str, body: bytes = b"") -> RequestSeen:
    return RequestSeen(
        flow_id=flow_id,
        started=1.0,
        ended=1.0,
        method="POST",
        scheme="https",
        host="h",
        port=443,
        target="/",
        http_version="HTTP/1.1",
        headers=[],
        body=body,
        client_address=None,
        connection_id="c",
    )


RESPONSE = ResponseSeen(at=1.0, status=200, reason="", http_version="", headers=[])


def test_everything_is_handed_over_in_order(sink: SlowSink, writer: Make) -> None:
    one = writer()
    one.put(Begun(request("f", b"body")))
    one.put(Answered("f", RESPONSE))
    tee = one.tee("f")
    for chunk in (b"a", b"", b"b"):
        assert tee(chunk) is chunk
    one.put(Ended("f", 2.0, "http_end", None))
    one.close()
    assert sink.handled == [
        ("begin", "f", b"body"),
        ("answered", "f"),
        ("chunk", "f", b"a"),
        ("chunk", "f", b"b"),
        ("end", "f", "http_end"),
        ("close",),
    ]


def stop_the_desk(one: JobQueue, sink: SlowSink) -> None:
    """Block the sink until `go_on` is set."""
    sink.go_on.clear()
    one.put(Answered("busy", RESPONSE))
    assert sink.busy.wait(10)


def test_a_slow_disk_never_blocks_the_client_and_the_loss_is_recorded_once(
    sink: SlowSink, writer: Make
) -> None:
    one = writer(limit=10_000)
    stop_the_desk(one, sink)
    tee = one.tee("f")
    chunks = [bytes([65 + number]) * 3000 for number in range(6)]
    assert [tee(chunk) for chunk in chunks] == chunks
    sink.go_on.set()
    one.put(Ended("f", 2.0, "http_end", None))
    one.close()
    assert sink.handled[1:] == [
        *(("chunk", "f", chunk) for chunk in chunks[:3]),
        ("lost", "f"),
        ("end", "f", "http_end"),
        ("close",),
    ]


def test_many_small_chunks_count_for_what_they_take(sink: SlowSink, writer: Make) -> None:
    one = writer(limit=10_000)
    stop_the_desk(one, sink)
    tee = one.tee("f")
    for _ in range(1000):
        tee(b"x")
    sink.go_on.set()
    one.close()
    kept = [what for what in sink.handled if what[0] == "chunk"]
    assert 10 < len(kept) < 100
    assert ("lost", "f") in sink.handled


def test_a_request_for_a_full_queue_is_recorded_without_its_body(
    sink: SlowSink, writer: Make
) -> None:
    one = writer(limit=10_000)
    stop_the_desk(one, sink)
    one.put(Begun(request("big", b"x" * 50_000)))  # an empty queue accepts any size
    one.put(Begun(request("next", b"y" * 5_000)))
    sink.go_on.set()
    one.close()
    assert sink.handled[1:] == [
        ("begin", "big", b"x" * 50_000),
        ("begin", "next", b""),
        ("lost", "next"),
        ("close",),
    ]


def test_there_is_room_again_when_the_sink_has_caught_up(sink: SlowSink, writer: Make) -> None:
    one = writer(limit=10_000)
    tee = one.tee("f")
    for number in range(5):
        tee(b"x" * 9000)
        while len(sink.handled) <= number:
            sink.busy.wait(0.01)
    one.close()
    assert ("lost", "f") not in sink.handled


@pytest.mark.parametrize("fails_again", [False, True])
def test_whatever_goes_wrong_the_thread_goes_on(
    sink: SlowSink, writer: Make, fails_again: bool
) -> None:
    sink.raising = RuntimeError
    sink.fails_at_failing = fails_again
    one = writer()
    for number in range(3):
        one.put(Begun(request(f"f-{number}")))
    one.close()
    failed = [what for what in sink.handled if what[0] == "failed"]
    assert failed == [("failed", f"f-{number}", RuntimeError) for number in range(3)]
    assert sink.handled[-1] == ("close",)


def test_close_does_not_wait_forever_for_a_blocked_sink(
    sink: SlowSink, writer: Make, caplog: pytest.LogCaptureFixture
) -> None:
    one = writer()
    stop_the_desk(one, sink)
    one.close(timeout=0.01)
    assert "too slow" in caplog.text


def test_a_real_recorder_receives_everything(tmp_path: Path) -> None:
    from tests.addon.recording.recorders import START, STOP, open_rig

    with open_rig(tmp_path) as real:
        one = JobQueue(real.recorder)
        one.put(Begun(request("f")))
        headers = [("content-type", "text/event-stream")]
        response = ResponseSeen(at=1.0, status=200, reason="", http_version="", headers=headers)
        one.put(Answered("f", response))
        tee = one.tee("f")
        for byte in START + STOP:
            tee(bytes([byte]))
        one.put(Ended("f", 2.0, "http_end", None))
        one.close()
        (line,) = real.lines(None)
    assert (line["complete"], line["response_bytes"]) == (True, len(START + STOP))


def test_a_failed_process_lookup_loses_nothing(sink: SlowSink) -> None:
    def fails(connection_id: str) -> None:
        raise RuntimeError("made up")

    one = JobQueue(sink, fails)
    one.put(Begun(request("f", b"body")))
    one.put(Ended("f", 2.0, "http_end", None))
    one.close()
    assert sink.handled == [("begin", "f", b"body"), ("end", "f", "http_end"), ("close",)]
