"""Read the turns of one transcript file for spending: ids, counts and names, no text.

A file that has grown is read from the end of the last line that was parsed; the record is that of
reading it whole. What is kept of a file is without dollars: prices change, usage does not.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from ccwire.wire.counting import is_count
from ccwire.wire.format import SYNTHETIC_MODEL
from ccwire.wire.json_text import as_dict, dicts, parse_json, text
from ccwire.wire.regular_file import open_regular, read_regular
from ccwire.wire.usage import Tokens, output_of
from correlate.transcript.lines import parse_line, telling_lines
from correlate.transcript.records import AgentResult, AssistantLine, CostState, typed
from correlate.transcript.turns import ASKING_TYPES, Turn, TurnFolder

TRANSCRIPT_FOLDERS = ("projects", "sessions")
_PROBE = 256  # bytes at the start of a file, and before the offset, by which it is recognised
_LONGEST_NAME = 300
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)
_INNER_COUNTS = {
    "cache_creation": ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"),
    "server_tool_use": ("web_search_requests",),
}
_LEVELS = ("speed", "inference_geo")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTurn:
    """A turn of one file, as far as spending needs it."""

    message_id: str | None
    request_id: str | None
    at: float | None
    session_id: str | None
    model: str | None
    version: str | None
    cwd: str | None
    branch: str | None
    agent_id: str | None
    agent_type: str | None
    sidechain: bool
    usage: dict[str, Any] | None
    stop_reason: str | None


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What is known of a file: its identity, how far it was read, and what was found."""

    identity: tuple[int, int, int, int, int]  # device, inode, size, mtime and ctime in ns
    offset: int
    probe: str
    turns: tuple[FileTurn, ...] = ()
    launches: Mapping[str, str] = field(default_factory=dict)  # tool use id -> agent type
    results: Mapping[str, str] = field(default_factory=dict)  # agent id -> tool use id
    cost_usd: float | None = None
    lines: Mapping[tuple[str, str], Tokens] = field(default_factory=dict)  # by UTC day and model
    unfinished: tuple[FileTurn, ...] = ()  # of a last line without a line feed: read again
    damaged: int = 0  # lines that are no records

    @property
    def modified(self) -> int:
        return self.identity[3]


def transcript_paths(claude_dir: Path, unreadable: list[str] | None = None) -> list[str]:
    """Return all transcript files, those of subagents included, in any folder layout.

    Folders that may not be read are added to `unreadable`.
    """
    return sorted(
        f"{place}{os.sep}{name}"
        for place, _, names in transcript_folders(claude_dir, unreadable)
        for name in names
        if name.endswith(".jsonl")
    )


