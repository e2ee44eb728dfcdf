"""Typed records for the transcript lines used in accounting. Pure: a parsed line in, a record out.

Any field may be missing: it is then None, which differs from 0 and "".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccwire.wire.format import SYNTHETIC_MODEL
from ccwire.wire.json_text import as_dict, number, text, whole
from ccwire.wire.times import instant

_AGENT_IN_TEXT = re.compile(r"\bagentId: ([A-Za-z0-9_-]+)")
LAUNCHING_TOOLS = ("Task", "Agent")


@dataclass(frozen=True, slots=True)
class ContentBlock:
    """A content block's type and tool fields, without its text."""

    type: str
    tool: str | None = None
    tool_use_id: str | None = None
    file_path: str | None = None  # the file a tool reads or writes
    subagent_type: str | None = None
    prompt: str | None = None  # a subagent's prompt, repeated in its first line
    query: str | None = None  # of a web search, which is a call of its own
    description: str | None = None  # a subagent's task, in a few words


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantLine:
    """An assistant line: one answer, or one content block of it."""

    path: Path
    line: int
    offset: int
    timestamp: float | None
    session_id: str | None
    message_id: str | None
    request_id: str | None
    request_ref: str | None
    model: str | None
    usage: dict[str, Any] | None
    stop_reason: str | None
    blocks: tuple[ContentBlock, ...]
    block_index: int | None
    uuid: str | None
    parent_uuid: str | None
    sidechain: bool
    agent_id: str | None
    agent_type: str | None
    version: str | None
    cwd: str | None
    api_error: bool
    cost_usd: float | None
    branch: str | None = None  # of git

    @property
    def synthetic(self) -> bool:
        return self.model == SYNTHETIC_MODEL or self.api_error


@dataclass(frozen=True, slots=True)
class ApiError:
    """system/api_error: a failed call and the client's retry plan."""

    line: int
    timestamp: float | None
    request_id: str | None
    status: int | None
    retry_attempt: int | None


@dataclass(frozen=True, slots=True)
class Compaction:
    """system/compact_boundary: earlier messages are replaced by a summary.

    `lost_messages` are the user and assistant lines of the file that left the context: those since
    the previous compaction, less the `preserved` ones; None if the file begins with it, as that of
    a fork. The summary is in the line that follows, and is read on demand
    (`correlate.transcript.lineage.summary_of`). Releases 1.0 write the summary alone.
    """

    line: int
    timestamp: float | None
    uuid: str | None = None
    trigger: str | None = None  # manual, auto
    pre_tokens: int | None = None
    post_tokens: int | None = None
    duration_ms: int | None = None
    preserved: int | None = None
    logical_parent: str | None = None  # the uuid of the last line before it
    lost_messages: int | None = None
    path: Path | None = None
    summary_line: int | None = None
    summary_offset: int | None = None


def compaction_facts(found: Compaction) -> dict[str, Any]:
    """Return the numbers of a compaction, as commands print them."""
    return {
        "trigger": found.trigger,
        "pre_tokens": found.pre_tokens,
        "post_tokens": found.post_tokens,
        "duration_ms": found.duration_ms,
        "lost_messages": found.lost_messages,
        "preserved_messages": found.preserved,
    }


@dataclass(frozen=True, slots=True)
class CostState:
    """cost-state: the client's cost total, including inherited calls.

    A client that resumes a session continues from the last one, if there is one.
    """

    line: int
    total_usd: float | None
    model_usage: dict[str, dict[str, Any]]
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """api-request: why the client made a call; an assistant line's `requestRef` names it."""

    id: str
    query_source: str | None
    timestamp: float | None
    agent_id: str | None


@dataclass(frozen=True, slots=True)
class AgentResult:
    """A line with a subagent's result: it links the tool call to the agent.

    `from_text`: the agent is named in the text only, which may be of any tool.
    """

    tool_use_id: str | None
    agent_id: str
    from_text: bool = False


@dataclass(frozen=True, slots=True)
class CompactSummary:
    """A user line with the summary of a compaction, without its text."""

    line: int
    offset: int
    timestamp: float | None = None
    uuid: str | None = None


@dataclass(frozen=True, slots=True)
class ToolUseLine:
    """A tool call with a line of its own, as other tools write it."""

    block: ContentBlock
    agent_id: str | None
    timestamp: float | None = None


@dataclass(frozen=True, slots=True)
class PromptLine:
    """A user line of a sidechain in the session's file; the first contains the agent's prompt."""

    uuid: str | None
    parent_uuid: str | None
    text: str | None


Record = (
    AssistantLine
    | ApiError
    | Compaction
    | CompactSummary
    | CostState
    | ApiRequest
    | AgentResult
    | PromptLine
    | ToolUseLine
    | None
)


def typed(record: dict[str, Any], path: Path, line: int, offset: int) -> Record:
    """Return the typed record of a parsed line; None for types that are only counted."""
    match record.get("type"):
        case "assistant":
            return _assistant(record, path, line, offset)
        case "system":
            return _system(record, line)
        case "cost-state":
            usage = record.get("modelUsage")
            models = usage.items() if isinstance(usage, dict) else ()
            return CostState(
                line,
                number(record.get("totalCostUSD")),
                {model: used for model, used in models if isinstance(used, dict)},
                path,
            )
        case "api-request" if isinstance(record.get("id"), str):
            return ApiRequest(
                record["id"],
                text(record.get("querySource")),
                instant(record.get("timestamp")),
                text(record.get("agentId")),
            )
        case "user":
            if record.get("isCompactSummary") is True:
                at, uuid = instant(record.get("timestamp")), text(record.get("uuid"))
                return CompactSummary(line, offset, at, uuid)
            return _user(record)
        case "tool_use":
            at = instant(record.get("timestamp"))
            return ToolUseLine(_block(record), text(record.get("agentId")), at)
        case "tool_result":
            return _agent_result(record, [record])
    return None


