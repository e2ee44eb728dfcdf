"""Size of a long session's capture before and after `ccwire pack`: `python -m bench.pack`.

A session of 500 calls, whose context grows to 1 MB, is written by the add-on's recorder. The sizes
are relative to the session's distinct content: each message, tool and system block once, without
cache markers. Prose is the typical case; random letters, which hardly compress, are the worst.
"""

import hashlib
import random
import string
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import orjson

from addon.hooks.sessions import SessionsMap
from addon.identity.lookup import SessionLookup
from addon.recording.jobs import Answered, Begun, Chunk, Ended, RequestSeen, ResponseSeen
from addon.recording.recorder import Recorder
from addon.redaction.redactor import Redactor
from addon.storage.folder import CaptureStore
from addon.storage.pack import pack_session, unpack_session
from bench.figure import Figure, at_most, print_figures
from ccwire.demo.stand_in.scenario import Answer, Text
from ccwire.demo.stand_in.stream import Call, events, usage_of
from ccwire.wire.pack.files import described, exchange_files

REACH = 2.0
_MODEL = "claude-opus-5-5"
_AGAINST = "distinct content"

Words = Callable[[random.Random, int], str]


@click.command()
@click.option("--calls", default=500, show_default=True, help="Calls in the session.")
@click.option("--context", default=1_000_000, show_default=True, help="Bytes of the last request.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def main(calls: int, context: int, as_json: bool) -> None:
    """Measure the size of a long session's capture, unpacked and packed."""
    figures = []
    for name, words in (("prose", _prose), ("random letters", _letters)):
        with tempfile.TemporaryDirectory(prefix="ccwire-bench-") as folder:
            figures += measure(Path(folder), calls, context, words, name)
    print_figures(figures, as_json=as_json)


def measure(folder: Path, calls: int, context: int, words: Words, name: str) -> list[Figure]:
    """Return both figures; raise AssertionError if unpacking does not restore every file."""
    session = str(uuid.UUID(int=calls))
    distinct = _write(folder, session, calls, context, words)
    capture = folder / session
    before = [described(path) for path in exchange_files(capture)]
    later = time.time() + 60
    began = time.perf_counter()
    outcome = pack_session(capture, now=later)
    packed = time.perf_counter()
    rest = sum(path.stat().st_size for path in capture.iterdir()) - outcome.after
    unpack_session(capture, now=later)
    unpacked = time.perf_counter()
    if [described(path) for path in exchange_files(capture)] != before:
        raise AssertionError("unpacking did not restore every file")
    size = outcome.before + rest
    detail = f"{size / 1e6:.0f} MB, {distinct / 1e6:.2f} MB distinct"
    took = f"packed in {packed - began:.1f} s, unpacked in {unpacked - packed:.1f} s"
    return [
        Figure(
            name=f"capture folder of {calls} calls, {name}",
            value=round(size / distinct, 1),
            against=_AGAINST,
            reach="none",
            ok=True,
            detail=detail,
        ),
        at_most(
            f"packed capture folder of {calls} calls, {name}",
            [(outcome.after + rest) / distinct],
            REACH,
            against=_AGAINST,
            detail=f"{(outcome.after + rest) / 1e6:.2f} MB, {took}",
        ),
    ]


@dataclass
class _Distinct:
    """The total size of the data added, counting equal data once."""

    size: int = 0

    def __post_init__(self) -> None:
        self._seen: set[bytes] = set()

    def add(self, data: bytes) -> None:
        digest = hashlib.sha256(data).digest()
        if digest not in self._seen:
            self._seen.add(digest)
            self.size += len(data)


def _write(root: Path, session: str, calls: int, context: int, words: Words) -> int:
    """Record the session; return the size of its distinct content."""
    lookup = SessionLookup(SessionsMap(root / "sessions.json"), root / "claude")
    store = CaptureStore(root)
    store.prepare()
    recorder = Recorder(store, Redactor(b"bench"), lookup)
    distinct = _Distinct()
    for number, (body, answer) in enumerate(_conversation(calls, context, words), 1):
        for part in (*body["system"], *body["tools"], *body["messages"]):
            distinct.add(orjson.dumps(part))
        marked = {**body, "messages": _marked(body["messages"])}
        _file(recorder, session, number, orjson.dumps(marked), answer)
    recorder.close()
    return distinct.size


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


def _file(recorder: Recorder, session: str, number: int, body: bytes, answer: bytes) -> None:
    at = 1_794_000_000.0 + 10 * number
    flow_id = str(uuid.UUID(int=number))
    request = RequestSeen(
        flow_id=flow_id,
        started=at,
        ended=at,
        method="POST",
        scheme="https",
        host="api.anthropic.com",
        port=443,
        target="/v1/messages?beta=true",
        http_version="HTTP/1.1",
        headers=[
            ("content-type", "application/json"),
            ("x-claude-code-session-id", session),
            ("user-agent", "claude-cli/2.1.325 (external, cli)"),
        ],
        body=body,
        client_address=None,
        connection_id="bench",
    )
    head = [("content-type", "text/event-stream"), ("request-id", f"req_{number:06d}")]
    response = ResponseSeen(
        at=at + 1, status=200, reason="OK", http_version="HTTP/1.1", headers=head
    )
    for job in (
        Begun(request),
        Answered(flow_id, response),
        Chunk(flow_id, at + 1, answer),
        Ended(flow_id, at + 2, "http_end", None),
    ):
        recorder.handle(job)


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
