"""The texts of a request, an answer and a transcript record, each with its role. Pure.

A tool call has one text per string of its input. `toolUseResult`, the client's own copy of a tool's
result, is not a text, nor is what identifies a record.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ccwire.wire.json_text import as_dict, as_list, dicts, text

Role = Literal[
    "user", "assistant", "tool-call", "tool-result", "thinking", "system", "tool-definition"
]
ROLES: tuple[Role, ...] = get_args(Role)
OTHER = "other"  # the role of a text in a record that is no message

_WITHOUT_TEXT = ("image", "redacted_thinking")
_ENVELOPE = frozenset(
    [
        "type",
        "subtype",
        "uuid",
        "parentUuid",
        "logicalParentUuid",
        "sessionId",
        "timestamp",
        "cwd",
        "version",
        "gitBranch",
        "slug",
        "userType",
        "entrypoint",
        "requestId",
        "requestRef",
        "promptId",
        "agentId",
        "toolUseID",
        "parentToolUseID",
        "leafUuid",
        "messageId",
        "id",
        "level",
        "operation",
    ]
)


@dataclass(frozen=True, slots=True)
class FoundText:
    """A text; `message` is its message in the request, counted from 1."""

    role: str
    text: str
    tool: str | None = None
    message: int | None = None


def request_texts(body: object) -> Iterator[FoundText]:
    """Yield the texts of a request's body, in order."""
    fields = as_dict(body)
    yield from _blocks(fields.get("system"), "system", None, {})
    for tool in dicts(fields.get("tools")):
        for leaf in leaves(tool):
            yield FoundText("tool-definition", leaf, text(tool.get("name")))
    names: dict[str, str] = {}
    for number, message in enumerate(as_list(fields.get("messages")), 1):
        entry = as_dict(message)
        role = text(entry.get("role")) or "user"
        yield from _blocks(entry.get("content"), role, number, names)


def answer_texts(message: object) -> Iterator[FoundText]:
    """Yield the texts of an assembled answer."""
    yield from _blocks(as_dict(message).get("content"), "assistant", None, {})


def record_texts(record: Mapping[str, Any], names: dict[str, str]) -> Iterator[FoundText]:
    """Yield the texts of a transcript record; `names` are the tools of the calls so far."""
    message = record.get("message")
    kind = text(record.get("type"))
    if kind in ("user", "assistant"):
        content = message if isinstance(message, str) else as_dict(message).get("content")
        yield from _blocks(content, kind, None, names)
        return
    if kind in ("tool_use", "tool_result"):  # lines of their own, as other tools write them
        yield from _blocks([record], OTHER, None, names)
        return
    for name, value in record.items():
        if name not in _ENVELOPE:
            for leaf in leaves(value):
                yield FoundText(OTHER, leaf)


def note_tools(record: Mapping[str, Any], names: dict[str, str]) -> None:
    """Note the names of the tools that a record calls, by the id of the call."""
    for block in (record, *dicts(as_dict(record.get("message")).get("content"))):
        _note(block, names)


def leaves(value: object) -> Iterator[str]:
    """Yield every string in a value, names of fields excluded; not recursive."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            left += reversed(value.values())
        elif isinstance(value, list):
            left += reversed(value)


def _blocks(
    content: object, role: str, message: int | None, names: dict[str, str]
) -> Iterator[FoundText]:
    if isinstance(content, str):
        yield FoundText(role, content, None, message)
        return
    for block in dicts(content):
        kind = text(block.get("type")) or ""
        if kind == "text":
            yield from _leaves(block.get("text"), role, None, message)
        elif kind == "thinking":
            yield from _leaves(block.get("thinking"), "thinking", None, message)
        elif kind.endswith("tool_use"):
            _note(block, names)
            given = block.get("partial_input", block.get("input"))
            yield from _leaves(given, "tool-call", text(block.get("name")), message)
        elif kind.endswith("tool_result"):
            tool = names.get(str(block.get("tool_use_id")))
            yield from _result(block.get("content"), tool, message)
        elif kind not in _WITHOUT_TEXT:
            yield from _leaves(_readable(block), role, None, message)


def _result(content: object, tool: str | None, message: int | None) -> Iterator[FoundText]:
    if isinstance(content, str):
        yield FoundText("tool-result", content, tool, message)
    for block in dicts(content):
        if block.get("type") not in _WITHOUT_TEXT:
            given = block.get("text") if block.get("type") == "text" else _readable(block)
            yield from _leaves(given, "tool-result", tool, message)


def _readable(block: dict[str, Any]) -> dict[str, Any]:
    """Return a block without the bytes of a file, such as a PDF; a document may also be a text."""
    is_bytes = as_dict(block.get("source")).get("type") == "base64"
    return {name: value for name, value in block.items() if not (is_bytes and name == "source")}


def _leaves(value: object, role: str, tool: str | None, message: int | None) -> Iterator[FoundText]:
    return (FoundText(role, leaf, tool, message) for leaf in leaves(value))


def _note(block: Mapping[str, Any], names: dict[str, str]) -> None:
    called, name = text(block.get("id")), text(block.get("name"))
    if called and name and str(block.get("type")).endswith("tool_use"):
        names[called] = name
