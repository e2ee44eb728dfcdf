"""The live view's totals, and how it follows files that grow, are truncated or rewritten."""

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from ccwire.wire.format import EXCHANGES, MANIFEST, Exchange, Manifest
from ccwire.wire.usage import Tokens
from correlate.watch.frame import InFlight, SessionWatch, View, frame
from correlate.watch.tail import CaptureTail

SESSION = "11111111-2222-4333-8444-555555555555"
OTHER = "22222222-2222-4333-8444-555555555555"
NOW = 1_794_000_000.0
USAGE = {
    "input_tokens": 100,
    "cache_creation_input_tokens": 100,
    "cache_read_input_tokens": 800,
    "output_tokens": 50,
}


def exchange(number: int, **more: Any) -> Exchange:
    fields: dict[str, Any] = {
        "sequence": number,
        "flow_id": f"flow-{number}",
        "started": NOW + number,
        "ended": NOW + number + 0.5,
        "first_byte_ms": 100.0 * number,
        "method": "POST",
        "host": "api.anthropic.com",
        "path": "/v1/messages",
        "status": 200,
        "kind": "messages",
        "model": "claude-opus-4-5",
        "usage": USAGE,
        "complete": True,
        "claude_version": "2.1.325",
    }
    return Exchange.from_json({**fields, **more})


def watched(*exchanges: Exchange, session: str = SESSION) -> SessionWatch:
    found = SessionWatch(session)
    for one in exchanges:
        found.add(one)
    return found


def test_calls_are_summed_per_session_and_agent() -> None:
    session = watched(
        exchange(1),
        exchange(2, agent_id="a1", agent_type="Explore"),
        exchange(3, status=529, complete=True, usage=None),
        exchange(4, kind="event_logging", model=None, usage=None),
    )
    total = session.total
    assert (total.calls, total.errors, total.others) == (3, 1, 1)
    assert total.tokens == Tokens(input=200, output=100, cache_read=1600, cache_write_5m=200)
    assert total.cache_share == 0.8
    assert total.first_byte == pytest.approx(0.2)
    assert total.usd == pytest.approx(2 * (500 + 625 + 400 + 1250) / 1e6)
    assert {agent: sums.calls for agent, sums in session.agents.items()} == {None: 2, "a1": 1}
    assert session.agent_types == {"a1": "Explore"}


def test_a_cut_answer_counts_its_initial_usage() -> None:
    session = watched(exchange(1, usage=None, usage_at_start=USAGE, complete=False))
    assert session.total.tokens.output == 50
    assert session.total.errors == 1


def test_an_unknown_model_is_unpriced_not_free() -> None:
    session = watched(exchange(1, model="somebody-elses"))
    assert (session.total.usd, session.total.unpriced) == (0.0, 1)


def test_an_exchange_is_counted_once() -> None:
    session = watched(exchange(1))
    assert session.add(exchange(1)) is None
    assert session.total.calls == 1


def test_what_is_in_flight_leaves_when_its_line_comes() -> None:
    session = watched(exchange(1))
    flights = [
        InFlight(flow_id=f"flow-{n}", sequence=n, started=NOW, kind="messages") for n in (1, 2)
    ]
    session.fly(flights)
    assert [flight.sequence for flight in session.in_flight] == [2]
    assert session.in_flight[0].elapsed(NOW + 3) == 3


def test_the_keys_change_the_view() -> None:
    view = View()
    seen = []
    for _ in range(3):
        view = view.pressed("f", [SESSION, OTHER])
        seen.append(view.session_id)
    assert seen == [SESSION, OTHER, None]
    assert View().pressed("e", []).errors_only
    assert View().pressed("p", []).pressed("p", []) == View()
    assert View("gone").pressed("f", [SESSION]).session_id == SESSION
    assert View().pressed("x", [SESSION]) == View()


def test_a_frame_shows_what_its_view_asks_for() -> None:
    one = watched(exchange(1), exchange(3, status=500, error="api_error: no"))
    other = watched(exchange(2), session=OTHER)
    one.manifest = Manifest(
        session_id=SESSION, drift={"new field": 2}, counts={"capture_errors": 1}
    )
    every = frame([one, other], View(), NOW)
    assert [call.exchange.sequence for call in every.calls] == [1, 2, 3]
    assert (every.total.calls, every.drift, every.lost) == (3, {"new field": 2}, 1)
    only = frame([one, other], View(session_id=OTHER), NOW)
    assert [call.exchange.sequence for call in only.calls] == [2]
    assert only.drift == {}
    errors = frame([one, other], View(errors_only=True), NOW)
    assert [call.exchange.sequence for call in errors.calls] == [3]
    assert [c.exchange.sequence for c in frame([one, other], View(), NOW, calls=1).calls] == [3]


def line(one: Exchange) -> bytes:
    return orjson.dumps(one.to_json()) + b"\n"


@pytest.fixture
def captures(tmp_path: Path) -> Path:
    for session in (SESSION, OTHER):
        (tmp_path / session).mkdir()
    (tmp_path / SESSION / EXCHANGES).write_bytes(line(exchange(1)))
    (tmp_path / OTHER / EXCHANGES).write_bytes(line(exchange(2)))
    return tmp_path


