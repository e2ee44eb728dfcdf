"""Answers larger than memory should be: nothing of them is lost, and memory is bounded.

24 MB per shape, or as many as CCWIRE_ANSWER_MB says.
"""

import contextlib
import hashlib
import http.client
import json
import math
import os
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import psutil
import pytest

from addon.launch.proxy import Proxy
from addon.recording.journal.folder import journals_of
from addon.storage.packing.pack import unpack_session
from tests.faults.large import LargeServer, pieces_of
from tests.faults.sizes import size
from tests.rig import new_session, until

MEGABYTES = size("CCWIRE_ANSWER_MB", 24, 1024)
MOST_MEMORY = 64 << 20
_NO_ANSWER = {  # shapes that do not answer a call
    "one-event": "the stream has no message",
    "text": "expected a message, got text/plain",
    "binary": "expected a message, got application/octet-stream",
}


class Memory(threading.Thread):
    """Measures the peak of what a proxy, its writer process and its journal take."""

    def __init__(self, proxy: Proxy) -> None:
        super().__init__(daemon=True)
        self._proxy = proxy
        self._stop = threading.Event()
        self.idle = self._now()
        self.peak = self.idle

    def run(self) -> None:
        while not self._stop.wait(0.05):
            self.peak = max(self.peak, self._now())

    def stop(self) -> int:
        """Return how much the peak was above the beginning."""
        self._stop.set()
        self.join()
        return self.peak - self.idle

    def _now(self) -> int:
        process = psutil.Process(self._proxy.pid)
        used = 0
        for one in (process, *process.children()):
            with contextlib.suppress(psutil.Error):
                used += one.memory_info().rss
        for journal in journals_of(self._proxy.captures):
            for path in journal.iterdir():
                with contextlib.suppress(OSError):
                    used += path.stat().st_size
        return used


@pytest.mark.parametrize("shape", ["sse", "sse-gzip", "one-event", "text", "json", "binary"])
def test_nothing_of_a_large_answer_is_lost_and_memory_is_bounded(
    tmp_path: Path, shape: str
) -> None:
    session = new_session()
    with LargeServer() as server:
        proxy = Proxy(
            tmp_path / "captures",
            log=tmp_path / "proxy.log",
            upstream=server.url,
            sessions=tmp_path / "sessions.json",
            claude_dir=tmp_path / "claude",
            confdir=tmp_path / "mitmproxy",
        )
        with proxy:
            _ask(proxy, session, "sse", 1)  # everything is loaded now
            until(lambda: _line(tmp_path, session, 1) is not None, 60)
            memory = Memory(proxy)
            memory.start()
            digest = _ask(proxy, session, shape, MEGABYTES)
            until(lambda: _line(tmp_path, session, 2) is not None, 600)
            more = memory.stop()
    assert digest == _digest(pieces_of(shape, MEGABYTES))
    line = _line(tmp_path, session, 2)
    assert line is not None
    error = _NO_ANSWER.get(shape)
    assert (line["complete"], line["error"]) == (error is None, error)
    folder = tmp_path / "captures" / session
    unpack_session(folder, now=math.inf)  # a large file is not packed
    (path,) = folder.glob("0002_resp_*.json")
    _CHECKS[shape](path)
    print(f"{shape}: {MEGABYTES} MB, {more / (1 << 20):.0f} MB more memory")
    assert more < MOST_MEMORY


def _ask(proxy: Proxy, session: str, shape: str, megabytes: int) -> str:
    """Ask for an answer and return the digest of what came."""
    context = ssl.create_default_context(cafile=str(proxy.ca_cert))
    connection = http.client.HTTPSConnection("127.0.0.1", proxy.port, context=context, timeout=600)
    connection.set_tunnel("api.anthropic.com", 443)
    headers = {
        "content-type": "application/json",
        "x-claude-code-session-id": session,
        "x-shape": shape,
        "x-megabytes": str(megabytes),
    }
    connection.request("POST", "/v1/messages", json.dumps({"model": "m"}), headers)
    answer = connection.getresponse()
    found = hashlib.sha256()
    while data := answer.read(1 << 20):
        found.update(data)
    connection.close()
    return found.hexdigest()


def _line(folder: Path, session: str, number: int) -> dict[str, object] | None:
    path = folder / "captures" / session / "exchanges.jsonl"
    lines = path.read_bytes().splitlines() if path.exists() else []
    return orjson.loads(lines[number - 1]) if len(lines) >= number else None


def _digest(pieces: Iterator[bytes]) -> str:
    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()


def _has_all_events(path: Path) -> None:
    """Compare the texts of all deltas, line by line: the file is as large as the answer."""
    sent, found = hashlib.sha256(), hashlib.sha256()
    for event in pieces_of("sse", MEGABYTES):
        for line in event.split(b"\n"):
            if line.startswith(b"data: "):
                sent.update(line[6:])
    with path.open("rb") as file:
        for line in file:
            if line.startswith(b'{"event":'):
                found.update(line.partition(b'"data":')[2].rstrip(b",\n")[:-1])
    assert found.hexdigest() == sent.hexdigest()
    with path.open("rb") as file:
        file.seek(-6, os.SEEK_END)
        assert file.read() == b"\n]}\n}\n"


def _has_all_text(shape: str) -> Callable[[Path], None]:
    def check(path: Path) -> None:
        with path.open("rb") as file:
            body = next(line for line in file if line.startswith(b'"body": '))
        value = orjson.loads(body.removeprefix(b'"body": '))
        assert value["type"] == "text"
        assert _digest(iter([value["data"].encode()])) == _digest(pieces_of(shape, MEGABYTES))

    return check


def _has_all_raw(path: Path) -> None:
    events = orjson.loads(path.read_bytes())["body"]["events"]
    raw = "".join(event["raw"] for event in events).encode()
    assert _digest(iter([raw])) == _digest(pieces_of("one-event", MEGABYTES))


def _has_a_hash(path: Path) -> None:
    body = orjson.loads(path.read_bytes())["body"]
    assert (body["type"], len(body["sha256"])) == ("binary", 64)
    assert body["size"] == sum(map(len, pieces_of("binary", MEGABYTES)))


_CHECKS: dict[str, Callable[[Path], None]] = {
    "sse": _has_all_events,
    "sse-gzip": _has_all_events,
    "one-event": _has_all_raw,
    "text": _has_all_text("text"),
    "json": _has_all_text("json"),
    "binary": _has_a_hash,
}
