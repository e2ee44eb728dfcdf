"""The parts of a request or an answer that have a text: content blocks and bodies. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ccwire.wire.json_text import as_dict, as_list, dicts, dump
from correlate.report.blocks import readable
from correlate.report.request_sizes import json_size

_SLACK = 1.5  # times its limit, a text is not worth to be shortened


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A text with its title, its size in bytes of JSON, and its cache marker if it has one."""

    title: str
    text: str
    size: int
    cache: str | None = None


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning of a text; `left_out` is the number of characters after it."""

    text: str
    left_out: int = 0


def shown_blocks(content: Any) -> tuple[ShownBlock, ...]:
    """Return the blocks of a content, which may also be a single text."""
    blocks = content if isinstance(content, list) else [content]
    return tuple(_shown(block) for block in blocks if block is not None)


def shown_body(file: Mapping[str, Any]) -> ShownBlock | None:
    """Return the body of a request or response file as one text; None if it is empty."""
    body = as_dict(file.get("body"))
    kind, data, size = str(body.get("type") or "unknown"), body.get("data"), body_size(file)
    if "data" in body:
        text = data if isinstance(data, str) else dump(data, for_people=True).decode()
        return ShownBlock(kind, text, size)
    if kind in ("sse", "eventstream"):
        return ShownBlock(kind, f"{len(as_list(body.get('events'))):,} events", size)
    return ShownBlock(kind, "not stored", size) if size else None


def body_size(file: Mapping[str, Any]) -> int:
    """Return the size of a body in bytes, as the file records it."""
    size = as_dict(file.get("body")).get("size")
    return size if isinstance(size, int) else 0


def headers_of(file: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in as_dict(file.get("headers")).items()}


def cache_marker(block: object) -> str | None:
    """Return `ephemeral 1h` for a block that is marked so, itself or in its content."""
    fields = as_dict(block)
    for holder in (fields, *dicts(fields.get("content"))):
        if marker := as_dict(holder.get("cache_control")):
            return " ".join(str(marker[name]) for name in ("type", "ttl") if marker.get(name))
    return None


def excerpt(text: str, lines: int, characters: int) -> Excerpt:
    """Return the beginning of a text: about so many lines and characters.

    A text that is only a little longer is returned whole.
    """
    text = text.strip("\n").rstrip()
    if len(text) <= characters * _SLACK and text.count("\n") < lines * _SLACK:
        return Excerpt(text)
    kept = "\n".join(text[:characters].split("\n", lines)[:lines]).rstrip()
    return Excerpt(kept, len(text) - len(kept))


def _shown(block: Any) -> ShownBlock:
    found = readable(block)
    return ShownBlock(found.title, found.text, json_size(block), cache_marker(block))
