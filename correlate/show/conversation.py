"""A session as a conversation: prompts, answers, tool calls with results, subagents, branches.

Pure. The result is a flat list in the order of reading: each item with its depth (a subagent is
one deeper than the tool call that launched it) and the abandoned branch that it belongs to. What
accounting needs is in `correlate.transcript.reader`; this keeps texts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ccwire.wire.format import SYNTHETIC_MODEL
from ccwire.wire.json_text import as_dict, parse_object, text, whole
from correlate.report.blocks import content_text, readable
from correlate.show.attachments import said_by_client
from correlate.transcript.branches import RESULT_TYPES, branch_of, is_prompt, speaks, threads_of
from correlate.transcript.conversation import Entry
from correlate.transcript.records import Compaction, compaction_facts, typed
from correlate.transcript.titles import CLIENT_TAG

ItemKind = Literal[
    "prompt", "note", "answer", "thinking", "tool", "block", "compaction", "summary", "api-error",
    "agent", "branch", "live",
]  # fmt: skip
_STATUS_AND_JSON = re.compile(r"\d{3} (\{.*\})\s*$", re.DOTALL)
_INTERRUPTED = "[Request interrupted"
_NOTIFICATION = "<task-notification>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that was said or done. Only a tool call has a `result`, None without one."""

    kind: ItemKind
    text: str
    at: float | None = None
    title: str | None = None  # of a tool call the tool, of an agent its type
    tool_use_id: str | None = None
    result: str | None = None
    is_error: bool = False
    synthetic: bool = False  # written by the client, not by the model
    message_id: str | None = None
    call: int | None = None  # the captured exchange of an answer
    agent_id: str | None = None
    depth: int = 0
    branch: int | None = None  # an abandoned branch, counted from 1; None is the live one
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the fields that have a value."""
        names = (
            "kind", "at", "depth", "agent_id", "branch", "title", "text", "tool_use_id", "result",
            "is_error", "synthetic", "message_id", "call",
        )  # fmt: skip
        found = {name: getattr(self, name) for name in names}
        kept = {n: v for n, v in found.items() if v not in (None, False) or n == "text"}
        return {**kept, **self.facts}


@dataclass(frozen=True, slots=True)
class AgentLink:
    """What is known of a subagent besides its lines."""

    type: str | None = None
    tool_use_id: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class _Known:
    """What a line's items need from elsewhere: results by tool use id, exchanges, compactions."""

    results: Mapping[str, tuple[str, bool]]
    calls: Mapping[str, int]
    compactions: Mapping[tuple[Path | None, int], Compaction]


def conversation_items(
    entries: Sequence[Entry],
    agents: Mapping[str, AgentLink],
    calls: Mapping[str, int],
    compactions: Sequence[Compaction] = (),
) -> list[Item]:
    """Return the conversation; `calls` are the numbers of exchanges by message and request id."""
    threads = threads_of(entries)
    known = _Known(_results(entries), calls, {(one.path, one.line): one for one in compactions})
    items = {name: _thread_items(lines, known) for name, lines in threads.items()}
    return list(_nested(items, _launched(items, agents), agents))


def prompt_text(entry: Entry) -> str | None:
    """Return what a user line says to the model; None if it is a tool's result or no user line."""
    return "\n".join(readable(block).text for block in entry.blocks) if speaks(entry) else None


def is_note(entry: Entry, said: str) -> bool:
    """Whether the client wrote a user line by itself: a command, a reminder, a notification."""
    plain = said.lstrip()
    return (
        entry.record.get("isMeta") is True
        or is_notification(entry, said)
        or plain.startswith(_INTERRUPTED)
        or CLIENT_TAG.match(plain) is not None
    )


def is_notification(entry: Entry, said: str) -> bool:
    """Whether a user line reports that a background task has ended: the model answers it."""
    origin = as_dict(entry.record.get("origin"))
    return origin.get("kind") == "task-notification" or said.lstrip().startswith(_NOTIFICATION)


def is_interruption(said: str) -> bool:
    return said.lstrip().startswith(_INTERRUPTED)


def message_of(entry: Entry) -> dict[str, Any]:
    return as_dict(entry.record.get("message"))


