"""A server of answers of any size, whose content is known without being kept."""

import contextlib
import json
import socketserver
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Self

_TYPES = {
    "text": "text/plain",
    "json": "application/json",
    "binary": "application/octet-stream",
}


def pieces_of(shape: str, megabytes: int) -> Iterator[bytes]:
    """Yield an answer, encoded as it is sent."""
    match shape:
        case "sse":
            yield from _events(megabytes)
        case "sse-gzip":
            compressor = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS | 16)
            for event in _events(megabytes):
                yield compressor.compress(event)
            yield compressor.flush()
        case "one-event":
            yield b"event: message_start\ndata: "
            for number in range(16 * megabytes):
                yield _words(number, 65536)
        case "json":
            yield b'{"text": "'
            for number in range(16 * megabytes):
                yield _words(number, 65536)
            yield b'"}'
        case "text":
            for number in range(16 * megabytes):
                yield _words(number, 65535) + b"\n"
        case "binary":
            for _ in range(16 * megabytes):
                yield bytes(range(256)) * 256


def _events(megabytes: int) -> Iterator[bytes]:
    yield _event("message_start", {"message": {"id": "msg_1", "usage": {"output_tokens": 1}}})
    yield _event("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}})
    for number in range(256 * megabytes):
        delta = {"type": "text_delta", "text": _words(number, 4000).decode()}
        yield _event("content_block_delta", {"index": 0, "delta": delta})
    yield _event("content_block_stop", {"index": 0})
    yield _event("message_delta", {"delta": {}, "usage": {"output_tokens": megabytes}})
    yield _event("message_stop", {})


def _words(number: int, size: int) -> bytes:
    return (b"%08d words and " % number * (size // 19 + 1))[:size]


def _event(name: str, fields: dict[str, object]) -> bytes:
    data = json.dumps({"type": name, **fields}, separators=(",", ":"))
    return f"event: {name}\ndata: {data}\n\n".encode()


class LargeServer(socketserver.ThreadingTCPServer):
    """Answers with what the headers of a request ask for."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        shape, megabytes = self.headers["x-shape"], int(self.headers["x-megabytes"])
        self.send_response(200)
        self.send_header("content-type", _TYPES.get(shape, "text/event-stream"))
        if shape == "sse-gzip":
            self.send_header("content-encoding", "gzip")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        with contextlib.suppress(OSError):
            for piece in pieces_of(shape, megabytes):
                if piece:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None: ...
