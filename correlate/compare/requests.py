"""Compare a request with the previous one. Pure: two request bodies in, changes out.

Moved cache markers do not count as changes: the client moves them with every call.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ccwire.wire.json_text import as_list, text
from ccwire.wire.safe_text import visible
from correlate.captures.content import without_markers

_PREVIEW = 120
_LEAD = 24  # characters of common text shown before the difference
_OWN_RULES = ("messages", "system", "tools", "metadata")
RequestBody = Mapping[str, Any]
ChangeKind = Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True)
class RequestChange:
    """One change. `place` is a path into the request, such as messages[3].content[0]."""

    place: str
    change: ChangeKind
    before: Any = None
    after: Any = None


def request_changes(
    before: RequestBody | None,
    after: RequestBody,
    betas_before: Sequence[str],
    betas_after: Sequence[str],
) -> list[RequestChange]:
    """Return the changes of messages, system, tools, betas and parameters, in this order."""
    old = before or {}
    return [
        *_messages(as_list(old.get("messages")), as_list(after.get("messages"))),
        *_items("system", _blocks(old.get("system")), _blocks(after.get("system"))),
        *_tools(as_list(old.get("tools")), as_list(after.get("tools"))),
        *_betas(betas_before, betas_after),
        *_parameters(old, after),
    ]


def preview(value: Any) -> str:
    """Return a block, a message or a value as one short line."""
    if isinstance(value, str):
        line = visible(" ".join(value.split()))
        return line if len(line) <= _PREVIEW else f"{line[:_PREVIEW]}… ({len(value):,} characters)"
    if isinstance(value, Mapping):
        kind = text(value.get("type"))
        if "role" in value:
            parts = [preview(block) for block in _blocks(value.get("content"))]
            return f"{value['role']}: " + " | ".join(parts)
        if kind == "text":
            return preview(value.get("text") or "")
        if kind == "tool_use":
            return f"tool_use {value.get('name')} {preview(str(value.get('input')))}"
        if kind == "tool_result":
            content = "; ".join(preview(block) for block in _blocks(value.get("content")))
            return f"tool_result {content}"
        if kind == "thinking":
            return f"thinking {preview(value.get('thinking') or '')}"
    return preview(str(value))


def parting(before: Any, after: Any) -> tuple[str, str]:
    """Return both values from shortly before their first difference, for display."""
    old, new = _plain(before), _plain(after)
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    start = max(0, same - _LEAD)
    lead = "…" if start else ""
    return lead + preview(old[start:]), lead + preview(new[start:])


def _plain(value: Any) -> str:
    if isinstance(value, Mapping) and value.get("type") == "text":
        return str(value.get("text"))
    return str(value)


def _messages(old: list[Any], new: list[Any]) -> Iterator[RequestChange]:
    """Compare messages by index: a conversation grows at its end, or restarts when compacted."""
    for index, (before, after) in enumerate(zip(old, new, strict=False)):
        place = f"messages[{index}]"
        if _same_message(before, after):
            continue
        are_messages = isinstance(before, dict) and isinstance(after, dict)
        if not are_messages or _role(before) != _role(after):
            yield RequestChange(place, "changed", before, after)
        else:
            yield from _items(
                f"{place}.content", _blocks(before.get("content")), _blocks(after.get("content"))
            )
    for index in range(len(old), len(new)):
        yield RequestChange(f"messages[{index}]", "added", after=without_markers(new[index]))
    for index in range(len(new), len(old)):
        yield RequestChange(f"messages[{index}]", "removed", before=without_markers(old[index]))


def _items(place: str, old: list[Any], new: list[Any]) -> Iterator[RequestChange]:
    for index in range(max(len(old), len(new))):
        before = without_markers(old[index]) if index < len(old) else None
        after = without_markers(new[index]) if index < len(new) else None
        if before != after:
            yield RequestChange(f"{place}[{index}]", _change(before, after), before, after)


def _tools(old: list[Any], new: list[Any]) -> Iterator[RequestChange]:
    """Compare tools by name; their order has no meaning."""
    before, after = _by_name(old), _by_name(new)
    for name in {**before, **after}:
        place = f"tools.{name}"
        if name not in before:
            yield RequestChange(place, "added", after=after[name])
        elif name not in after:
            yield RequestChange(place, "removed", before=before[name])
        elif before[name] != after[name]:
            yield RequestChange(place, "changed", before[name], after[name])


def _betas(old: Sequence[str], new: Sequence[str]) -> Iterator[RequestChange]:
    for beta in new:
        if beta not in old:
            yield RequestChange("betas", "added", after=beta)
    for beta in old:
        if beta not in new:
            yield RequestChange("betas", "removed", before=beta)


def _parameters(old: RequestBody, new: RequestBody) -> Iterator[RequestChange]:
    for name in {**old, **new}:
        if name in _OWN_RULES:
            continue
        before, after = without_markers(old.get(name)), without_markers(new.get(name))
        if before != after:
            change: ChangeKind = "changed"
            if name not in old or name not in new:
                change = "removed" if name in old else "added"
            yield RequestChange(name, change, before, after)


def _same_message(before: Any, after: Any) -> bool:
    if _role(before) != _role(after) or not isinstance(before, dict):
        return bool(before == after)
    old, new = _blocks(before.get("content")), _blocks(after.get("content"))
    return bool(without_markers(old) == without_markers(new))


def _change(before: Any, after: Any) -> ChangeKind:
    if before is None:
        return "added"
    return "removed" if after is None else "changed"


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None


def _blocks(content: Any) -> list[Any]:
    """Return content as blocks; a string is one text block, as the client uses both forms."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return as_list(content)


def _by_name(tools: list[Any]) -> dict[str, Any]:
    named = (tool for tool in tools if isinstance(tool, dict))
    return {str(tool.get("name") or tool.get("type")): without_markers(tool) for tool in named}
