"""The brake: a server is paused while the recorder is behind, and never for longer than that."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from mitmproxy.test import taddons, tflow

from addon import brake
from addon.brake import Brake


class Transport(asyncio.ReadTransport):
    """A transport that notes whether it is read from."""

    def __init__(self) -> None:
        super().__init__()
        self.reading = True
        self.closing = False

    def is_reading(self) -> bool:
        return self.reading

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.closing
        self.reading = True


class Recorder:
    """How far a recorder has read."""

    read = 0
    unread = 100


def paused(act: Callable[[Recorder, Transport, Callable[[], None]], Any]) -> None:
    """Call `act` in an event loop, with a server that is paused."""

    async def inside() -> None:
        recorder, transport, flow = Recorder(), Transport(), tflow.tflow()
        with taddons.context() as context:
            handler = SimpleNamespace(
                transports={
                    flow.server_conn: SimpleNamespace(writer=SimpleNamespace(transport=transport))
                }
            )
            server = SimpleNamespace(connections={flow.client_conn.id: handler})
            context.master.addons.get = lambda name: server
            pause = Brake(recorder, 50).of(flow)
            pause()
            assert not transport.reading
            await act(recorder, transport, pause)

    asyncio.run(inside())


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.005)


def test_a_server_is_read_from_again_when_the_recorder_has_caught_up() -> None:
    async def act(recorder: Recorder, transport: Transport, pause: Callable[[], None]) -> None:
        recorder.read, recorder.unread = 30, 70
        await asyncio.sleep(0.05)
        assert not transport.reading
        recorder.read, recorder.unread = 50, 50
        await until(lambda: transport.reading)
        pause()
        assert not transport.reading

    paused(act)


def test_a_recorder_without_progress_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brake, "_PATIENCE_SECONDS", 0.05)

    async def act(recorder: Recorder, transport: Transport, pause: Callable[[], None]) -> None:
        await until(lambda: transport.reading)
        pause()
        assert transport.reading  # as long as there is no progress
        recorder.read = 1
        pause()
        assert not transport.reading

    paused(act)


def test_a_server_that_left_while_it_was_paused_is_forgotten() -> None:
    async def act(recorder: Recorder, transport: Transport, pause: Callable[[], None]) -> None:
        transport.closing = True
        recorder.unread = 0
        await asyncio.sleep(0.05)
        assert not transport.reading

    paused(act)


def test_a_client_that_left_is_no_error() -> None:
    flow = tflow.tflow()
    with taddons.context() as context:
        context.master.addons.get = lambda name: SimpleNamespace(connections={})
        Brake(Recorder(), 50).of(flow)()
