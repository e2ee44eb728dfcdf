"""Render an `Answer` as the API sends it: SSE events, or one JSON message.

Pure: nothing is sent here. Ids and usage are derived from a seed and the call's order, so that runs
are repeatable and each call's numbers are distinct unless the scenario sets them.
"""

import functools
import json
import random
import re
import string
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ccwire.demo.stand_in.scenario import (
    Answer,
    Failure,
    Filler,
    Raw,
    ScriptedBlock,
    ServerToolUse,
    Text,
    Thinking,
    ToolUse,
    Usage,
    WebSearchResult,
)
from ccwire.wire.models import base_model
from ccwire.wire.vocabulary import Provider

_ALPHABET = string.ascii_letters + string.digits
_MARKS: Mapping[Provider, str] = {"bedrock": "bdrk_", "vertex": "vrtx_"}  # in their ids
_WORDS = re.compile(r"\s*\S+|\s+$")
PING = b'event: ping\ndata: {"type": "ping"}\n\n'


@dataclass(frozen=True, slots=True)
class Call:
    """The values from which a call's ids and usage are derived."""

    seed: int
    order: int
    model: str
    offered: frozenset[str]  # the names of the tools the request offers
    provider: Provider = "anthropic"

    def id(self, prefix: str, place: int = 0) -> str:
        chance = random.Random(f"{self.seed}/{self.order}/{prefix}/{place}")
        return prefix + "".join(chance.choices(_ALPHABET, k=22))

    @property
    def message_id(self) -> str:
        return self.id(f"msg_{_MARKS.get(self.provider, '')}01")

    @property
    def request_id(self) -> str:
        if self.provider == "bedrock":
            chance = random.Random(f"{self.seed}/{self.order}/request")
            return str(uuid.UUID(int=chance.getrandbits(128), version=4))
        return self.id(f"req_{_MARKS.get(self.provider, '')}01")


def usage_of(answer: Answer, call: Call) -> Usage:
    """Return the scenario's usage, or numbers that are distinct among a million calls."""
    if answer.usage is not None:
        return answer.usage
    number = call.seed * 7919 + call.order
    lifetimes = answer.cache_writes
    return Usage(
        input_tokens=11 + 7 * (number * 389 % 997),
        output_tokens=203 + 11 * (number * 617 % 1009),
        cache_read_input_tokens=12_011 + 17 * (number * 431 % 1013),
        ephemeral_5m_input_tokens=1_009 + 13 * (number * 83 % 211) if "5m" in lifetimes else 0,
        ephemeral_1h_input_tokens=2_003 + 19 * (number * 97 % 223) if "1h" in lifetimes else 0,
    )


def message(answer: Answer, call: Call, usage: Usage) -> dict[str, Any]:
    """Return the message that a call without `stream` receives."""
    return {
        **_head(answer, call),
        "content": [_rendered(b, place, call)[2] for place, b in enumerate(answer.content)],
        "stop_reason": stop_reason(answer),
        "usage": usage.final(),
    }


def events(answer: Answer, call: Call, usage: Usage) -> Iterator[bytes]:
    """Yield every SSE event of the answer in order; the sender may stop early."""
    head = {**_head(answer, call), "content": [], "stop_reason": None}
    if not answer.bare_start:
        head["usage"] = usage.start()
    yield _event("message_start", {"message": head})
    yield from answer.inserted
    for index, block in enumerate(answer.content):
        start, deltas, _ = _rendered(block, index, call)
        yield _event("content_block_start", {"index": index, "content_block": start})
        if index == 0:
            yield PING
        if isinstance(block, Filler):
            yield from _filler_events(index, block)
        for delta in deltas:
            yield _event("content_block_delta", {"index": index, "delta": delta})
        yield _event("content_block_stop", {"index": index})
    end = {"stop_reason": stop_reason(answer), "stop_sequence": None}
    yield _event("message_delta", {"delta": end, "usage": usage.delta()})
    yield _event("message_stop", {})


def error_event(failure: Failure) -> bytes:
    return _event("error", {"error": {"type": failure.type, "message": failure.message}})


def error_body(failure: Failure, request_id: str) -> dict[str, Any]:
    error = {"type": failure.type, "message": failure.message}
    return {"type": "error", "error": error, "request_id": request_id}


def stop_reason(answer: Answer) -> str:
    if answer.stop_reason is not None:
        return answer.stop_reason
    calls_tool = any(isinstance(block, ToolUse) for block in answer.content)
    return "tool_use" if calls_tool else "end_turn"


def _event(name: str, value: Mapping[str, Any]) -> bytes:
    data = json.dumps({"type": name, **value}, separators=(",", ":"), ensure_ascii=False)
    return f"event: {name}\ndata: {data}\n\n".encode()


def _head(answer: Answer, call: Call) -> dict[str, Any]:
    return {
        "id": call.message_id,
        "type": "message",
        "role": "assistant",
        "model": answer.model or base_model(call.model),
        "stop_sequence": None,
    }


# A block's content_block_start, its deltas, and the complete block.
type Rendered = tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]


def _rendered(block: ScriptedBlock, place: int, call: Call) -> Rendered:
    match block:
        case Text(text):
            words = _WORDS.findall(text) or [""]
            deltas = [{"type": "text_delta", "text": word} for word in words]
            return {"type": "text", "text": ""}, deltas, {"type": "text", "text": text}
        case Filler(count, size):
            text = "".join(_filler_words(count, size))
            return {"type": "text", "text": ""}, [], {"type": "text", "text": text}
        case Thinking(text, signature):
            whole = {"type": "thinking", "thinking": text, "signature": signature}
            deltas = [{"type": "thinking_delta", "thinking": w} for w in _WORDS.findall(text)]
            deltas.append({"type": "signature_delta", "signature": signature})
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas, whole
        case ToolUse(names, given):
            name = next((name for name in names if name in call.offered), names[0])
            return _tool("tool_use", call.id("toolu_01", place), name, given)
        case ServerToolUse(name, given):
            return _tool("server_tool_use", call.id("srvtoolu_01", place), name, given)
        case WebSearchResult(hits):
            result = {
                "type": "web_search_tool_result",
                "tool_use_id": call.id("srvtoolu_01", place - 1),
                "content": [_hit(title, url) for title, url in hits],
            }
            return result, [], result
        case Raw(value):
            return dict(value), [], dict(value)


def _tool(kind: str, tool_id: str, name: str, given: Mapping[str, Any]) -> Rendered:
    start = {"type": kind, "id": tool_id, "name": name, "input": {}}
    spelled = json.dumps(dict(given))
    pieces = ["", *(spelled[at : at + 16] for at in range(0, len(spelled), 16))]
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return start, deltas, {**start, "input": dict(given)}


def _hit(title: str, url: str) -> dict[str, Any]:
    return {
        "type": "web_search_result",
        "title": title,
        "url": url,
        "encrypted_content": "bGFiLWhpdA==",
        "page_age": None,
    }


@functools.lru_cache(maxsize=8)
def _filler_words(count: int, size: int) -> tuple[str, ...]:
    return tuple(f"{number:x}".rjust(size - 1, "w") + " " for number in range(count))


@functools.lru_cache(maxsize=8)
def _filler_events(index: int, filler: Filler) -> tuple[bytes, ...]:
    """Cached, so that a benchmark measures the proxy and not the stand-in."""
    return tuple(
        _event(
            "content_block_delta", {"index": index, "delta": {"type": "text_delta", "text": word}}
        )
        for word in _filler_words(filler.deltas, filler.size)
    )
