"""An answer as a person reads it: its blocks, usage by token class, and how it ended. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ccwire.wire.json_text import as_dict, dicts, dump, number, text
from ccwire.wire.usage import Tokens
from correlate.captures.content import answer_blocks
from correlate.show.blocks import ShownBlock, body_size, headers_of, shown_blocks, shown_body


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAnswer:
    """A response. `body` is the text of one that is no message, None otherwise."""

    size: int
    headers: Mapping[str, str]
    blocks: tuple[ShownBlock, ...]
    body: ShownBlock | None
    stop_reason: str | None
    usage: tuple[tuple[str, int], ...]
    decode_error: str | None
    is_truncated: bool


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event of a stream: its name, milliseconds after the first byte, and its data.

    The data of a part of a block begins with the block's index and the text: what differs.
    """

    name: str
    at_ms: float | None
    data: str


def shown_answer(file: Mapping[str, Any]) -> ShownAnswer:
    """Return the parts of a response file."""
    message = as_dict(file.get("message"))
    blocks = answer_blocks(file)
    failed = as_dict(file.get("body")).get("decode_error")
    return ShownAnswer(
        size=body_size(file),
        headers=headers_of(file),
        blocks=shown_blocks(blocks) if blocks is not None else (),
        body=shown_body(file) if blocks is None else None,
        stop_reason=text(message.get("stop_reason")),
        usage=usage_by_class(as_dict(message.get("usage"))),
        decode_error=None if failed is None else str(failed),
        is_truncated=message.get("content_truncated") is True,
    )


def usage_by_class(usage: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Return the name and count of each token class that has any."""
    counted = Tokens.of(dict(usage)).by_class()
    return tuple((found.label, count) for found, count in counted if count)


def events_of(file: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the events of a streamed response, as the file has them."""
    return dicts(as_dict(file.get("body")).get("events"))


def shown_event(event: Mapping[str, Any]) -> ShownEvent:
    name = str(event.get("event") or "-")
    data = event.get("data") if event.get("data") is not None else event.get("raw")
    if isinstance(data, dict):
        data = _event_text(name, data)
    elif not isinstance(data, str):
        data = "" if data is None else dump(data).decode()
    return ShownEvent(name, number(event.get("at_ms")), data)


def _event_text(name: str, data: dict[str, Any]) -> str:
    """Return `0 "text" text_delta` for a part of a block, then as JSON what is not in it."""
    rest = {key: value for key, value in data.items() if (key, value) != ("type", name)}
    parts = []
    delta = as_dict(rest.get("delta"))
    texts = (key for key, value in delta.items() if key != "type" and isinstance(value, str))
    found = next(texts, None)
    if found is not None and isinstance(rest.get("index"), int):
        parts = [str(rest.pop("index")), dump(delta[found]).decode()]
        if kind := text(delta.get("type")):
            parts.append(kind)
        rest["delta"] = {key: delta[key] for key in delta if key not in (found, "type")}
        if not rest["delta"]:
            del rest["delta"]
    return " ".join([*parts, *([dump(rest).decode()] if rest else [])])
