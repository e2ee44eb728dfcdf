"""Size of a long session's capture, and the cost of reading it: `python -m bench.pack`.

A session of 500 calls, whose context grows to 1 MB, goes through a real proxy with the add-on. The
sizes are relative to the session's distinct content: each message, tool and system block once,
without cache markers and answers. Prose is the typical case; random letters, which hardly compress,
are the worst.
"""

import hashlib
import http.client
import http.server
import os
import random
import resource
import ssl
import string
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import orjson

from addon.launch.proxy import Proxy
from addon.storage.packing.keep_open import KEEP_OPEN
from bench.figure import Figure, at_most, print_figures
from ccwire.demo.stand_in.scenario import Answer, Text
from ccwire.demo.stand_in.stream import Call, events, usage_of
from ccwire.wire.pack.files import exchange_files
from ccwire.wire.pack.reader import ExchangeFiles, segments
from ccwire.wire.pack.segment import Segment
from correlate.captures.folder import read_exchanges, read_request
from tests.rig import until

REACH = 2.0
_LEAST_READ = 0.05
_SHOW_SECONDS = 0.3
_EVERY = 50
_SHOW = (sys.executable, "-m", "ccwire", "show")
_MODEL = "claude-opus-5-5"
_AGAINST = "distinct content"

Words = Callable[[random.Random, int], str]


