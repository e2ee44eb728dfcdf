"""A request to the stand-in, parsed once for the rules and the ledger.

The session id is parsed here independently of `addon`, because the ledger verifies that code.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Self

from ccwire.wire.endpoints import endpoint_of
from ccwire.wire.json_text import dicts, parse_object
from ccwire.wire.vocabulary import EndpointKind, Provider

_ENOUGH = 10_000  # characters of a prompt that identify a call
_OLD_USER_ID = re.compile(r"_session_([0-9a-fA-F-]{36})$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request: its raw values, and the values that rules match."""

    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    kind: EndpointKind
    provider: Provider
    body_bytes: int
    body_sha256: str
    session_id: str | None
    model: str
    stream: bool
    max_tokens: int | None
    messages: int
    tools: frozenset[str]
    opening: str  # the text of the messages before the first answer
    prompt: str  # the text of the last message, unless it contains a tool's result
    after_tool: bool

    @classmethod
    def read(cls, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Self:
        """Parse a request. A body that is not a JSON object has no model, messages or tools."""
        content = parse_object(body)
        messages = dicts(content.get("messages"))
        # Newer clients add messages of role system after the prompt.
        last: dict[str, Any] = next(
            (m for m in reversed(messages) if m.get("role") != "system"), {}
        )
        after_tool = _brings_result(last)
        endpoint = endpoint_of(headers.get("host", "").partition(":")[0], path)
        return cls(
            method=method,
            path=path,
            headers=headers,
            kind=endpoint.kind,
            provider=endpoint.provider,
            body_bytes=len(body),
            body_sha256=hashlib.sha256(body).hexdigest(),
            session_id=_session_id(headers, content),
            model=endpoint.model or str(content.get("model") or ""),
            stream=content.get("stream") is True if endpoint.stream is None else endpoint.stream,
            max_tokens=content.get("max_tokens"),
            messages=len(messages),
            tools=frozenset(str(tool.get("name")) for tool in dicts(content.get("tools"))),
            opening="\n".join(map(_text, takewhile(_not_the_model, messages))),
            prompt="" if after_tool else _text(last),
            after_tool=after_tool,
        )

    @property
    def is_bedrock(self) -> bool:
        """Whether it has the shape of Bedrock's own API; some of its hosts serve Anthropic's."""
        return self.provider == "bedrock" and "/v1/messages" not in self.path

    def same_call(self) -> str:
        """Return a key that a call and its retries share; a retry may change `stream` only."""
        words = (self.opening[:_ENOUGH], self.prompt[:_ENOUGH], self.messages, bool(self.tools))
        # Bedrock and Vertex name the model and `stream` in the path.
        path = self.path if self.provider not in ("bedrock", "vertex") else ""
        return hashlib.sha256(
            repr((path, self.session_id, self.model, *words)).encode()
        ).hexdigest()


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in dicts(content))


def _not_the_model(message: Mapping[str, Any]) -> bool:
    return message.get("role") != "assistant"


def _brings_result(message: Mapping[str, Any]) -> bool:
    return any(block.get("type") == "tool_result" for block in dicts(message.get("content")))


def _session_id(headers: Mapping[str, str], content: Mapping[str, Any]) -> str | None:
    named = headers.get("x-claude-code-session-id")
    if named:
        return named
    metadata = content.get("metadata")
    user_id = metadata.get("user_id") if isinstance(metadata, dict) else None
    if not isinstance(user_id, str):
        return None
    newer = parse_object(user_id.encode("utf-8", "surrogatepass")).get("session_id")
    if isinstance(newer, str):
        return newer
    older = _OLD_USER_ID.search(user_id)
    return older[1] if older else None
