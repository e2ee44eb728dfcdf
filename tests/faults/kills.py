"""A load on a real proxy whose processes are killed, and an independent account of what was seen.

The client shares no code with the capture: it hashes what it receives, and notes which answers it
saw to their last byte. The server notes which requests reached it. `compare` holds both against the
files. The content of an answer depends on the id of its request alone.
"""

import contextlib
import gzip
import hashlib
import http.client
import itertools
import json
import random
import socketserver
import ssl
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Literal

import orjson
import psutil

from addon.launch.proxy import Proxy, free_port
from correlate.captures.folder import read_response
from tests.rig import until

Target = Literal["writer", "proxy", "both"]
TARGETS: tuple[Target, ...] = ("writer", "proxy", "both")
SHAPES = ("sse", "gzip", "json")


def answer(request_id: str, shape: str) -> list[bytes]:
    """Return the body of an answer in the pieces that it is sent in."""
    made = random.Random(request_id)
    words = [f"{made.getrandbits(64):x} " for _ in range(made.randrange(5, 60))]
    if made.random() < 0.1:
        words = [word * 400 for word in words]
    if shape == "json":
        content = [{"type": "text", "text": "".join(words)}]
        usage = {"input_tokens": 7, "output_tokens": len(words)}
        message = {"id": f"msg_{request_id}", "type": "message", "content": content, "usage": usage}
        data = json.dumps(message).encode()
        return [data[: len(data) // 2], data[len(data) // 2 :]]
    start = {"id": f"msg_{request_id}", "content": [], "usage": {"output_tokens": 1}}
    block = {"index": 0, "content_block": {"type": "text", "text": ""}}
    deltas = [{"index": 0, "delta": {"type": "text_delta", "text": word}} for word in words]
    events = [
        _event("message_start", {"message": start}),
        _event("content_block_start", block),
        *(_event("content_block_delta", delta) for delta in deltas),
        _event("content_block_stop", {"index": 0}),
        _event("message_delta", {"delta": {}, "usage": {"output_tokens": len(words)}}),
        _event("message_stop", {}),
    ]
    return _compressed(events) if shape == "gzip" else events


def plain(body: bytes, shape: str) -> bytes:
    return gzip.decompress(body) if shape == "gzip" else body


@dataclass
class Seen:
    """What the client saw of one exchange."""

    session: str
    shape: str
    digest: str = ""  # of the decoded body, if it was seen to its last byte


@dataclass
class Account:
    """What happened, as client and server saw it."""

    seen: dict[str, Seen] = field(default_factory=dict)
    served: set[str] = field(default_factory=set)
    kills: Counter[str] = field(default_factory=Counter)


class Storm:
    """A proxy under load; `kill` ends one or both of its processes, and starts them again."""

    def __init__(
        self, folder: Path, clients: int = 4, *, pause: float = 0.001, per_session: int = 10_000
    ) -> None:
        """`pause` is between the pieces of an answer; `per_session` limits the calls of one."""
        self.folder = folder
        self.account = Account()
        self._clients = clients
        self._pause = pause
        self._per_session = per_session
        self._stop = threading.Event()
        self._up = threading.Event()
        self._port = free_port("127.0.0.1")
        self._before = 0

    def __enter__(self) -> "Storm":
        self._server = _Server(self.account.served, self._pause)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self._start()
        self._threads = [
            threading.Thread(target=self._ask_on, args=(number,)) for number in range(self._clients)
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._up.set()
        for thread in self._threads:
            thread.join()
        self.proxy.stop()
        self._start()  # recovers what the last kill left
        self.proxy.stop()
        self._server.shutdown()
        self._server.server_close()

    def kill(self, target: Target) -> None:
        self.account.kills[target] += 1
        if target != "proxy":
            until(lambda: bool(self._writers()), 30)  # one that was killed is started again
            for writer in self._writers():
                writer.kill()
        if target != "writer":
            self._up.clear()
            self.proxy.kill()
            self._start()
        self._before = self._recorded()

    def _writers(self) -> list[psutil.Process]:
        return psutil.Process(self.proxy.pid).children()

    def until_busy(self, more: int, seconds: float = 60) -> None:
        """Wait until so many more answers were seen."""
        wanted = len(self.account.seen) + more
        until(lambda: len(self.account.seen) >= wanted, seconds)

    def until_recording(self) -> None:
        """Wait until an exchange was recorded since the last kill."""
        until(lambda: self._recorded() > self._before, 120)

    def _recorded(self) -> int:
        """Return the bytes of all indexes."""
        indexes = self.proxy.captures.glob("*/exchanges.jsonl")
        return sum(path.stat().st_size for path in indexes)

    def _start(self) -> None:
        self.proxy = Proxy(
            self.folder / "captures",
            log=self.folder / "proxy.log",
            port=self._port,
            upstream=f"http://127.0.0.1:{self._server.server_address[1]}",
            sessions=self.folder / "sessions.json",
            claude_dir=self.folder / "claude",
            confdir=self.folder / "mitmproxy",
            keep_open="1",
        )
        self.proxy.start()
        self._up.set()

    def _ask_on(self, number: int) -> None:
        shapes = random.Random(number)
        sessions = self._sessions()
        while not self._stop.is_set():
            self._up.wait()
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = _connect(self.proxy)
                while not self._stop.is_set():
                    self._ask(connection, next(sessions), shapes.choice(SHAPES))
                connection.close()

    def _sessions(self) -> Iterator[str]:
        while True:
            yield from itertools.repeat(str(uuid.uuid4()), self._per_session)

    def _ask(self, connection: http.client.HTTPSConnection, session: str, shape: str) -> None:
        request_id = str(uuid.uuid4())
        seen = self.account.seen[request_id] = Seen(session, shape)
        headers = {
            "content-type": "application/json",
            "x-claude-code-session-id": session,
            "x-client-request-id": request_id,
            "x-shape": shape,
        }
        body = {"model": "claude-sonnet-4-5", "stream": shape != "json", "messages": []}
        connection.request("POST", "/v1/messages", json.dumps(body), headers)
        response = connection.getresponse()
        try:
            seen.digest = _digest(plain(response.read(), shape))
        except http.client.IncompleteRead as cut:
            if shape == "sse" and cut.partial.endswith(_event("message_stop", {})):
                seen.digest = _digest(cut.partial)  # for a client, this is the end
            raise


def compare(captures: Path, account: Account) -> dict[str, int]:
    """Return how the files differ from what client and server saw; all figures should be 0."""
    lines, wrong = _lines(captures)
    by_id = {line["client_request_id"]: line for line in lines}
    finished = {one: seen for one, seen in account.seen.items() if seen.digest}
    found = Counter(
        finished_missing=sum(one not in by_id for one in finished),
        finished_incomplete=sum(one in by_id and not by_id[one]["complete"] for one in finished),
        finished_altered=sum(
            one in by_id and not _is_same(by_id[one], s) for one, s in finished.items()
        ),
        altered_for_the_client=sum(not _is_as_sent(one, seen) for one, seen in finished.items()),
        in_flight_missing=sum(one not in by_id for one in account.served),
        twice=len(lines) - len(by_id),
        manifest_wrong=wrong,
    )
    return dict(found)


def counted_losses(captures: Path) -> int:
    manifests = [orjson.loads(path.read_bytes()) for path in captures.glob("*/manifest.json")]
    return sum(manifest["counts"].get("capture_errors", 0) for manifest in manifests)


def _lines(captures: Path) -> tuple[list[dict[str, Any]], int]:
    """Return all index lines with their folders, and how many manifests do not fit them."""
    lines, wrong = [], 0
    for path in captures.glob("*/exchanges.jsonl"):
        own = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        counts = orjson.loads((path.parent / "manifest.json").read_bytes())["counts"]
        wrong += counts["exchanges"] != len(own)
        wrong += counts["complete"] != sum(line["complete"] for line in own)
        lines += [{**line, "folder": path.parent} for line in own]
    return lines, wrong


def _is_same(line: dict[str, Any], seen: Seen) -> bool:
    if not line["complete"]:
        return True  # counted as incomplete
    body = read_response(line["folder"], line["sequence"])["body"]
    if seen.shape == "json":
        data = json.dumps(body["data"]).encode()
    else:
        data = b"".join(_event(e["event"], e["data"], whole=True) for e in body["events"])
    return line["folder"].name == seen.session and (hashlib.sha256(data).hexdigest() == seen.digest)


def _is_as_sent(request_id: str, seen: Seen) -> bool:
    sent = b"".join(answer(request_id, seen.shape))
    return _digest(plain(sent, seen.shape)) == seen.digest


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _connect(proxy: Proxy) -> http.client.HTTPSConnection:
    context = ssl.create_default_context(cafile=str(proxy.ca_cert))
    connection = http.client.HTTPSConnection("127.0.0.1", proxy.port, context=context, timeout=30)
    connection.set_tunnel("api.anthropic.com", 443)
    return connection


def _event(name: str, fields: dict[str, Any], *, whole: bool = False) -> bytes:
    data = json.dumps(fields if whole else {"type": name, **fields}, separators=(",", ":"))
    return f"event: {name}\ndata: {data}\n\n".encode()


def _compressed(events: list[bytes]) -> list[bytes]:
    data = gzip.compress(b"".join(events))
    third = len(data) // 3 + 1
    return [data[:third], data[third : 2 * third], data[2 * third :]]


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, served: set[str], pause: float) -> None:
        self.served = served
        self.pause = pause
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent: a killed proxy resets its connections."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        request_id, shape = self.headers["x-client-request-id"], self.headers["x-shape"]
        self.server.served.add(request_id)
        types = {"json": "application/json"}
        self.send_response(200)
        self.send_header("content-type", types.get(shape, "text/event-stream"))
        if shape == "gzip":
            self.send_header("content-encoding", "gzip")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        with contextlib.suppress(OSError):
            for piece in _with_end(answer(request_id, shape)):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                if self.server.pause:
                    time.sleep(self.server.pause)

    def log_message(self, format: str, *args: object) -> None: ...


def _with_end(pieces: list[bytes]) -> Iterator[bytes]:
    yield from pieces
    yield b""
