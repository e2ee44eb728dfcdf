"""The sizes of a request's parts: system prompt, tools, MCP tools and messages. Pure.

Sizes are bytes of JSON as sent; the API does not report tokens per part.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from ccwire.wire.json_text import dicts

MCP_PREFIX = "mcp__"
PARTS = (
    "system prompt",
    "tools",
    "MCP tools",
    "system messages",
    "user text",
    "tool results",
    "images and documents",
    "assistant text",
    "thinking",
    "tool calls",
    "other",
)

_PARTS_OF_TEXT = {"user": "user text", "assistant": "assistant text"}  # by role
_PARTS_OF_BLOCKS = {
    "tool_result": "tool results",
    "image": "images and documents",
    "document": "images and documents",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "tool_use": "tool calls",
    "server_tool_use": "tool calls",
}
_MOST_ITEMS = 12


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a request, and its size."""

    name: str
    part: str
    size: int


@dataclass(frozen=True, slots=True)
class RequestSizes:
    """The sizes of a request's parts. `items` are the largest single items, largest first."""

    sizes: Mapping[str, int]
    counts: Mapping[str, int]
    items: tuple[Item, ...]
    servers: Mapping[str, int]  # MCP server -> size of its tools
    tools: tuple[str, ...]

    @property
    def total(self) -> int:
        return sum(self.sizes.values())


def request_sizes(body: Mapping[str, Any]) -> RequestSizes:
    """Return the sizes of a request body's parts; each byte of JSON counts for one part."""
    items = list(_items(body))
    sizes: dict[str, int] = dict.fromkeys(PARTS, 0)
    counts: dict[str, int] = dict.fromkeys(PARTS, 0)
    servers: dict[str, int] = {}
    for item in items:
        sizes[item.part] += item.size
        counts[item.part] += 1
        if item.part == "MCP tools":
            server = item.name.removeprefix(MCP_PREFIX).partition("__")[0]
            servers[server] = servers.get(server, 0) + item.size
    sizes["other"] += json_size(body) - sum(sizes.values())
    largest = sorted(items, key=lambda item: item.size, reverse=True)[:_MOST_ITEMS]
    tools = tuple(item.name for item in items if item.part in ("tools", "MCP tools"))
    return RequestSizes(sizes, counts, tuple(largest), servers, tools)


def json_size(value: Any) -> int:
    try:
        return len(orjson.dumps(value))
    except TypeError:  # lone surrogates, or a number beyond 64 bits
        return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace"))


def _items(body: Mapping[str, Any]) -> Iterator[Item]:
    system = body.get("system")
    for place, block in enumerate(system if isinstance(system, list) else [system]):
        if block:
            yield Item(f"system block {place + 1}", "system prompt", json_size(block))
    for tool in dicts(body.get("tools")):
        name = str(tool.get("name") or tool.get("type") or "unnamed")
        part = "MCP tools" if name.startswith(MCP_PREFIX) else "tools"
        yield Item(name, part, json_size(tool))
    for place, message in enumerate(dicts(body.get("messages")), 1):
        yield from _message_items(place, message)


def _message_items(place: int, message: Mapping[str, Any]) -> Iterator[Item]:
    role = str(message.get("role"))
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    for block in blocks:
        kind = str(block.get("type")) if isinstance(block, dict) else "text"
        part = "system messages" if role == "system" else _part(role, kind)
        yield Item(f"message {place}, {role}: {_title(block, kind)}", part, json_size(block))


def _part(role: str, kind: str) -> str:
    if kind == "text":
        return _PARTS_OF_TEXT.get(role, "other")
    return _PARTS_OF_BLOCKS.get(kind, "other")


def _title(block: Any, kind: str) -> str:
    name = block.get("name") if isinstance(block, dict) else None
    return f"{kind} {name}" if isinstance(name, str) else kind