def is_synthetic(entry: Entry) -> bool:
    """Whether the client wrote an assistant line by itself, mostly about an error."""
    is_error = entry.record.get("isApiErrorMessage") is True
    return is_error or message_of(entry).get("model") == SYNTHETIC_MODEL


def _results(entries: Sequence[Entry]) -> dict[str, tuple[str, bool]]:
    found: dict[str, tuple[str, bool]] = {}
    for entry in entries:
        for block in entry.blocks:
            name = block.get("tool_use_id")
            if block.get("type") in RESULT_TYPES and isinstance(name, str):
                found[name] = (content_text(block.get("content")), block.get("is_error") is True)
    return found


def _thread_items(lines: Sequence[Entry], known: _Known) -> list[Item]:
    """Return a thread's items; an abandoned branch is before the prompt that replaced it."""
    branches, leaves = branch_of(lines, is_prompt)
    numbers = {start: number for number, start in enumerate(leaves, 1)}
    apart: dict[int, list[Item]] = {}
    live: list[tuple[int, list[Item]]] = []
    for place, entry in enumerate(lines):
        made = list(_entry_items(entry, known))
        branch = branches[place]
        if branch is None:
            live.append((place, made))
        else:
            apart.setdefault(branch, []).extend(
                replace(item, branch=numbers[branch]) for item in made
            )
    waiting: dict[int, list[int]] = {}
    for start, leaves_at in leaves.items():
        waiting.setdefault(-1 if leaves_at is None else leaves_at, []).append(start)
    found: list[Item] = []
    due: list[int] = waiting.pop(-1, [])
    for place, made in live:
        if due and is_prompt(lines[place]):
            for start in due:
                found += _apart(numbers[start], apart[start])
            found.append(Item(kind="live", text="the conversation goes on here"))
            due = []
        found += made
        due += waiting.pop(place, [])
    left = [*due, *(start for starts in waiting.values() for start in starts)]
    ends = [item for start in left for item in _apart(numbers[start], apart[start])]
    return [*ends, *found] if left and not found else [*found, *ends]


def _apart(number: int, items: list[Item]) -> list[Item]:
    mark = f"branch {number}, abandoned by a rewind"
    return [Item(kind="branch", text=mark, branch=number), *items]


def _entry_items(entry: Entry, known: _Known) -> Iterator[Item]:
    at = entry.timestamp
    if entry.type in ("assistant", "tool_use"):
        yield from _answer_items(entry, known)
    elif entry.type == "user":
        said = prompt_text(entry)
        if said is not None:
            yield Item(kind="note" if is_note(entry, said) else "prompt", text=said, at=at)
        elif entry.record.get("isCompactSummary") is True:
            yield Item(kind="summary", text=content_text(message_of(entry).get("content")), at=at)
        elif beside := [one for one in entry.blocks if one.get("type") not in RESULT_TYPES]:
            yield Item(kind="note", text=content_text(beside), at=at)  # in a line with results
    elif entry.type == "system" and entry.subtype == "compact_boundary":
        yield _compaction(entry, known.compactions.get((entry.path, entry.line)))
    elif entry.type == "system" and entry.subtype == "api_error":
        yield _api_error(entry)
    elif (client := said_by_client(entry)) is not None:
        yield Item(kind=client.kind, text=client.text, title=client.title, at=at)


def _answer_items(entry: Entry, known: _Known) -> Iterator[Item]:
    results, calls = known.results, known.calls
    message_id = text(message_of(entry).get("id"))
    common = Item(
        kind="answer",
        text="",
        at=entry.timestamp,
        synthetic=is_synthetic(entry),
        is_error=entry.record.get("isApiErrorMessage") is True,
        message_id=message_id,
        call=calls.get(message_id or "") or calls.get(text(entry.record.get("requestId")) or ""),
    )
    for block in entry.blocks:
        kind, shown = block.get("type"), readable(block)
        if kind in RESULT_TYPES and text(block.get("tool_use_id")) in results:
            continue
        if kind == "text":
            yield replace(common, text=shown.text)
        elif kind == "thinking":
            yield replace(common, kind="thinking", text=shown.text)
        elif kind in ("tool_use", "server_tool_use"):
            tool_use_id = text(block.get("id"))
            result, failed = results.get(tool_use_id or "", (None, False))
            yield replace(
                common,
                kind="tool",
                title=text(block.get("name")) or "unnamed",
                text=shown.text,
                tool_use_id=tool_use_id,
                result=result,
                is_error=failed,
                facts={"prompt": text(as_dict(block.get("input")).get("prompt"))},
            )
        else:
            yield replace(common, kind="block", title=shown.title, text=shown.text)


