"""A WebSocket passes through the proxy, and is recorded as an exchange without its messages."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Request, TextMessage

from ccwire.demo.stand_in import scenarios
from tests.rig import new_session, rig

API = "api.anthropic.com"
ENOUGH = 3


@contextmanager
def echo_server() -> Iterator[int]:
    """Send every message back; the message `bye` closes the connection."""

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            websocket = WSConnection(ConnectionType.SERVER)
            while data := connection.recv(65536):
                websocket.receive_data(data)
                for event in websocket.events():
                    if isinstance(event, Request):
                        connection.sendall(websocket.send(AcceptConnection()))
                    elif isinstance(event, TextMessage) and event.data == "bye":
                        connection.sendall(websocket.send(CloseConnection(1000)))
                    elif isinstance(event, TextMessage):
                        connection.sendall(websocket.send(TextMessage(event.data)))
                    elif isinstance(event, CloseConnection):
                        return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        thread.join(30)


@pytest.mark.parametrize("closed_by", ["client", "server"])
def test_the_record_says_that_messages_are_missing(
    closed_by: str, tmp_path: Path, confdir: Path
) -> None:
    session = new_session()
    with (
        echo_server() as port,
        rig(
            tmp_path, scenarios.named("plain"), confdir, upstream=f"http://127.0.0.1:{port}"
        ) as wire,
    ):
        http = wire.connect()
        http.connect()
        websocket = WSConnection(ConnectionType.CLIENT)
        headers = [(b"x-claude-code-session-id", session.encode())]
        http.sock.sendall(websocket.send(Request(API, "/v1/voice", extra_headers=headers)))
        echoed: list[str] = []
        is_open = True
        while is_open:
            websocket.receive_data(http.sock.recv(65536))
            for event in websocket.events():
                if isinstance(event, AcceptConnection):
                    http.sock.sendall(websocket.send(TextMessage("message 0")))
                elif isinstance(event, TextMessage):
                    echoed.append(event.data)
                    more: TextMessage | CloseConnection = TextMessage(f"message {len(echoed)}")
                    if len(echoed) == ENOUGH:
                        by_us = closed_by == "client"
                        more = CloseConnection(1000) if by_us else TextMessage("bye")
                    http.sock.sendall(websocket.send(more))
                elif isinstance(event, CloseConnection):
                    is_open = False
                    if closed_by == "server":
                        http.sock.sendall(websocket.send(event.response()))
        http.close()
        assert echoed == [f"message {number}" for number in range(ENOUGH)]
        (line,) = wire.exchanges(session, 1)
        assert (line["status"], line["complete"]) == (101, False)
        assert line["ended_by"] == f"{closed_by}_disconnect"
        assert line["error"] == "the messages of a WebSocket are not captured"
    assert "Traceback" not in wire.proxy.log.read_text()