@click.command()
@click.option("--calls", default=500, show_default=True, help="Calls in the session.")
@click.option("--context", default=1_000_000, show_default=True, help="Bytes of the last request.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def main(calls: int, context: int, as_json: bool) -> None:
    """Measure the size of a long session's capture, while it grows and at its end."""
    figures = []
    for name, words in (("prose", _prose), ("random letters", _letters)):
        with tempfile.TemporaryDirectory(prefix="ccwire-bench-") as folder:
            figures += measure(Path(folder), calls, context, words, name)
    print_figures(figures, as_json=as_json)


def measure(folder: Path, calls: int, context: int, words: Words, name: str) -> list[Figure]:
    """Return the figures of one session; raise AssertionError if a request is not as sent."""
    session = str(uuid.UUID(int=calls))
    capture = folder / "captures" / session
    distinct = _Distinct()
    ratios, waits = [], []
    sent: list[bytes] = []
    with _Upstream() as upstream, _proxy(folder, upstream.url) as proxy, _client(proxy) as client:
        for number, (body, answer) in enumerate(_conversation(calls, context, words), 1):
            for part in (*body["system"], *body["tools"], *body["messages"]):
                distinct.add(orjson.dumps(part))
            data = orjson.dumps({**body, "messages": _marked(body["messages"])})
            sent.append(hashlib.sha256(data).digest())
            upstream.answer = answer
            _ask(client, session, data)
            if number % _EVERY == 0:
                waits.append(_wait_for_writer(capture, number))
                ratios.append((_size(capture) - _newest(capture)) / distinct.size)
    _check(capture, sent)
    plain = sum(ExchangeFiles(capture).sizes().values())
    size = _size(capture)
    sizes = f"{size / 1e6:.2f} MB, {distinct.size / 1e6:.2f} MB distinct"
    return [
        at_most(
            f"capture folder without its {KEEP_OPEN} newest exchanges, {name}",
            [max(ratios)],
            REACH,
            against=_AGAINST,
            detail=f"the largest at every {_EVERY}th call, "
            f"after at most {max(waits):.1f} s for the writer",
        ),
        at_most(
            f"capture folder at the end, {name}",
            [size / distinct.size],
            REACH,
            against=_AGAINST,
            detail=f"{sizes}, {plain / 1e6:.0f} MB as files",
        ),
        at_most(
            f"decompressed to read a request, {name}",
            [_share_read(capture, calls, plain)],
            _LEAST_READ,
            against="all files of the pack",
            detail="mean of every 10th call",
        ),
        at_most(
            f"processor time of `ccwire show` for call {calls // 2}, {name}",
            [_show_seconds(folder, session, calls // 2)],
            _SHOW_SECONDS,
            against="one second",
        ),
    ]


def _wait_for_writer(folder: Path, calls: int) -> float:
    """Wait until all calls are recorded and only the newest are open; return the seconds."""
    started = time.perf_counter()
    until(lambda: len(read_exchanges(folder)) == calls)
    until(lambda: len(exchange_files(folder)) <= 2 * int(KEEP_OPEN))
    return time.perf_counter() - started


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _newest(folder: Path) -> int:
    """Return the bytes of the newest exchanges that are open, as many as are to stay open."""
    files = exchange_files(folder)
    numbers = sorted({path.name.partition("_")[0] for path in files})[-int(KEEP_OPEN) :]
    return sum(path.stat().st_size for path in files if path.name.partition("_")[0] in numbers)


def _check(folder: Path, sent: list[bytes]) -> None:
    for number, digest in enumerate(sent, 1):
        body = orjson.dumps(read_request(folder, number)["body"]["data"])
        if hashlib.sha256(body).digest() != digest:
            raise AssertionError(f"request {number} is not what was sent")


def _share_read(folder: Path, calls: int, plain: int) -> float:
    """Return the mean share of the files' bytes that is decompressed to read one request."""
    shares = []
    for number in range(1, calls + 1, 10):
        for path in segments(folder):
            segment = Segment(path)
            if (name := segment.by_key.get((number, "req"))) is not None:
                segment.read(name)
                shares.append(segment.inflated / plain)
    return sum(shares) / len(shares)


def _show_seconds(folder: Path, session: str, number: int) -> float:
    """Return the processor time of one run of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [
            sys.executable,
            "-m",
            "ccwire",
            "show",
            session,
            str(number),
            "--captures",
            folder / "captures",
        ],
        env={**os.environ, "HOME": str(folder), "CCWIRE_HOME": str(folder / "home")},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class _Upstream:
    """A server that answers every request with `answer`."""

    def __init__(self) -> None:
        self.answer = b""
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("request-id", f"req_{uuid.uuid4().hex[:24]}")
                self.send_header("content-length", str(len(outer.answer)))
                self.end_headers()
                self.wfile.write(outer.answer)

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "_Upstream":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _proxy(folder: Path, upstream: str) -> Proxy:
    return Proxy(
        folder / "captures",
        log=folder / "proxy.log",
        upstream=upstream,
        sessions=folder / "sessions.json",
        claude_dir=folder / "claude",
        confdir=folder / "conf",
        home=folder / "home",
    )


@contextmanager
def _client(proxy: Proxy) -> Iterator[http.client.HTTPSConnection]:
    context = ssl.create_default_context(cafile=str(proxy.ca_cert))
    connection = http.client.HTTPSConnection("127.0.0.1", proxy.port, context=context)
    connection.set_tunnel("api.anthropic.com", 443)
    yield connection
    connection.close()


def _ask(client: http.client.HTTPSConnection, session: str, body: bytes) -> None:
    headers = {
        "content-type": "application/json",
        "x-claude-code-session-id": session,
        "user-agent": "claude-cli/2.1.325 (external, cli)",
    }
    client.request("POST", "/v1/messages?beta=true", body, headers)
    client.getresponse().read()


@dataclass
class _Distinct:
    """The total size of the data added, counting equal data once."""

    size: int = 0
    _seen: set[bytes] = field(default_factory=set)

    def add(self, data: bytes) -> None:
        digest = hashlib.sha256(data).digest()
        if digest not in self._seen:
            self._seen.add(digest)
            self.size += len(data)


def _conversation(calls: int, context: int, words: Words) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield requests that grow by one answer and one tool result per call, and their answers."""
    chance = random.Random(calls)
    system = [{"type": "text", "text": words(chance, 12_000)}]
    tools = [
        {
            "name": f"Tool{n}",
            "description": words(chance, 1_500),
            "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}},
        }
        for n in range(20)
    ]
    a_call = max((context - 42_000) // calls, 400)
    messages: list[dict[str, Any]] = [_user({"type": "text", "text": words(chance, 400)})]
    for order in range(calls):
        body = {
            "model": _MODEL,
            "messages": messages,
            "system": system,
            "tools": tools,
            "max_tokens": 32_000,
            "stream": True,
        }
        answer_text = words(chance, a_call // 4)
        call = Call(seed=1, order=order, model=_MODEL, offered=frozenset())
        answer = Answer((Text(answer_text),))
        yield body, b"".join(events(answer, call, usage_of(answer, call)))
        tool_id = f"toolu_{order:06d}"
        given = {
            "type": "tool_use",
            "id": tool_id,
            "name": "Tool1",
            "input": {"text": answer_text[:40]},
        }
        messages.append(
            {"role": "assistant", "content": [{"type": "text", "text": answer_text}, given]}
        )
        result = words(chance, a_call - a_call // 4 - 300)
        messages.append(_user({"type": "tool_result", "tool_use_id": tool_id, "content": result}))


def _marked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put the cache marker on the last message, as the client does in every call."""
    *before, last = messages
    (block,) = last["content"]
    return [*before, _user({**block, "cache_control": {"type": "ephemeral"}})]


def _user(block: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": [block]}


def _prose(chance: random.Random, size: int) -> str:
    return " ".join(_word(chance) for _ in range(size // 6))[:size]


def _word(chance: random.Random) -> str:
    return "".join(
        chance.choice("bcdfgklmnprst") + chance.choice("aeiou")
        for _ in range(chance.randrange(1, 4))
    )


def _letters(chance: random.Random, size: int) -> str:
    return "".join(chance.choices(string.ascii_letters + string.digits + "+/", k=size))


if __name__ == "__main__":
    main()
