"""Read a session's transcript files: turns, agents, retries, compactions and the cost record.

Reads every line, parses only those needed for accounting, and keeps no text.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ccwire.wire.json_text import parse_json, text
from ccwire.wire.regular_file import read_regular
from correlate.transcript.agents import Agent, agents_of
from correlate.transcript.lines import BadLine, parse_line, telling_lines
from correlate.transcript.locate import AgentFile, SessionFiles
from correlate.transcript.records import (
    AgentResult,
    ApiError,
    ApiRequest,
    AssistantLine,
    Compaction,
    CompactSummary,
    CostState,
    PromptLine,
    ToolUseLine,
    typed,
)
from correlate.transcript.turns import ASKING_TYPES, Turn, TurnFolder

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The accounting data of a session's transcript; `records` counts lines by type."""

    files: SessionFiles
    turns: tuple[Turn, ...] = ()
    agents: Mapping[str, Agent] = field(default_factory=dict)
    api_errors: tuple[ApiError, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    cost_states: tuple[CostState, ...] = ()
    cost_state: CostState | None = None  # the last one of the newest file; they are cumulative
    api_requests: Mapping[str, ApiRequest] = field(default_factory=dict)
    records: Mapping[str, int] = field(default_factory=dict)
    bad_lines: tuple[BadLine, ...] = ()
    versions: tuple[str, ...] = ()
    tool_lines: tuple[ToolUseLine, ...] = ()
    cwd: str | None = None
    title: str | None = None
    branches: tuple[str, ...] = ()  # of git, in the order of their first turn
    slug: str | None = None  # the client's name for the session, also that of its plan


def read_transcript(files: SessionFiles, progress: Progress | None = None) -> Transcript:
    """Read all files of a session; `progress` is called with the number of bytes just read."""
    reader = _TranscriptReader(progress or (lambda _: None))
    for path in files.main:
        reader.read(path, None)
    for agent in files.agents:
        reader.read(agent.path, agent.agent_id)
    return reader.transcript(files)


_PROGRESS_BYTES = 8 << 20
_MESSAGES = ("user", "assistant", "tool_use", "tool_result")
_TITLES = ("custom-title", "ai-title", "summary")


class _TranscriptReader:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._folder = TurnFolder()
        self._errors: list[ApiError] = []
        self._compactions: list[Compaction] = []
        self._costs: list[CostState] = []
        self._requests: dict[str, ApiRequest] = {}
        self._results: list[AgentResult] = []
        self._tool_lines: list[ToolUseLine] = []
        self._branches: dict[str, None] = {}
        self._slug: str | None = None
        self._answered: dict[Path, float] = {}  # when the last answer in a file was written
        self._lost = 0  # messages counted as lost, or in earlier files
        self._records: Counter[str] = Counter()
        self._bad: list[BadLine] = []
        self._versions: dict[str, None] = {}
        self._cwd: str | None = None
        self._title: str | None = None
        self._roots: dict[str, str] = {}  # a sidechain's uuids -> the agent they belong to
        self._prompts: dict[str, str | None] = {}

    def read(self, path: Path, agent_id: str | None) -> None:
        """Read a file; if it is unreadable or disappears, record it as bad line 0."""
        try:
            self._read(path, agent_id)
        except OSError as error:
            self._bad.append(BadLine(path, 0, f"not readable ({error.strerror})"))

    def _read(self, path: Path, agent_id: str | None) -> None:
        done = 0
        self._lost = self._messages()
        for line in telling_lines(path, self._records, own_file=agent_id is not None):
            if line.offset - done > _PROGRESS_BYTES:
                self._progress(line.offset - done)
                done = line.offset
            record = parse_line(line.data)
            if isinstance(record, str):
                self._bad.append(BadLine(path, line.number, record))
            else:
                self._take(record, path, line.number, line.offset, agent_id)
        self._progress(path.stat().st_size - done)

    def transcript(self, files: SessionFiles) -> Transcript:
        turns = self._folder.turns()
        metas = {agent.agent_id: _meta(agent) for agent in files.agents}
        return Transcript(
            files=files,
            turns=turns,
            agents=agents_of(turns, self._results, metas, self._prompts, self._tool_lines),
            api_errors=tuple(self._errors),
            compactions=tuple(self._compactions),
            cost_states=tuple(self._costs),
            cost_state=self._last_cost(),
            api_requests=self._requests,
            records=dict(self._records),
            bad_lines=tuple(self._bad),
            versions=tuple(self._versions),
            tool_lines=tuple(self._tool_lines),
            cwd=self._cwd,
            title=self._title,
            branches=tuple(self._branches),
            slug=self._slug,
        )

    def _take(
        self, record: dict[str, Any], path: Path, line: int, offset: int, agent_id: str | None
    ) -> None:
        kind = text(record.get("type")) or "untyped"
        self._records[kind] += 1
        self._cwd = self._cwd or text(record.get("cwd"))
        self._slug = text(record.get("slug")) or self._slug
        if kind in _TITLES:
            self._title = _title(record) or self._title
        match typed(record, path, line, offset):
            case AssistantLine() as answer:
                self._assistant(answer, agent_id)
            case ApiError() as error:
                self._errors.append(error)
            case Compaction() as compaction:
                found = self._compacted(compaction, path, self._messages())
                self._compactions.append(found)
            case CompactSummary() as summary:
                self._summarized(summary, path)
            case CostState() as state:
                self._costs.append(state)
            case ApiRequest() as request:
                self._requests[request.id] = request
            case AgentResult() as result:
                self._results.append(result)
            case ToolUseLine() as call:
                by = call.agent_id or agent_id
                self._tool_lines.append(replace(call, agent_id=by))
            case PromptLine() as prompt if agent_id is None:
                self._sidechain(prompt.uuid, prompt.parent_uuid, prompt.text)

    def _last_cost(self) -> CostState | None:
        """Return the last cost record of the file with the last answer, among those with one."""

        def written(state: CostState) -> float:
            return self._answered.get(state.path, 0.0) if state.path else 0.0

        return max(reversed(self._costs), key=written, default=None)

    def _assistant(self, line: AssistantLine, agent_id: str | None) -> None:
        if line.timestamp is not None:
            self._answered[line.path] = max(line.timestamp, self._answered.get(line.path, 0.0))
        if line.version:
            self._versions.setdefault(line.version)
        if line.branch:
            self._branches.setdefault(line.branch)
        if agent_id is None and line.sidechain and line.agent_id is None:
            agent_id = self._sidechain(line.uuid, line.parent_uuid, None)
        if line.agent_id is None and agent_id is not None:
            line = replace(line, agent_id=agent_id)
        self._folder.add(line, asked=sum(self._records[kind] for kind in ASKING_TYPES))

    def _messages(self) -> int:
        return sum(self._records[kind] for kind in _MESSAGES)

    def _compacted(self, compaction: Compaction, path: Path, before: int) -> Compaction:
        """Return a compaction with what was lost of the messages `before` it."""
        kept = compaction.preserved or 0
        lost = max(0, before - self._lost - kept) if before > self._lost else None
        self._lost = before - kept
        return replace(compaction, path=path, lost_messages=lost)

    def _summarized(self, summary: CompactSummary, path: Path) -> None:
        own = [one for one in self._compactions if one.path == path]
        is_marked = any(one.line != one.summary_line for one in own)  # by a boundary
        if is_marked and own[-1].summary_offset is not None:
            return
        if is_marked:
            found = self._compactions.pop()
        else:
            alone = Compaction(summary.line, summary.timestamp, summary.uuid)
            found = self._compacted(alone, path, self._messages() - 1)
        self._compactions.append(
            replace(found, summary_line=summary.line, summary_offset=summary.offset)
        )

    def _sidechain(self, uuid: str | None, parent: str | None, prompt: str | None) -> str | None:
        """Return the agent of a chain of lines, named after its first: older clients name none."""
        agent = self._roots.get(parent) if parent else None
        if agent is None:
            if uuid is None:
                return None
            agent = f"sidechain-{uuid[:8]}"
            self._prompts.setdefault(agent, prompt)
        if uuid is not None:
            self._roots[uuid] = agent
        return agent


def _title(record: Mapping[str, Any]) -> str | None:
    names = ("customTitle", "aiTitle", "title", "summary")
    return next((found for name in names if (found := text(record.get(name)))), None)


def _meta(agent: AgentFile) -> Mapping[str, Any] | None:
    if agent.meta is None:
        return None
    try:
        meta = parse_json(read_regular(agent.meta))
    except (OSError, ValueError):
        return None  # missing or half written: the type comes from another source
    return meta if isinstance(meta, dict) else None
