"""The subagents of a session: type and parent, from tool call, meta.json or transcript. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ccwire.wire.json_text import text
from correlate.transcript.records import LAUNCHING_TOOLS, AgentResult, ToolUseLine
from correlate.transcript.turns import Turn

AgentTypeSource = Literal["tool call", "meta.json", "transcript"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A subagent. `parent` is None if the main thread launched it."""

    agent_id: str
    type: str | None = None
    type_from: AgentTypeSource | None = None
    parent: str | None = None
    tool_use_id: str | None = None
    description: str | None = None  # its task, in a few words


@dataclass(frozen=True, slots=True)
class Launch:
    """A tool call that launched a subagent."""

    tool_use_id: str | None
    subagent_type: str | None
    prompt: str | None
    by: str | None  # the agent that made the call
    description: str | None = None


def agents_of(
    turns: Iterable[Turn],
    results: Iterable[AgentResult],
    metas: Mapping[str, Mapping[str, Any] | None],
    opening_prompts: Mapping[str, str | None],
    tool_lines: Iterable[ToolUseLine] = (),
) -> dict[str, Agent]:
    """Return a session's agents by id.

    `metas` maps agent ids to their meta.json, `opening_prompts` to their first prompt,
    `tool_lines` are tool calls outside of turns.
    """
    turns = list(turns)
    launches = list(_launches(turns, tool_lines))
    by_tool = {launch.tool_use_id: launch for launch in launches if launch.tool_use_id}
    by_prompt = {launch.prompt: launch for launch in launches if launch.prompt}
    tool_of = {
        result.agent_id: result.tool_use_id
        for result in sorted(results, key=lambda result: not result.from_text)
        if not result.from_text or result.tool_use_id in by_tool
    }
    by_turn = {turn.agent_id: turn.agent_type for turn in turns if turn.agent_type}
    ids = dict.fromkeys([*metas, *opening_prompts, *(t.agent_id for t in turns if t.agent_id)])
    found = {}
    for agent_id in ids:
        meta = metas.get(agent_id) or {}
        tool_use_id = text(meta.get("toolUseId")) or tool_of.get(agent_id)
        prompt = opening_prompts.get(agent_id)
        launch = by_tool.get(tool_use_id) if tool_use_id else None
        if launch is None and prompt:
            launch = by_prompt.get(prompt)
        kind, source = _first(
            (launch.subagent_type if launch else None, "tool call"),
            (text(meta.get("agentType")), "meta.json"),
            (by_turn.get(agent_id), "transcript"),
        )
        found[agent_id] = Agent(
            agent_id=agent_id,
            type=kind,
            type_from=source,
            parent=launch.by if launch else None,
            tool_use_id=tool_use_id or (launch.tool_use_id if launch else None),
            description=(launch.description if launch else None) or text(meta.get("description")),
        )
    return found


def _launches(turns: Iterable[Turn], tool_lines: Iterable[ToolUseLine]) -> Iterable[Launch]:
    blocks = [(block, turn.agent_id) for turn in turns for block in turn.blocks]
    for block, by in [*blocks, *((line.block, line.agent_id) for line in tool_lines)]:
        if block.tool in LAUNCHING_TOOLS:
            yield Launch(
                block.tool_use_id, block.subagent_type, block.prompt, by, block.description
            )


def _first(
    *candidates: tuple[str | None, AgentTypeSource],
) -> tuple[str | None, AgentTypeSource | None]:
    return next(((kind, source) for kind, source in candidates if kind), (None, None))
