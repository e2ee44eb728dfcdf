"""Speed of `ccwire schema observe`, relative to `orjson.loads`: `python -m bench.schema`.

The two read the same files alternately, so that other load on the machine affects both.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import orjson

from bench.figure import at_least, print_figures
from correlate.schema.observe.walk import observe, sources

REACH = 0.25
SESSION = "5e551011-0000-4000-8000-{:012d}"


@click.command()
@click.option("--megabytes", default=200, show_default=True, help="Size of the captures.")
@click.option("--rounds", default=5, show_default=True, help="Number of runs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def main(megabytes: int, rounds: int, as_json: bool) -> None:
    """Measure `ccwire schema observe` against orjson.loads on the same captures."""
    with tempfile.TemporaryDirectory() as folder:
        captures = Path(folder)
        size = make_captures(captures, megabytes * 1_000_000)
        parse, look = _measure(captures, rounds)
    speed = size / 1e6 / statistics.median(look)
    figure = at_least(
        f"schema observe, {size / 1e6:.0f} MB of captures",
        [p / o for p, o in zip(parse, look, strict=True)],
        REACH,
        against="orjson.loads",
        detail=f"{speed:.0f} MB/s",
    )
    print_figures([figure], as_json=as_json)


def _measure(captures: Path, rounds: int) -> tuple[list[float], list[float]]:
    parse, look = [], []
    for _ in range(rounds):
        parse.append(_timed(lambda: _parse_all(captures)))
        look.append(_timed(lambda: observe([captures])))
    return parse, look


def _timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _parse_all(captures: Path) -> None:
    for path in sources([captures]):
        orjson.loads(path.read_bytes())


def make_captures(folder: Path, size: int) -> int:
    """Write realistic sessions: requests contain the whole conversation, answers are streams."""
    written, number = 0, 0
    while written < size:
        number += 1
        session = folder / SESSION.format(number)
        session.mkdir()
        messages: list[dict[str, Any]] = []
        for sequence in range(1, 61):
            messages += _turn(sequence)
            for direction, value in (
                ("req", _request(session.name, sequence, messages)),
                ("resp", _response(session.name, sequence)),
            ):
                data = orjson.dumps(value)
                (session / f"{sequence:04d}_{direction}_v1_messages.json").write_bytes(data)
                written += len(data)
            if written >= size:
                break
    return written


def _turn(sequence: int) -> list[dict[str, Any]]:
    call = f"toolu_{sequence:024d}"
    return [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me look at the next file. " * 4},
                {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": "/a/b.py"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": call, "content": "def f():\n    pass\n" * 90}
            ],
        },
    ]


def _request(session: str, sequence: int, messages: list[dict[str, Any]]) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {
            f"argument_{n}": {"type": "string", "description": "What it is for, in a sentence."}
            for n in range(4)
        },
        "required": ["argument_0"],
    }
    tool = {"name": "Tool", "description": "What the tool does. " * 60, "input_schema": schema}
    body = {
        "model": "claude-opus-5-5",
        "max_tokens": 32000,
        "stream": True,
        "system": [{"type": "text", "text": "You are a made-up system prompt. " * 200}] * 3,
        "tools": [tool] * 14,
        "metadata": {"user_id": f'{{"device_id":"a1","session_id":"{session}"}}'},
        "messages": messages,
    }
    headers = {
        "user-agent": "claude-cli/2.1.325 (external, cli)",
        "anthropic-beta": "context-management-2025-06-27,effort-2025-11-24",
        "x-claude-code-session-id": session,
        "content-type": "application/json",
    }
    return {**_head(session, sequence), "headers": headers, "body": {"type": "json", "data": body}}


def _response(session: str, sequence: int) -> dict[str, Any]:
    usage = {"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 20_000}
    message = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "content": [],
        "usage": usage,
    }
    deltas = [
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "some words here"},
        }
    ] * 250
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    data: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *deltas,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": usage},
        {"type": "message_stop"},
    ]
    events = [{"event": each["type"], "at_ms": 1.5, "data": each} for each in data]
    headers = {"content-type": "text/event-stream", "request-id": "req_01"}
    return {
        **_head(session, sequence),
        "status_code": 200,
        "headers": headers,
        "message": message,
        "body": {"type": "sse", "events": events},
    }


def _head(session: str, sequence: int) -> dict[str, Any]:
    return {
        "format": 1,
        "session_id": session,
        "sequence": sequence,
        "method": "POST",
        "host": "api.anthropic.com",
        "path": "/v1/messages",
    }


if __name__ == "__main__":
    main()
