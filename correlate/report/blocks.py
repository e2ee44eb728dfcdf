"""Convert a content block to a title and a text. Pure; `fit` shortens the text."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from correlate.report.request_sizes import json_size

_TEXTS = {"text": "text", "thinking": "thinking"}  # block type -> the field that is its text


@dataclass(frozen=True, slots=True)
class ReadableBlock:
    type: str
    title: str
    text: str


def readable(block: Any) -> ReadableBlock:
    """Return the title and text of any block; one of an unknown type becomes JSON."""
    if not isinstance(block, Mapping):
        return ReadableBlock("text", "text", _as_text(block))
    kind = str(block.get("type") or "unknown")
    if kind in _TEXTS and isinstance(block.get(_TEXTS[kind]), str):
        return ReadableBlock(kind, kind, block[_TEXTS[kind]])
    match kind:
        case "tool_use" | "server_tool_use":
            given = block.get("partial_input", block.get("input"))
            return ReadableBlock(kind, f"{kind} {block.get('name')}", _as_text(given))
        case "tool_result":
            failed = " (error)" if block.get("is_error") else ""
            return ReadableBlock(kind, f"tool_result{failed}", content_text(block.get("content")))
        case "image" | "document":
            return ReadableBlock(kind, kind, _media(block))
    return ReadableBlock(kind, kind, _as_text(dict(block)))


def content_text(content: Any) -> str:
    """Return the text of a message's or a result's content, a string or blocks."""
    if isinstance(content, list):
        return "\n".join(readable(block).text for block in content)
    return _as_text(content)


def _media(block: Mapping[str, Any]) -> str:
    source = block.get("source")
    source = source if isinstance(source, Mapping) else {}
    if source.get("type") == "text":
        parts = (block.get("title"), block.get("context"), source.get("data"))
        return "\n".join(part for part in parts if isinstance(part, str))
    kind = source.get("media_type") or source.get("type") or "unknown"
    return f"{kind}, {json_size(source.get('data')):,} bytes, not shown"


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, indent=2)
