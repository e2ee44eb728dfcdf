"""A request as a person reads it: parameters, system prompt, tools and messages. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ccwire.wire.json_text import as_dict, as_list, dump
from correlate.captures.content import betas_of, body_of
from correlate.report.request_sizes import MCP_PREFIX, json_size
from correlate.show.blocks import (
    ShownBlock,
    body_size,
    cache_marker,
    headers_of,
    shown_blocks,
    shown_body,
)

_OWN_SECTION = ("messages", "system", "tools")
_IN_TITLE = ("name", "cache_control")  # fields of a tool that are shown with its name


@dataclass(frozen=True, slots=True)
class ShownTool:
    """A tool; `text` is its description, then its input schema and other fields as JSON."""

    name: str
    size: int
    cache: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """The tools of one MCP server, or with `server` None those of the client itself."""

    server: str | None
    tools: tuple[ShownTool, ...]

    @property
    def size(self) -> int:
        return sum(tool.size for tool in self.tools)

    def sent_name(self, tool: ShownTool) -> str:
        """Return the name of one of the tools as the request has it."""
        if self.server is None:
            return tool.name
        return f"{MCP_PREFIX}{self.server}" + (f"__{tool.name}" if tool.name else "")


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message of the request; numbers count from 1."""

    number: int
    role: str
    size: int
    blocks: tuple[ShownBlock, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRequest:
    """A request. `body` is the text of one that has no messages, None otherwise."""

    size: int
    headers: Mapping[str, str]
    betas: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]
    system: tuple[ShownBlock, ...]
    tools: tuple[ToolGroup, ...]
    messages: tuple[ShownMessage, ...]
    body: ShownBlock | None
    decode_error: str | None


def shown_request(file: Mapping[str, Any]) -> ShownRequest:
    """Return the parts of a request file."""
    body = as_dict(body_of(file))
    is_call = isinstance(body.get("messages"), list)
    failed = as_dict(file.get("body")).get("decode_error")
    return ShownRequest(
        size=body_size(file),
        headers=headers_of(file),
        betas=tuple(betas_of(file)),
        parameters=_parameters(body) if is_call else (),
        system=shown_blocks(body.get("system")) if is_call else (),
        tools=_tool_groups(as_list(body.get("tools"))) if is_call else (),
        messages=_messages(as_list(body.get("messages"))),
        body=None if is_call else shown_body(file),
        decode_error=None if failed is None else str(failed),
    )


def message_of(file: Mapping[str, Any], number: int) -> Any:
    """Return message `number` of a request, counted from 1; raise IndexError if there is none."""
    messages = as_list(as_dict(body_of(file)).get("messages"))
    if not 1 <= number <= len(messages):
        raise IndexError(len(messages))
    return messages[number - 1]


def shown_message(number: int, message: Any) -> ShownMessage:
    fields = as_dict(message)
    content = fields.get("content") if fields else message
    return ShownMessage(
        number, str(fields.get("role") or "-"), json_size(message), shown_blocks(content)
    )


def _parameters(body: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, value if isinstance(value, str) else dump(value).decode())
        for name, value in body.items()
        if name not in _OWN_SECTION
    )


def _messages(messages: list[Any]) -> tuple[ShownMessage, ...]:
    return tuple(shown_message(number, message) for number, message in enumerate(messages, 1))


def _tool_groups(tools: list[Any]) -> tuple[ToolGroup, ...]:
    """Return the client's own tools first, then those of each MCP server."""
    groups: dict[str | None, list[ShownTool]] = {None: []}
    for tool in tools:
        fields = as_dict(tool)
        name = str(fields.get("name") or fields.get("type") or "unnamed")
        server = None
        if name.startswith(MCP_PREFIX):
            server, _, name = name.removeprefix(MCP_PREFIX).partition("__")
        shown = ShownTool(name, json_size(tool), cache_marker(tool), _tool_text(tool))
        groups.setdefault(server, []).append(shown)
    return tuple(ToolGroup(server, tuple(shown)) for server, shown in groups.items() if shown)


def _tool_text(tool: Any) -> str:
    if not isinstance(tool, dict):
        return dump(tool, for_people=True).decode()
    parts = [tool["description"]] if isinstance(tool.get("description"), str) else []
    for name, value in tool.items():
        if name in _IN_TITLE or (name == "description" and parts):
            continue
        is_title = name == "type" and not tool.get("name")
        if not is_title:
            parts.append(f"{name} {dump(value, for_people=True).decode()}")
    return "\n".join(parts)