def transcript_folders(
    claude_dir: Path, unreadable: list[str] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each folder that may have transcripts, with its folders and files.

    A project's folder may be a link, as `correlate.transcript.locate` has it; of several to the
    same folder, one is followed.
    """

    def note(error: OSError) -> None:
        if unreadable is not None and not isinstance(error, FileNotFoundError):
            unreadable.append(str(error.filename))

    seen: set[str] = set()
    for top in (str(claude_dir / name) for name in TRANSCRIPT_FOLDERS):
        links: list[str] = []
        for place, folders, names in os.walk(top, onerror=note):
            yield place, folders, names
            if place == top:
                projects = [f"{top}{os.sep}{name}" for name in folders]
                links = [path for path in projects if os.path.islink(path)]  # noqa: PTH114
                if links:
                    seen.update(os.path.realpath(p) for p in projects if p not in links)
        for link in sorted(links):
            if (real := os.path.realpath(link)) not in seen:
                seen.add(real)
                yield from os.walk(link, onerror=note)


def read_file(path: str, known: FileRecord | None) -> FileRecord | None:
    """Return the record of a file, read anew, further or not at all; None if it is unreadable."""
    try:
        status = os.stat(path)  # noqa: PTH116
        file = (status.st_dev, status.st_ino)
        identity = (*file, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if known is not None and known.identity == identity:
            return known
        if known is not None and not _continues(path, known, identity):
            known = None
        return _read(Path(path), known, identity)
    except OSError:
        return None


def meta_agent_type(path: str) -> tuple[str | None, str | None]:
    """Return the type and the tool use id in the meta.json next to an agent's file."""
    try:
        meta = as_dict(parse_json(read_regular(Path(path).with_suffix(".meta.json"))))
    except (OSError, ValueError):
        return None, None
    return text(meta.get("agentType")), text(meta.get("toolUseId"))


def agent_of_path(path: str) -> str | None:
    """Return the agent whose own file this is."""
    name = os.path.basename(path)  # noqa: PTH119
    return name[6:-6] if name.startswith("agent-") else None


def _continues(path: str, known: FileRecord, identity: tuple[int, ...]) -> bool:
    """Whether the file has only grown: same file, longer, same bytes where they are checked."""
    is_longer = known.identity[:2] == identity[:2] and identity[2] > known.identity[2]
    return is_longer and _probe(Path(path), known.offset) == known.probe


def _probe(path: Path, offset: int) -> str:
    with open_regular(path) as file:
        first = file.read(min(_PROBE, offset))
        file.seek(max(0, offset - _PROBE))
        last = file.read(min(_PROBE, offset))
    return hashlib.blake2b(first + b"\0" + last, digest_size=12).hexdigest()


def _read(
    path: Path, known: FileRecord | None, identity: tuple[int, int, int, int, int]
) -> FileRecord:
    agent_id = agent_of_path(str(path))
    in_statistics = "subagents" in path.parts  # else, the client's leave out sidechains
    folder, rest = TurnFolder(), TurnFolder()
    launches = dict(known.launches) if known else {}
    results = dict(known.results) if known else {}
    lines = dict(known.lines) if known else {}
    cost = known.cost_usd if known else None
    damaged = known.damaged if known else 0
    offset = start = known.offset if known else 0
    silent: Counter[str] = Counter()
    told = 0  # prompts and results that were parsed
    for line in telling_lines(path, silent, own_file=agent_id is not None, start_at=start):
        is_whole = line.data.endswith(b"\n")
        record = parse_line(line.data)
        if is_whole:
            offset = line.offset + len(line.data)
        if isinstance(record, str):
            damaged += is_whole and record != "blank"
            continue
        told += record.get("type") in ASKING_TYPES
        match typed(record, path, line.number, line.offset):
            case AssistantLine() as answer:
                if is_whole and (in_statistics or not answer.sidechain):
                    _count_line(lines, answer)
                found = replace(answer, agent_id=answer.agent_id or agent_id)
                asked = told + sum(silent[kind] for kind in ASKING_TYPES)
                (folder if is_whole else rest).add(found, asked)
                for block in found.blocks:
                    if block.subagent_type and block.tool_use_id:
                        launches[block.tool_use_id[:_LONGEST_NAME]] = block.subagent_type[:80]
            case AgentResult() as result if result.tool_use_id:
                results[result.agent_id[:_LONGEST_NAME]] = result.tool_use_id[:_LONGEST_NAME]
            case CostState() as state:
                cost = state.total_usd
    session = None if agent_id else path.stem
    turns = _file_turns(folder, session)
    if known is not None:
        joined = _joined(known.turns, turns)
        if joined is None:
            return _read(path, None, identity)
        turns = joined
    unfinished = _file_turns(rest, session)
    probe = _probe(path, offset)
    return FileRecord(
        identity, offset, probe, turns, launches, results, cost, lines, unfinished, damaged
    )


def _count_line(lines: dict[tuple[str, str], Tokens], line: AssistantLine) -> None:
    """Add the usage of a line, as the client's statistics do: each line is counted."""
    if line.usage is None or line.timestamp is None or line.model == SYNTHETIC_MODEL:
        return
    place = (utc_day(line.timestamp), _name(line.model) or "")
    lines[place] = lines.get(place, Tokens()) + Tokens.of_top_level(line.usage)


def utc_day(at: float) -> str:
    return _day(int(at // 86_400))


@lru_cache(maxsize=4096)
def _day(number: int) -> str:
    return f"{datetime.fromtimestamp(number * 86_400, UTC):%Y-%m-%d}"


def _joined(before: tuple[FileTurn, ...], new: tuple[FileTurn, ...]) -> tuple[FileTurn, ...] | None:
    """Return the turns of a file whose lines were read in two parts.

    None if it takes the lines to group them as `TurnFolder` does: lines without ids, and a message
    with several request ids.
    """
    places = {_ids(turn): place for place, turn in enumerate(before)}
    several = Counter(message for message, _ in {*places, *map(_ids, new)})
    turns = list(before)
    for turn in new:
        ids = _ids(turn)
        if several[turn.message_id] > 1 or (ids == (None, None) and ids in places):
            return None
        if ids in places:
            turns[places[ids]] = _with_later(turns[places[ids]], turn)
        else:
            turns.append(turn)
    return tuple(turns)


def _ids(turn: FileTurn) -> tuple[str | None, str | None]:
    return turn.message_id, turn.request_id


def _with_later(turn: FileTurn, later: FileTurn) -> FileTurn:
    kind = turn.agent_type or later.agent_type
    if rank(later) < rank(turn):
        return replace(turn, agent_type=kind)
    return replace(
        turn,
        agent_type=kind,
        model=later.model,
        usage=later.usage,
        stop_reason=later.stop_reason,
    )


def rank(turn: FileTurn) -> tuple[bool, int]:
    """Return how final the usage of a turn is, to compare with that of its copies."""
    return turn.stop_reason is not None, output_of(turn.usage) or 0


def _file_turns(folder: TurnFolder, session: str | None) -> tuple[FileTurn, ...]:
    return tuple(_file_turn(turn, session) for turn in folder.turns() if not turn.synthetic)


def _file_turn(turn: Turn, session: str | None) -> FileTurn:
    return FileTurn(
        message_id=_name(turn.message_id),
        request_id=_name(turn.request_id),
        at=turn.started,
        session_id=session or _name(turn.session_id),
        model=_name(turn.model),
        version=_name(turn.version),
        cwd=turn.cwd[:4096] if turn.cwd else None,
        branch=_name(turn.branch),
        agent_id=_name(turn.agent_id),
        agent_type=_name(turn.agent_type),
        sidechain=turn.sidechain,
        usage=None if turn.usage is None else kept_usage(turn.usage),
        stop_reason=_name(turn.stop_reason),
    )


def kept_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that counting and pricing need."""
    kept = _counts(usage)
    for name in _LEVELS:
        if isinstance(value := usage.get(name), str) and value:
            kept[name] = value[:40]
    iterations = [
        {
            **_counts(one),
            **{
                name: one[name][:_LONGEST_NAME] for name in ("type", "model") if text(one.get(name))
            },
        }
        for one in dicts(usage.get("iterations"))
    ]
    return {**kept, "iterations": iterations} if iterations else kept


def _counts(usage: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {n: usage[n] for n in _COUNTS if is_count(usage.get(n))}
    for outer, names in _INNER_COUNTS.items():
        inner = as_dict(usage.get(outer))
        if found := {n: inner[n] for n in names if is_count(inner.get(n)) and inner[n]}:
            kept[outer] = found
    return kept


def _name(value: object) -> str | None:
    found = text(value)
    return found[:_LONGEST_NAME] if found else None
