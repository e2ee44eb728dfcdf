"""Slows an answer down that outruns the recorder, so that memory is bounded and nothing is lost.

Reading from its server pauses until the recorder has caught up. A recorder that makes no progress
does not hold up the client: then reading goes on, and the queue drops what it cannot take.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from mitmproxy import connection, ctx, http

_CHECK_SECONDS = 0.01
_PATIENCE_SECONDS = 2.0  # without progress


class Backlog(Protocol):
    """A queue, with the bytes that its recorder has read and has not read."""

    @property
    def read(self) -> int: ...

    @property
    def unread(self) -> int: ...


class Brake:
    """Pauses servers until the backlog is small."""

    def __init__(self, backlog: Backlog, small: int) -> None:
        self._backlog = backlog
        self._small = small
        self._paused: set[asyncio.ReadTransport] = set()
        self._read = 0
        self._progress_at = 0.0
        self._stuck_at = -1  # bytes read when it was found to be stuck

    def of(self, flow: http.HTTPFlow) -> Callable[[], None]:
        """Return a callable that pauses the server of this flow."""

        def pause() -> None:
            transport = _transport(flow.client_conn, flow.server_conn)
            if transport is None or not transport.is_reading():
                return
            if self._backlog.read == self._stuck_at:
                return
            transport.pause_reading()
            self._hold(transport)

        return pause

    def _hold(self, transport: asyncio.ReadTransport) -> None:
        if not self._paused:
            self._read, self._progress_at = self._backlog.read, time.monotonic()
            asyncio.get_running_loop().call_later(_CHECK_SECONDS, self._check)
        self._paused.add(transport)

    def _check(self) -> None:
        now = time.monotonic()
        if self._backlog.read != self._read:
            self._read, self._progress_at = self._backlog.read, now
        is_stuck = now - self._progress_at > _PATIENCE_SECONDS
        if self._backlog.unread > self._small and not is_stuck:
            asyncio.get_running_loop().call_later(_CHECK_SECONDS, self._check)
            return
        self._stuck_at = self._read if is_stuck else -1
        for transport in self._paused:
            if not transport.is_closing():
                transport.resume_reading()
        self._paused.clear()


def _transport(
    client: connection.Client, server: connection.Server
) -> asyncio.ReadTransport | None:
    """Return the transport of a server's connection, which mitmproxy keeps to itself."""
    handler = ctx.master.addons.get("proxyserver").connections.get(client.id)
    found = handler.transports.get(server) if handler is not None else None
    transport = found.writer.transport if found is not None and found.writer is not None else None
    return transport if isinstance(transport, asyncio.ReadTransport) else None
