"""The texts of a request, an answer and a transcript record, each with its role. Pure.

A tool call has one text per string of its input. `toolUseResult`, the client's own copy of a tool's
result, is not a text, nor is what identifies a record, nor are the bytes of a file.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ccwire.wire.json_text import as_dict, as_list, dicts, parse_json, text

Role = Literal[
    "user", "assistant", "tool-call", "tool-result", "thinking", "system", "tool-definition"
]
ROLES: tuple[Role, ...] = get_args(Role)
OTHER = "other"  # the role of a text in a record that is no message

_WITHOUT_TEXT = ("image", "redacted_thinking")
# A string in JSON that may be cut off, and whether it is the name of a field.
_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)(?:"(\s*:)?|\\?\Z)', re.DOTALL)
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
    """A text; `message` is its message in the request, counted from 1.

    One of several strings in a value is number `leaf` of its `holder`: the name of its field may
    show that it is a secret.
    """

    role: str
    text: str
    tool: str | None = None
    message: int | None = None
    holder: Any = field(default=None, repr=False, compare=False)
    leaf: int = field(default=0, repr=False, compare=False)


def request_texts(body: object) -> Iterator[FoundText]:
    """Yield the texts of a request's body, in order."""
    fields = as_dict(body)
    yield from _blocks(fields.get("system"), "system", None, {})
    for tool in dicts(fields.get("tools")):
        yield from _leaves(tool, "tool-definition", text(tool.get("name")), None)
    names: dict[str, str] = {}
    for number, message in enumerate(as_list(fields.get("messages")), 1):
        entry = as_dict(message)
        role = text(entry.get("role")) or "user"
        yield from _blocks(entry.get("content"), role, number, names)


def answer_texts(message: object, body: object = None) -> Iterator[FoundText]:
    """Yield the texts of an assembled answer; without one those of the body, such as an error."""
    if isinstance(message, dict):
        yield from _blocks(message.get("content"), "assistant", None, {})
    else:
        yield from _leaves(body, OTHER, None, None)


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
            yield from _leaves({name: value}, OTHER, None, None)


def note_tools(record: Mapping[str, Any], names: dict[str, str]) -> None:
    """Note the names of the tools that a record calls, by the id of the call."""
    for block in (record, *dicts(as_dict(record.get("message")).get("content"))):
        _note(block, names)


def leaves(value: object) -> Iterator[str]:
    """Yield every string in a value, names of fields and base64 excluded; not recursive."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            if value.get("type") != "base64":  # the bytes of a file, such as a PDF
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
            given = block.get("input")
            if (cut := text(block.get("partial_input"))) is not None:
                given = _strings_of_cut(cut)
            yield from _leaves(given, "tool-call", text(block.get("name")), message)
        elif kind.endswith("tool_result"):
            tool = names.get(str(block.get("tool_use_id")))
            yield from _result(block.get("content"), tool, message)
        elif kind not in _WITHOUT_TEXT:
            yield from _leaves(block, role, None, message)


def _result(content: object, tool: str | None, message: int | None) -> Iterator[FoundText]:
    if isinstance(content, str):
        yield FoundText("tool-result", content, tool, message)
    for block in [content] if isinstance(content, dict) else dicts(content):  # a server tool's
        if block.get("type") not in _WITHOUT_TEXT:
            given = block.get("text") if block.get("type") == "text" else block
            yield from _leaves(given, "tool-result", tool, message)


def _strings_of_cut(json: str) -> list[str]:
    """Return the strings in JSON that was cut off, as they read without their escapes."""
    found = [match[1] for match in _STRING.finditer(json) if match[2] is None]
    return [_unescaped(string) for string in found]


def _unescaped(string: str) -> str:
    try:
        return str(parse_json(f'"{string}"'.encode()))
    except (ValueError, UnicodeEncodeError):
        return string  # the cut is in an escape


def _leaves(value: object, role: str, tool: str | None, message: int | None) -> Iterator[FoundText]:
    if isinstance(value, str):
        yield FoundText(role, value, tool, message)
        return
    for number, leaf in enumerate(leaves(value)):
        yield FoundText(role, leaf, tool, message, value, number)


def _note(block: Mapping[str, Any], names: dict[str, str]) -> None:
    called, name = text(block.get("id")), text(block.get("name"))
    if called and name and str(block.get("type")).endswith("tool_use"):
        names[called] = name
