"""Overhead of the add-on over plain mitmproxy: `python -m bench.proxy`.

Two proxies share one stand-in; each measurement alternates between them.
"""

import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import psutil

from addon.launch.proxy import Proxy
from bench.figure import Figure, at_least, at_most, print_figures

_REST = 0.15  # longer than the writer works after an exchange

_BARE = "mitmproxy that only streams through"
_PROGRAM = "from mitmproxy.tools.main import mitmdump; mitmdump()"


@dataclass(frozen=True, slots=True)
class Way:
    """One proxy in front of the stand-in: its port, its certificate, its process."""

    port: int
    pid: int
    context: ssl.SSLContext

    def connect(self) -> http.client.HTTPSConnection:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context)
        connection.set_tunnel("api.anthropic.com", 443)
        connection.connect()
        return connection

    def cpu(self) -> float:
        times = [process.cpu_times() for process in self._processes()]
        return float(sum(one.user + one.system for one in times))

    def memory(self) -> int:
        return sum(int(process.memory_info().rss) for process in self._processes())

    def _processes(self) -> list[psutil.Process]:
        """Return the proxy and its children, such as the writer process."""
        proxy = psutil.Process(self.pid)
        return [proxy, *proxy.children(recursive=True)]


@click.command()
@click.option("--rounds", default=20, show_default=True, help="Streams per measurement.")
@click.option("-k", "only", default="", help="Measure only figures whose name contains this.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def main(rounds: int, only: str, as_json: bool) -> None:
    """Measure the add-on's overhead over plain mitmproxy."""
    print_figures(list(figures(rounds, only)), as_json=as_json)


def figures(rounds: int = 20, only: str = "") -> Iterator[Figure]:
    wanted: list[tuple[str, Callable[[Way, Way], Figure]]] = [
        ("time to first event, 50 KB request", lambda b, o: _first(b, o, rounds, 50_000)),
        ("time to first event, 1 MB request", lambda b, o: _first(b, o, rounds, 1_000_000)),
        ("whole stream of 400 events", lambda b, o: _whole(b, o, rounds)),
        ("requests per second, 16 clients", lambda b, o: _rate(b, o)),
        ("CPU time per event", lambda b, o: _cpu(b, o)),
        ("memory after 1,000 streams", lambda b, o: _memory(o)),
    ]
    for name, measure in wanted:
        if only in name:
            with _ways() as (bare, ours):
                yield measure(bare, ours)


def _first(bare: Way, ours: Way, rounds: int, size: int) -> Figure:
    body = _body(deltas=20, filler=size)
    ratios = []
    for way in (bare, ours):
        _stream(way.connect(), body)
    for number in range(3 * rounds):  # they take milliseconds each, so a few are too noisy
        taken = {way: _alone(way, body) for way in _in_turn(bare, ours, number)}
        ratios.append(taken[ours] / taken[bare])
    label = "1 MB" if size >= 1_000_000 else "50 KB"
    return at_most(f"time to first event, {label} request", ratios, 1.15, against=_BARE)


def _alone(way: Way, body: bytes) -> float:
    """Return the seconds to the first event of a stream, after the writer has become idle."""
    connection = way.connect()
    time.sleep(_REST)
    return _stream(connection, body)[0]


def _whole(bare: Way, ours: Way, rounds: int) -> Figure:
    body = _body(deltas=400, delay=0.002)
    ratios = []
    for number in range(rounds):
        taken = {way: _stream(way.connect(), body)[1] for way in _in_turn(bare, ours, number)}
        ratios.append(taken[ours] / taken[bare])
    return at_most("whole stream of 400 events", ratios, 1.05, against=_BARE)


def _rate(bare: Way, ours: Way) -> Figure:
    body = _body(deltas=20)
    ratios = []
    for number in range(6):
        rates = {}
        for way in _in_turn(bare, ours, number):
            started = time.perf_counter()
            threads = [threading.Thread(target=_several, args=(way, body, 10)) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            rates[way] = 160 / (time.perf_counter() - started)
        ratios.append(rates[ours] / rates[bare])
    return at_least("requests per second, 16 clients", ratios, 0.85, against=_BARE)


def _cpu(bare: Way, ours: Way) -> Figure:
    body = _body(deltas=4000)
    ratios = []
    for number in range(6):
        spent = {}
        for way in _in_turn(bare, ours, number):
            before = way.cpu()
            _stream(way.connect(), body)
            time.sleep(0.3)  # the writer is still busy after the client has its response
            spent[way] = way.cpu() - before
        ratios.append(spent[ours] / spent[bare])
    return at_most("CPU time per event", ratios, 1.5, against=_BARE)


def _memory(ours: Way) -> Figure:
    body = _body(deltas=100)
    connection = ours.connect()
    sizes = []
    for count in (100, 900):
        for _ in range(count):
            _stream(connection, body)
        time.sleep(1)
        sizes.append(ours.memory())
    ratio = sizes[1] / sizes[0]
    detail = f"{sizes[0] / 1e6:.0f} MB, then {sizes[1] / 1e6:.0f} MB"
    name = "memory after 1,000 streams"
    return at_most(name, [ratio], 1.1, against="after 100 streams", detail=detail)


def _in_turn(bare: Way, ours: Way, number: int) -> tuple[Way, Way]:
    """Alternate which proxy is first, because the first run warms caches for the second."""
    return (bare, ours) if number % 2 else (ours, bare)


def _several(way: Way, body: bytes, count: int) -> None:
    connection = way.connect()
    for _ in range(count):
        _stream(connection, body)
    connection.close()


def _stream(connection: http.client.HTTPSConnection, body: bytes) -> tuple[float, float]:
    """Return the seconds to the first bytes of the response's body, and to its end."""
    started = time.perf_counter()
    connection.request("POST", "/v1/messages", body, {"content-type": "application/json"})
    answer = connection.getresponse()
    answer.read1(65536)
    first = time.perf_counter() - started
    answer.read()
    return first, time.perf_counter() - started


def _body(*, deltas: int, delay: float = 0, filler: int = 0) -> bytes:
    """Return a request with about `filler` bytes of text, like a long conversation's."""
    sentence = "The quick brown fox jumps over the lazy dog and writes it down. "
    text = sentence * (filler // len(sentence))
    blocks = [{"type": "text", "text": text[i : i + 4000]} for i in range(0, len(text), 4000)]
    prompt = {"type": "text", "text": f"lab:stream deltas={deltas} delay={delay}"}
    return json.dumps(
        {
            "model": "claude-sonnet-4-5",
            "max_tokens": 1000,
            "stream": True,
            "tools": [{"name": "Bash", "input_schema": {"type": "object"}}],
            "messages": [{"role": "user", "content": [*blocks, prompt]}],
            "metadata": {"user_id": f"user_{'0a' * 32}_account__session_{uuid.UUID(int=7)}"},
        }
    ).encode()


@contextmanager
def _ways() -> Iterator[tuple[Way, Way]]:
    with tempfile.TemporaryDirectory() as folder, _stand_in() as url:
        scratch = Path(folder)
        ours = Proxy(
            scratch / "captures",
            log=scratch / "ours.log",
            upstream=url,
            sessions=scratch / "sessions.json",
            claude_dir=scratch / "claude",
            confdir=scratch / "conf",
            home=scratch / "home",
        )
        with ours:
            context = ssl.create_default_context(cafile=str(ours.ca_cert))
            with _bare(scratch, url) as (port, pid):
                yield Way(port, pid, context), Way(ours.port, ours.pid, context)


@contextmanager
def _bare(scratch: Path, url: str) -> Iterator[tuple[int, int]]:
    log = scratch / "bare.log"
    script = Path(__file__).with_name("bare.py")
    command = [sys.executable, "-c", _PROGRAM, "--listen-host", "127.0.0.1", "-p", "0"]
    command += ["-s", str(script), "--set", f"confdir={scratch / 'conf'}"]
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=file, env={**os.environ, "BENCH_UPSTREAM": url}
        )
    try:
        while not (found := re.search(rb"listening at 127\.0\.0\.1:(\d+)", log.read_bytes())):
            time.sleep(0.05)
        yield int(found[1]), process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


@contextmanager
def _stand_in() -> Iterator[str]:
    """Run the stand-in in its own process, so that it does not slow down the measuring one."""
    command = [sys.executable, "-m", "bench.stand_in"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


if __name__ == "__main__":
    main()