def seen(tail: CaptureTail) -> dict[str, int]:
    return {session.session_id: session.total.calls for session in tail.sessions}


def sequences(tail: CaptureTail) -> list[int]:
    return sorted(call.exchange.sequence for call in tail.look(NOW))


def test_only_what_is_new_is_read(captures: Path) -> None:
    tail = CaptureTail(captures, every=True)
    assert sequences(tail) == [1, 2]
    assert sequences(tail) == []
    with (captures / SESSION / EXCHANGES).open("ab") as file:
        file.write(line(exchange(3)) + line(exchange(4))[:40])
    assert sequences(tail) == [3]
    with (captures / SESSION / EXCHANGES).open("ab") as file:
        file.write(line(exchange(4))[40:])
    assert sequences(tail) == [4]
    assert seen(tail) == {SESSION: 3, OTHER: 1}


def test_a_line_that_a_kill_cut_is_passed_over(captures: Path) -> None:
    with (captures / SESSION / EXCHANGES).open("ab") as file:
        file.write(b'{"sequence": 3, "flow\n[]\n\n' + line(exchange(4)))
    assert sequences(CaptureTail(captures, every=True)) == [1, 2, 4]


def test_a_file_written_anew_is_read_anew(captures: Path) -> None:
    tail = CaptureTail(captures, every=True)
    tail.look(NOW)
    path = captures / SESSION / EXCHANGES
    path.with_suffix(".new").write_bytes(line(exchange(5)))
    path.with_suffix(".new").replace(path)
    assert sequences(tail) == [5]
    assert seen(tail)[SESSION] == 1


def test_a_call_reported_in_unknown_is_not_reported_again_after_its_move(captures: Path) -> None:
    (captures / "unknown").mkdir()
    (captures / "unknown" / EXCHANGES).write_bytes(line(exchange(7)))
    tail = CaptureTail(captures, every=True)
    assert sequences(tail) == [1, 2, 7]
    (captures / "unknown" / EXCHANGES).write_bytes(b"")
    with (captures / SESSION / EXCHANGES).open("ab") as file:
        file.write(line(exchange(7, sequence=3)))
    assert sequences(tail) == []
    assert seen(tail) == {SESSION: 2, OTHER: 1, "unknown": 0}


def test_sessions_long_silent_are_left_out_but_for_the_newest(captures: Path) -> None:
    def age(session: str, seconds: float) -> None:
        for path in (captures / session / EXCHANGES, captures / session):
            os.utime(path, (NOW - seconds, NOW - seconds))

    age(SESSION, 8000)
    age(OTHER, 7000)
    tail = CaptureTail(captures)
    tail.look(NOW)
    assert seen(tail) == {OTHER: 1}
    age(SESSION, 10)
    tail.look(NOW)
    assert seen(tail) == {OTHER: 1, SESSION: 1}


def write_part(captures: Path, at: float, *lines: dict[str, Any], end: bytes = b"\n") -> Path:
    part = captures / SESSION / "0009_resp_v1_messages.part"
    part.write_bytes(b"\n".join(map(orjson.dumps, lines)) + end)
    os.utime(part, (at, at))
    return part


PART = {
    "request": {
        "flow_id": "flow-9",
        "base": {"started": NOW - 2, "kind": "messages", "model": "claude-opus-4-5"},
        "facts": {"agent_id": "a1", "agent_type": "Explore"},
    }
}


def test_a_part_file_is_a_call_in_flight(captures: Path) -> None:
    tail = CaptureTail(captures, every=True)
    part = write_part(captures, NOW, PART)
    tail.look(NOW)
    (flight,) = tail.sessions[0].in_flight
    assert flight.sequence == 9
    assert (flight.sequence, flight.agent_id, flight.status) == (9, "a1", None)
    write_part(captures, NOW, PART, {"response": {"status": 200, "at": NOW - 1}})
    tail.look(NOW)
    (flight,) = tail.sessions[0].in_flight
    assert flight.sequence == 9
    assert (flight.status, flight.first_byte) == (200, NOW - 1)
    part.unlink()
    tail.look(NOW)
    assert tail.sessions[0].in_flight == ()


def test_a_part_half_written_or_abandoned_is_not_shown(captures: Path) -> None:
    tail = CaptureTail(captures, every=True)
    write_part(captures, NOW, PART, end=b"")
    tail.look(NOW)
    assert tail.sessions[0].in_flight == ()
    write_part(captures, NOW - 1000, PART)
    tail.look(NOW)
    assert tail.sessions[0].in_flight == ()


def test_drift_comes_from_the_manifest(captures: Path) -> None:
    tail = CaptureTail(captures, every=True)
    manifest = Manifest(session_id=SESSION, drift={"transcript/user has a new field": 1})
    (captures / SESSION / MANIFEST).write_bytes(orjson.dumps(manifest.to_json()))
    tail.look(NOW)
    assert frame(tail.sessions, View(), NOW).drift == {"transcript/user has a new field": 1}


def test_a_folder_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    assert CaptureTail(tmp_path / "none").look(NOW) == []
