"""The part of the add-on that passes HTTP/1 trailers on, in both directions.

mitmproxy passes them on in HTTP/2 only; in HTTP/1 it raises NotImplementedError, which ends the
connection. This changes its HTTP/1 layers: a trailer after the last chunk becomes the event that
its HTTP/2 layers use, and such an event is written after the last chunk.
"""

import importlib
import logging
from collections.abc import Callable, Generator
from typing import Any

import h11
from mitmproxy import http
from mitmproxy.addonmanager import Loader
from mitmproxy.proxy import commands, events

logger = logging.getLogger("ccwire")

_LAYERS = "mitmproxy.proxy.layers.http"
_LAST_CHUNK = b"0\r\n"
_NOT_POSSIBLE = "ccwire: HTTP/1 trailers end a connection with this release of mitmproxy"

type Steps = Generator[Any, Any, None]
type Method = Callable[[Any, Any], Steps]


class Trailers:
    """Changes mitmproxy once, when the add-on is loaded."""

    def load(self, loader: Loader) -> None:
        try:
            _change(*(importlib.import_module(f"{_LAYERS}.{n}") for n in ("_http1", "_events")))
        except (ImportError, AttributeError) as error:  # private modules, which may change
            logger.warning(f"{_NOT_POSSIBLE} ({error})")


def _change(http1: Any, http_events: Any) -> None:
    if isinstance(http1.make_body_reader, _Readers):
        return  # the add-on was loaded before
    server, client, both = http1.Http1Server, http1.Http1Client, http1.Http1Connection
    kinds = {http_events.RequestEndOfMessage: http_events.RequestTrailers}
    kinds[http_events.ResponseEndOfMessage] = http_events.ResponseTrailers
    for holder, name, value in (
        (http1, "make_body_reader", _Readers(http1.make_body_reader)),
        (both, "read_body", _reading(both.read_body, kinds)),
        (server, "send", _sending(server.send, tuple(kinds.values()))),
        (client, "send", _sending(client.send, tuple(kinds.values()))),
    ):
        setattr(holder, name, value)


class _Readers:
    """Makes readers of bodies that keep trailers, for which mitmproxy raises an exception."""

    def __init__(self, make: Callable[[int | None], Any]) -> None:
        self._make = make

    def __call__(self, expected_size: int | None) -> "_Reader":
        return _Reader(self._make(expected_size))


class _Reader:
    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self.read_eof = reader.read_eof
        self.trailers: http.Headers | None = None

    @property
    def is_in_trailers(self) -> bool:
        return bool(getattr(self._reader, "_reading_trailer", False))

    def __call__(self, buffer: Any) -> Any:
        event = self._reader(buffer)
        if isinstance(event, h11.EndOfMessage) and event.headers:
            self.trailers = http.Headers(event.headers.raw_items())
            return h11.EndOfMessage()
        return event


def _reading(read_body: Method, kinds: dict[type, type]) -> Method:
    """Return the method with an event for the trailers before the one for the end."""

    def wrapped(self: Any, event: Any) -> Steps:
        reader: _Reader = self.body_reader
        if not (reader.is_in_trailers or _may_end(event)):
            return read_body(self, event)

        def with_trailers(command: Any) -> list[Any]:
            end: Any = getattr(command, "event", None)
            if type(end) not in kinds or reader.trailers is None:
                return [command]
            trailers, reader.trailers = reader.trailers, None
            return [type(command)(kinds[type(end)](end.stream_id, trailers)), command]

        return _replaced(read_body(self, event), with_trailers)

    return wrapped


def _may_end(event: Any) -> bool:
    """Return whether the last chunk may be among the data, also if it began in the data before.

    Trailers come after it only. Most data has none, and must not cost more than without them.
    """
    data = event.data if isinstance(event, events.DataReceived) else b""
    return b"0\r\n" in data or data[:1] in (b"\r", b"\n")


def _sending(send: Method, kinds: tuple[type, ...]) -> Method:
    """Return the method that writes trailers after the last chunk; without chunks, it cannot."""

    def wrapped(self: Any, event: Any) -> Steps:
        if type(event) in kinds:
            self.trailers = event.trailers  # the end of the message follows
            return _nothing()
        if getattr(self, "trailers", None) is None:
            return send(self, event)
        trailers, self.trailers = self.trailers, None

        def with_trailers(command: Any) -> list[Any]:
            is_data = isinstance(command, commands.SendData)
            if not is_data or command.data != _LAST_CHUNK + b"\r\n":
                return [command]
            return [commands.SendData(self.conn, _LAST_CHUNK + bytes(trailers) + b"\r\n")]

        return _replaced(send(self, event), with_trailers)

    return wrapped


def _nothing() -> Steps:
    yield from ()


def _replaced(steps: Steps, replace: Callable[[Any], list[Any]]) -> Steps:
    """Run the steps of a layer with some of its commands replaced."""
    reply = None
    while True:
        try:
            command = steps.send(reply)
        except StopIteration:
            return
        for replacing in replace(command):
            reply = yield replacing
