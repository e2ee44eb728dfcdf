"""Clients that a run leaves in the background: who they are, and how long they are waited for."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from addon.identity.clients import RUN_MARK
from addon.identity.live_records import LiveRecord
from addon.launch.background import (
    Background,
    Patience,
    background_of,
    foreign_service,
    wait_for_background,
)

SESSION = "0a1b2c3d-0000-4000-8000-000000000000"
Start = Callable[[str], int]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start processes with the mark of a run, and end them."""
    processes = []

    def started(mark: str) -> int:
        script = "print(flush=True); input()"
        process = subprocess.Popen(
            [sys.executable, "-c", script],
            env={RUN_MARK: mark} if mark else {},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        processes.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process.pid

    yield started
    for process in processes:
        process.communicate(b"\n")


def write_record(folder: Path, pid: int, **fields: str) -> None:
    path = folder / "sessions" / f"{pid}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"pid": pid, "sessionId": SESSION, **fields}))


def record(kind: str = "bg", status: str | None = "busy") -> LiveRecord:
    return LiveRecord(
        pid=7,
        session_id=SESSION,
        cwd=None,
        started_at=None,
        version=None,
        kind=kind,
        entrypoint=None,
        status=status,
        updated_at=None,
    )


BUSY, IDLE = Background((record(),), True), Background((record(status="idle"),), True)
SERVICE, GONE = Background((), True), Background()


class Waiting:
    """One wait, with a clock of its own; `seen` names what is there from a moment on."""

    def __init__(self, seen: dict[float, Background], stopped_at: float = 1e9) -> None:
        self._seen = seen
        self._stopped_at = stopped_at
        self.clock = 0.0
        self.said: list[Background] = []

    def look(self) -> Background:
        return [found for moment, found in sorted(self._seen.items()) if moment <= self.clock][-1]

    def sleep(self, seconds: float) -> None:
        self.clock += seconds

    def wait(self, patience: Patience) -> Background:
        return wait_for_background(
            self.look,
            lambda: self.clock >= self._stopped_at,
            self.said.append,
            patience,
            now=lambda: self.clock,
            sleep=self.sleep,
        )


@pytest.mark.parametrize(
    ("seen", "stopped_at", "left", "seconds", "is_said"),
    [
        ({0: GONE}, 1e9, GONE, 0, False),
        ({0: BUSY, 100: GONE}, 1e9, GONE, 100, True),
        ({0: SERVICE, 3: BUSY, 100: SERVICE}, 1e9, SERVICE, 100, True),
        ({0: SERVICE, 5: GONE}, 1e9, GONE, 5, False),
        ({0: SERVICE}, 1e9, SERVICE, 15, False),
        ({0: BUSY, 100: IDLE}, 1e9, IDLE, 159.5, True),
        ({0: BUSY, 100: IDLE, 150: BUSY, 200: IDLE}, 1e9, IDLE, 259.5, True),
        ({0: BUSY}, 50, BUSY, 50, True),
        ({0: BUSY}, 1e9, BUSY, 1000, True),
    ],
    ids=[
        "nothing in the background",
        "it ends",
        "it ends, and the service is not waited for",
        "a service without a session ends by itself",
        "a service without a session",
        "idle",
        "at work again",
        "a signal",
        "the limit",
    ],
)
def test_how_long_it_is_waited_for(
    seen: dict[float, Background],
    stopped_at: float,
    left: Background,
    seconds: float,
    is_said: bool,
) -> None:
    waiting = Waiting(seen, stopped_at)
    assert waiting.wait(Patience(idle=60, limit=1000)) == left
    assert waiting.clock == seconds
    assert bool(waiting.said) == is_said
    assert len(waiting.said) <= 1


def test_a_session_that_is_idle_before_its_prompt_is_waited_for() -> None:
    begun = Background((record(status=None),))
    waiting = Waiting({0: begun, 1: IDLE, 2: BUSY, 100: IDLE}, 1e9)
    assert waiting.wait(Patience(idle=0)) == IDLE
    assert waiting.clock == 100
    never = Waiting({0: begun, 1: IDLE}, 1e9)
    assert never.wait(Patience(idle=0)) == IDLE
    assert never.clock == 15


@pytest.mark.parametrize(
    ("kind", "status", "is_at_work"),
    [
        ("bg", "busy", True),
        ("bg", "idle", False),
        ("bg", "waiting", True),  # for an answer of the user
        ("bg", "shell", True),
        ("bg", None, True),
        ("interactive", "idle", True),  # in tmux, for instance
    ],
)
def test_when_a_client_is_at_work(kind: str, status: str | None, is_at_work: bool) -> None:
    assert Background((record(kind, status),)).is_at_work == is_at_work


def test_clients_are_named_as_the_user_knows_them() -> None:
    found = Background((record(), record("interactive")))
    assert found.names == "session 0a1b2c3d, process 7"
    assert found.sessions == ["0a1b2c3d"]


def test_only_clients_of_the_run_are_found(tmp_path: Path, start: Start) -> None:
    ours, theirs, unmarked, no_client = start("run-1"), start("run-2"), start(""), start("run-1")
    for pid in (ours, theirs, unmarked):
        write_record(tmp_path, pid, kind="bg", status="busy")
    found = background_of(tmp_path, "run-1")
    assert [client.pid for client in found.clients] == [ours]
    assert not found.has_service
    (tmp_path / "daemon.lock").write_text(json.dumps({"pid": no_client}))
    assert background_of(tmp_path, "run-1").has_service
    assert not background_of(tmp_path, "run-2").has_service


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"pid": "1"}', '{"pid": 0}', '{"pid": 1e99}'])
def test_an_unreadable_record_of_the_service_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "daemon.lock").write_text(text)
    assert background_of(tmp_path, "run-1") == GONE


def test_a_service_of_others_that_worked_since_is_named(tmp_path: Path, start: Start) -> None:
    moment = time.time() - 60
    service = start("run-2")
    (tmp_path / "daemon.lock").write_text(json.dumps({"pid": service}))
    assert foreign_service(tmp_path, "run-1", moment) is None
    state = tmp_path / "jobs" / "0a1b2c3d" / "state.json"
    state.parent.mkdir(parents=True)
    (tmp_path / "jobs" / "pins.json").write_text("[]")
    state.write_text("{}")
    assert foreign_service(tmp_path, "run-1", moment) == service
    assert foreign_service(tmp_path, "run-2", moment) is None
    os.utime(state, (moment - 1, moment - 1))
    assert foreign_service(tmp_path, "run-1", moment) is None
