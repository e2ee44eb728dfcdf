"""Group a transcript's assistant lines into turns, one per call to the model. Pure.

The rule: lines with the same message id and request id are one turn, wherever they are, and so is a
line that repeats the message id without a request id. Its usage is taken from a line with a stop
reason, else from the line with the most output. Consecutive lines without either id are one turn as
long as their four token counts are equal and neither a prompt nor a tool's result is between them.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ccwire.wire.usage import fingerprint, output_of
from correlate.transcript.records import AssistantLine, ContentBlock

ASKING_TYPES = ("user", "tool_result")  # of the lines that an answer follows
_MOST_BLOCKS = 1000  # of one answer


@dataclass(frozen=True, slots=True)
class TranscriptPlace:
    """The file, line and offset of a turn's line."""

    path: Path
    line: int
    offset: int

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer of the model as recorded in the transcript."""

    message_id: str | None
    request_id: str | None
    request_ref: str | None
    model: str | None
    usage: dict[str, Any] | None
    stop_reason: str | None  # of the line the usage is from; None: it may not be final
    started: float | None
    ended: float | None
    agent_id: str | None
    agent_type: str | None
    sidechain: bool
    synthetic: bool
    blocks: tuple[ContentBlock, ...]
    block_indexes: tuple[int, ...]  # numbered by the client, if it does
    places: tuple[TranscriptPlace, ...]
    session_id: str | None
    version: str | None
    cost_usd: float | None
    branch: str | None = None  # of git, where the turn began
    cwd: str | None = None

    @property
    def has_ids(self) -> bool:
        return self.message_id is not None or self.request_id is not None

    @property
    def missing_blocks(self) -> tuple[int, ...]:
        """The block indexes missing from the client's numbering."""
        if not self.block_indexes:
            return ()
        last = min(max(self.block_indexes), _MOST_BLOCKS)  # a false number must not be endless
        return tuple(i for i in range(last) if i not in self.block_indexes)


@dataclass(slots=True)
class _Lines:
    best: AssistantLine
    last_at: float | None
    request_ref: str | None = None
    agent_type: str | None = None
    cost_usd: float | None = None
    blocks: list[ContentBlock] = field(default_factory=list)
    indexes: list[int] = field(default_factory=list)
    places: list[TranscriptPlace] = field(default_factory=list)
    uuids: set[str] = field(default_factory=set)
    first: AssistantLine | None = None


class TurnFolder:
    """Collects assistant lines in file order; `turns()` returns the resulting turns."""

    def __init__(self) -> None:
        self._by_key: dict[tuple[Any, ...], _Lines] = {}
        self._with_request: dict[str | None, tuple[Any, ...]] = {}  # keys, by message id
        self._unnamed = 0
        self._previous: tuple[Any, ...] | None = None

    def add(self, line: AssistantLine, asked: int = 0) -> None:
        """Add a line; `asked` is the number of lines of `ASKING_TYPES` before it."""
        key = self._key(line, asked)
        found = self._by_key.get(key)
        if found is None:
            found = self._by_key[key] = _Lines(line, line.timestamp, first=line)
        elif _tells_more(line, found.best):
            found.best = line  # a copy of a line too: it may have more usage than the first one
        if line.uuid is None or line.uuid not in found.uuids:
            _take(found, line)

    def turns(self) -> tuple[Turn, ...]:
        return tuple(_turn(lines) for lines in self._by_key.values())

    def _key(self, line: AssistantLine, asked: int) -> tuple[Any, ...]:
        if line.message_id is not None or line.request_id is not None:
            self._previous = None
            if line.request_id is None and line.message_id in self._with_request:
                return self._with_request[line.message_id]
            key = ("ids", line.message_id, line.request_id)
            if line.message_id is not None and line.request_id is not None:
                self._with_request.setdefault(line.message_id, key)
            return key
        same = (line.model, line.agent_id, fingerprint(line.usage), asked)
        if same != self._previous:
            self._unnamed += 1
            self._previous = same
        return ("none", self._unnamed, *same)


def _tells_more(line: AssistantLine, best: AssistantLine) -> bool:
    return _finality(line) >= _finality(best)


def _finality(line: AssistantLine) -> tuple[bool, int]:
    return (line.stop_reason is not None, output_of(line.usage) or 0)


def _take(lines: _Lines, line: AssistantLine) -> None:
    if line.uuid is not None:
        lines.uuids.add(line.uuid)
    is_again = line.request_id is None and list(line.blocks) == lines.blocks  # by 1.0.30
    if not is_again:
        lines.blocks.extend(line.blocks)
    if line.block_index is not None:
        lines.indexes.append(line.block_index)
    lines.places.append(TranscriptPlace(line.path, line.line, line.offset))
    lines.last_at = line.timestamp if line.timestamp is not None else lines.last_at
    lines.request_ref = lines.request_ref or line.request_ref
    lines.agent_type = lines.agent_type or line.agent_type
    lines.cost_usd = lines.cost_usd if line.cost_usd is None else line.cost_usd


def _turn(lines: _Lines) -> Turn:
    first, best = lines.first or lines.best, lines.best
    return Turn(
        message_id=first.message_id,
        request_id=first.request_id,
        request_ref=lines.request_ref,
        model=best.model,
        usage=best.usage,
        stop_reason=best.stop_reason,
        started=first.timestamp,
        ended=lines.last_at,
        agent_id=first.agent_id,
        agent_type=lines.agent_type,
        sidechain=first.sidechain,
        synthetic=best.synthetic,
        blocks=tuple(lines.blocks),
        block_indexes=tuple(lines.indexes),
        places=tuple(lines.places),
        session_id=first.session_id,
        version=first.version,
        cost_usd=lines.cost_usd,
        branch=first.branch,
        cwd=first.cwd,
    )
