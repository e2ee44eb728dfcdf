"""HTTP/1 trailers pass through the proxy, and the exchange is recorded as complete."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ccwire.demo.stand_in import scenarios
from tests.rig import messages_body, new_session, rig

STREAM = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message",'
    b'"role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
)
END = b"\r\n0\r\nX-Checksum: abc\r\nX-Other: two\r\n\r\n"
CHUNKED = b"%x\r\n%s" + END
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ntransfer-encoding: chunked\r\n\r\n"


@contextmanager
def server(content_type: bytes, body: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Answer every request on every connection with trailers; yields the port and the requests."""
    got: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        with connection:
            data = b""
            while piece := connection.recv(65536):
                data += piece
                if data.endswith(b"\r\n\r\n") and b"\r\n0\r\n" in data:
                    got.append(data)
                    data = b""
                    answer = HEAD % content_type + CHUNKED % (len(body), body)
                    cut = len(answer) - len(got)  # another one for each answer
                    connection.sendall(answer[:cut])
                    time.sleep(0.02)
                    connection.sendall(answer[cut:])

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield listening.getsockname()[1], got


@pytest.mark.parametrize("host", ["api.anthropic.com", "127.0.0.1"])
def test_trailers_pass_in_both_directions(host: str, tmp_path: Path, confdir: Path) -> None:
    """Also to a host that is not captured; on one connection, and cut at any of their bytes."""
    session = new_session()
    is_api = host == "api.anthropic.com"
    with server(b"text/event-stream", STREAM) as (port, got):
        upstream = f"http://127.0.0.1:{port}" if is_api else None
        with rig(tmp_path, scenarios.named("plain"), confdir, upstream=upstream) as wire:
            body = messages_body("hi", session)
            target = "/v1/messages" if is_api else f"http://{host}:{port}/v1/messages"
            request = f"POST {target} HTTP/1.1\r\nHost: {host}:{port}\r\n".encode()
            request += b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKED % (len(body), body)
            with socket.create_connection(("127.0.0.1", wire.proxy.port), 30) as plain:
                client = _tunnel(plain, wire.context, host) if is_api else plain
                for _ in range(len(END) + 4):
                    client.sendall(request)
                    answer = b""
                    while not answer.endswith(END):
                        piece = client.recv(65536)
                        assert piece, answer
                        answer += piece
            assert len(got) == len(END) + 4
            assert all(one.endswith(END) for one in got)
            if is_api:
                lines = wire.exchanges(session, len(END) + 4)
                assert {(x["complete"], x["ended_by"]) for x in lines} == {(True, "message_stop")}
        assert "Traceback" not in wire.proxy.log.read_text()


def _tunnel(plain: socket.socket, context: ssl.SSLContext, host: str) -> ssl.SSLSocket:
    plain.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert plain.recv(65536).startswith(b"HTTP/1.1 200")
    return context.wrap_socket(plain, server_hostname=host)
