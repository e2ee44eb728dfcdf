"""A session's transcript with its content: every record, the tree, tool calls and results.

Accounting does not need content: `reader` parses a fraction of this.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccwire.wire.json_text import text
from ccwire.wire.times import instant
from correlate.transcript.lines import BadLine, parse_line, read_lines
from correlate.transcript.locate import SessionFiles
from correlate.transcript.records import message_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A record of any type. `record` is the whole record; the other fields are common to most."""

    path: Path
    line: int
    type: str
    subtype: str | None
    uuid: str | None
    parent_uuid: str | None
    timestamp: float | None
    prompt_id: str | None
    agent_id: str | None
    sidechain: bool
    record: Mapping[str, Any]

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The message's content blocks; a string is one text block.

        A tool call or result with a line of its own, as other tools write it, is one block.
        """
        if self.type in ("tool_use", "tool_result"):
            return [dict(self.record)]
        content = message_of(self.record).get("content")
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        listed = content if isinstance(content, list) else []
        return [block for block in listed if isinstance(block, dict)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call and its result; `result` is None if there is none (yet)."""

    tool_use_id: str
    name: str | None
    input: Any
    agent_id: str | None
    result: Mapping[str, Any] | None
    detail: Any  # toolUseResult: the result in the client's own format

    @property
    def is_error(self) -> bool:
        return self.result is not None and self.result.get("is_error") is True


@dataclass(frozen=True, slots=True)
class Conversation:
    """All records of a session and its agents, ordered by time."""

    entries: tuple[Entry, ...]
    bad_lines: tuple[BadLine, ...]

    def children(self) -> dict[str | None, list[Entry]]:
        """Return the tree: records by the uuid of their parent, roots under None."""
        found: dict[str | None, list[Entry]] = {}
        for entry in self.entries:
            if entry.uuid is not None:
                found.setdefault(entry.parent_uuid, []).append(entry)
        return found

    def prompts(self) -> dict[str, list[Entry]]:
        """Return the records by prompt id, where the client recorded one."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            if entry.prompt_id is not None:
                found.setdefault(entry.prompt_id, []).append(entry)
        return found

    def tool_calls(self) -> list[ToolCall]:
        results = dict(self._results())
        return [
            ToolCall(
                tool_use_id=block["id"],
                name=text(block.get("name")),
                input=block.get("input"),
                agent_id=entry.agent_id,
                result=results[block["id"]][0] if block["id"] in results else None,
                detail=results[block["id"]][1] if block["id"] in results else None,
            )
            for entry in self.entries
            if entry.type in ("assistant", "tool_use")
            for block in entry.blocks
            if block.get("type") == "tool_use" and isinstance(block.get("id"), str)
        ]

    def final_text(self) -> str | None:
        """Return the last text of the main thread, if its last answer ends with one.

        `ccwire show --answer` also knows prompts, branches and answers not written yet.
        """
        answers = [e for e in self.entries if e.type == "assistant" and not e.sidechain]
        last = answers[-1].blocks[-1:] if answers else []
        return text(last[0].get("text")) if last else None

    def _results(self) -> Iterator[tuple[str, tuple[Mapping[str, Any], Any]]]:
        for entry in self.entries:
            if entry.type not in ("user", "tool_result"):
                continue
            for block in entry.blocks:
                if block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str):
                    yield block["tool_use_id"], (block, entry.record.get("toolUseResult"))


def read_conversation(files: SessionFiles) -> Conversation:
    entries: list[Entry] = []
    bad: list[BadLine] = []
    named: list[tuple[Path, str | None]] = [(path, None) for path in files.main]
    named += [(agent.path, agent.agent_id) for agent in files.agents]
    for path, agent_id in named:
        for line in read_lines(path):
            record = parse_line(line.data)
            if isinstance(record, str):
                bad.append(BadLine(path, line.number, record))
            else:
                entries.append(_entry(record, path, line.number, agent_id))
    return Conversation(tuple(_by_time(entries)), tuple(bad))


def _entry(record: dict[str, Any], path: Path, line: int, agent_id: str | None) -> Entry:
    return Entry(
        path=path,
        line=line,
        type=text(record.get("type")) or "untyped",
        subtype=text(record.get("subtype")),
        uuid=text(record.get("uuid")),
        parent_uuid=text(record.get("parentUuid")),
        timestamp=instant(record.get("timestamp")),
        prompt_id=text(record.get("promptId")),
        agent_id=text(record.get("agentId")) or agent_id,
        sidechain=record.get("isSidechain") is True,
        record=record,
    )


type _Order = tuple[float, int]  # a time, and how many records before it have the same


def _by_time(entries: list[Entry]) -> list[Entry]:
    """Sort by time, but no record before its parent.

    A client dates some records before the ones that they follow, as 2.1.325 does a command that it
    runs itself; and some it writes before those, as 2.1.39 does at the start of a session. So
    neither the time nor the place in the file is an order. A record without a time stays after its
    predecessor.
    """
    places = {(entry.path, entry.uuid): n for n, entry in reversed(list(enumerate(entries)))}
    parents = [
        places.get((entry.path, entry.parent_uuid)) if entry.parent_uuid else None
        for entry in entries
    ]
    found: list[_Order | None] = [None] * len(entries)
    for start in range(len(entries)):
        path: list[int] = []
        seen: set[int] = set()
        place: int | None = start
        while place is not None and found[place] is None and place not in seen:
            seen.add(place)  # in a cycle, the walk ends here
            path.append(place)
            place = parents[place]
        above = found[place] if place is not None else None
        for each in reversed(path):
            above = found[each] = _order(each, entries, found, above)
    ordered = sorted(range(len(entries)), key=lambda n: (found[n] or (0.0, 0), n))
    return [entries[n] for n in ordered]


def _order(
    place: int, entries: list[Entry], found: list[_Order | None], above: _Order | None
) -> _Order:
    at = entries[place].timestamp
    if at is None:
        before = place - 1 if place and entries[place - 1].path == entries[place].path else None
        least = (before is not None and found[before]) or (0.0, 0)
    else:
        least = (at, 0)
    return least if above is None else max(least, (above[0], above[1] + 1))