def _assistant(record: dict[str, Any], path: Path, line: int, offset: int) -> AssistantLine:
    message = message_of(record)
    usage = message.get("usage")
    return AssistantLine(
        path=path,
        line=line,
        offset=offset,
        timestamp=instant(record.get("timestamp")),
        session_id=text(record.get("sessionId")),
        message_id=text(message.get("id")),
        request_id=text(record.get("requestId")),
        request_ref=text(record.get("requestRef")),
        model=text(message.get("model")),
        usage=usage if isinstance(usage, dict) else None,
        stop_reason=text(message.get("stop_reason")),
        blocks=_blocks(message.get("content")),
        block_index=whole(record.get("apiBlockIndex")),
        uuid=text(record.get("uuid")),
        parent_uuid=text(record.get("parentUuid")),
        sidechain=record.get("isSidechain") is True,
        agent_id=text(record.get("agentId")),
        agent_type=text(record.get("attributionAgent")),
        version=text(record.get("version")),
        cwd=text(record.get("cwd")),
        api_error=record.get("isApiErrorMessage") is True,
        cost_usd=number(record.get("costUSD")),
        branch=text(record.get("gitBranch")),
    )


def message_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line's message; a bare string, as other tools write it, is the content."""
    message = record.get("message")
    return {"content": message} if isinstance(message, str) else as_dict(message)


def _blocks(content: object) -> tuple[ContentBlock, ...]:
    if isinstance(content, str):
        return (ContentBlock("text"),)
    if not isinstance(content, list):
        return ()
    return tuple(_block(block) for block in content if isinstance(block, dict))


def _block(block: dict[str, Any]) -> ContentBlock:
    kind = text(block.get("type")) or "unknown"
    if kind != "tool_use":
        return ContentBlock(kind)
    given = as_dict(block.get("input"))
    return ContentBlock(
        kind,
        tool=text(block.get("name")),
        tool_use_id=text(block.get("id")),
        file_path=text(given.get("file_path")) or text(given.get("notebook_path")),
        subagent_type=text(given.get("subagent_type")),
        prompt=text(given.get("prompt")) if "subagent_type" in given else None,
        query=text(given.get("query")) if block.get("name") == "WebSearch" else None,
        description=text(given.get("description"))
        if block.get("name") in LAUNCHING_TOOLS
        else None,
    )


def _system(record: dict[str, Any], line: int) -> Record:
    at = instant(record.get("timestamp"))
    if record.get("subtype") == "api_error":
        error = as_dict(record.get("error"))
        return ApiError(
            line,
            at,
            text(error.get("requestId")) or text(error.get("requestID")),
            whole(error.get("status")),
            whole(record.get("retryAttempt")),
        )
    if record.get("subtype") == "compact_boundary":
        meta = as_dict(record.get("compactMetadata"))
        kept = as_dict(meta.get("preservedMessages")).get("uuids")
        return Compaction(
            line,
            at,
            text(record.get("uuid")),
            trigger=text(meta.get("trigger")),
            pre_tokens=whole(meta.get("preTokens")),
            post_tokens=whole(meta.get("postTokens")),
            duration_ms=whole(meta.get("durationMs")),
            preserved=len(kept) if isinstance(kept, list) else None,
            logical_parent=text(record.get("logicalParentUuid")),
        )
    return None


def _user(record: dict[str, Any]) -> Record:
    content = message_of(record).get("content")
    blocks = [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
    results = [block for block in blocks if block.get("type") == "tool_result"]
    if found := _agent_result(record, results):
        return found
    if record.get("isSidechain") is True:
        return PromptLine(
            text(record.get("uuid")), text(record.get("parentUuid")), first_text(content)
        )
    return None


def _agent_result(record: dict[str, Any], results: list[dict[str, Any]]) -> AgentResult | None:
    """Return the agent that a line names: in the client's own format, else in a result's text."""
    detail = record.get("toolUseResult")
    if isinstance(detail, dict) and isinstance(detail.get("agentId"), str):
        tool_use_id = text(results[0].get("tool_use_id")) if results else None
        return AgentResult(tool_use_id, detail["agentId"])
    for result in results:
        if named := _AGENT_IN_TEXT.search("\n".join(_texts(result.get("content")))):
            return AgentResult(text(result.get("tool_use_id")), named[1], from_text=True)
    return None


def _texts(content: object) -> list[str]:
    listed = content if isinstance(content, list) else [content]
    found = [one.get("text") if isinstance(one, dict) else one for one in listed]
    return [one for one in found if isinstance(one, str)]


def first_text(content: object) -> str | None:
    """Return the text of a message's content: a string, or its first text block."""
    if isinstance(content, list):
        content = next(
            (b.get("text") for b in content if isinstance(b, dict) and b.get("type") == "text"),
            None,
        )
    return text(content)