def _compaction(entry: Entry, found: Compaction | None) -> Item:
    read = found or typed(dict(entry.record), entry.path, entry.line, 0)
    numbers = compaction_facts(read) if isinstance(read, Compaction) else {}
    facts = {name: value for name, value in numbers.items() if value is not None}
    return Item(kind="compaction", text="compacted", at=entry.timestamp, facts=facts)


def _api_error(entry: Entry) -> Item:
    error = as_dict(entry.record.get("error"))
    facts = {
        "status": whole(error.get("status")),
        "retry_attempt": whole(entry.record.get("retryAttempt")),
    }
    body = as_dict(as_dict(error.get("error")).get("error"))
    said = text(body.get("message")) or _without_json(text(error.get("message")) or "")
    said = said or "the call failed"
    return Item(kind="api-error", text=said, at=entry.timestamp, is_error=True, facts=facts)


def _without_json(message: str) -> str:
    """Return the API's message where newer clients write `529 {"type":"error",…}`."""
    found = _STATUS_AND_JSON.match(message)
    try:
        body = parse_object(found[1]) if found else {}
    except ValueError:
        return message
    return text(as_dict(body.get("error")).get("message")) or message


def _launched(
    threads: Mapping[str | None, Sequence[Item]], agents: Mapping[str, AgentLink]
) -> dict[str, list[str]]:
    """Return the agents by the tool call that launched them: by its id, else by the prompt."""
    by_prompt: dict[str, str] = {}
    tools: set[str] = set()
    for items in threads.values():
        for item in items:
            if item.kind == "tool" and item.tool_use_id:
                tools.add(item.tool_use_id)
                if prompt := item.facts.get("prompt"):
                    by_prompt.setdefault(prompt, item.tool_use_id)
    found: dict[str, list[str]] = {}
    for agent_id, items in threads.items():
        if agent_id is None:
            continue
        tool = agents.get(agent_id, AgentLink()).tool_use_id
        if tool not in tools:
            first = next((item.text for item in items if item.kind == "prompt"), None)
            tool = by_prompt.get(first) if first else None
        if tool is not None:
            found.setdefault(tool, []).append(agent_id)
    return found


def _nested(
    threads: Mapping[str | None, Sequence[Item]],
    launched: Mapping[str, Sequence[str]],
    agents: Mapping[str, AgentLink],
) -> Iterator[Item]:
    """Yield all items, each agent below the tool call that launched it, the others at the end."""
    shown: set[str | None] = set()
    below = {agent_id for own in launched.values() for agent_id in own}
    alone = [name for name in threads if name is not None and name not in below]
    # Agents that launch each other, in a made-up transcript, are below none of the others.
    for name in (None, *alone, *threads):
        if name in shown:
            continue
        shown.add(name)
        stack = [_Level(name, 0 if name is None else 1, None, iter(_opened(name, threads, agents)))]
        while stack:
            level = stack[-1]
            item = next(level.items, None)
            if item is None:
                stack.pop()
                continue
            branch = level.branch or item.branch
            facts = {key: value for key, value in item.facts.items() if key != "prompt"}
            yield replace(
                item, agent_id=level.agent_id, depth=level.depth, branch=branch, facts=facts
            )
            own = launched.get(item.tool_use_id or "", ()) if item.kind == "tool" else ()
            for other in reversed([one for one in own if one not in shown]):
                shown.add(other)
                opened = iter(_opened(other, threads, agents))
                stack.append(_Level(other, level.depth + 1, branch, opened))


@dataclass(frozen=True, slots=True)
class _Level:
    agent_id: str | None
    depth: int
    branch: int | None
    items: Iterator[Item]


def _opened(
    name: str | None,
    threads: Mapping[str | None, Sequence[Item]],
    agents: Mapping[str, AgentLink],
) -> Iterator[Item]:
    """Yield the items of a thread, of an agent after one that names it."""
    if name is not None:
        link = agents.get(name, AgentLink())
        yield Item(kind="agent", title=link.type, text=link.description or "")
    yield from threads[name]
