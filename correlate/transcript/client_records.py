"""Read the client's files next to its transcripts: statistics, typed prompts, todos and plans.

`stats-cache.json` contains the client's totals over all sessions up to a UTC day: a cross-check,
not a source. The client sums the usage of every assistant line: an answer counts once per content
block, and again in a fork; calls without a line do not count; sessions deleted since still do.
`history.jsonl` contains every typed prompt with its project and, in newer clients, its session.
`todos/` has a list per session and agent, `tasks/` (from about 2.1.39 on) a folder per session with
a file per item, `plans/` a text per slug of a session.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ccwire.wire.format import is_session_id
from ccwire.wire.json_text import as_dict, number, parse_json, text, whole
from ccwire.wire.models import base_model
from ccwire.wire.regular_file import read_regular
from ccwire.wire.usage import Tokens
from correlate.transcript.lines import parse_line, read_lines

STATS_CACHE = "stats-cache.json"


@dataclass(frozen=True, slots=True)
class StatsCache:
    """The client's totals: tokens by model, sessions, and the last day included."""

    last_day: str | None
    sessions: int | None
    messages: int | None
    tokens: Mapping[str, Tokens]


@dataclass(frozen=True, slots=True)
class TypedPrompt:
    """A line of `history.jsonl`."""

    text: str
    at: float | None
    project: str | None
    session_id: str | None


@dataclass(frozen=True, slots=True)
class Todo:
    """An item of a todo list; `status` is pending, in_progress or completed."""

    content: str
    status: str | None
    active_form: str | None


def read_stats_cache(claude_dir: Path) -> StatsCache | None:
    """Return the client's totals; None if missing or damaged: the client rebuilds the file."""
    try:
        stats = parse_json(read_regular(claude_dir / STATS_CACHE))
    except (OSError, ValueError):
        return None
    if not isinstance(stats, dict):
        return None
    usage = stats.get("modelUsage")
    tokens: dict[str, Tokens] = {}
    for model, used in usage.items() if isinstance(usage, dict) else ():
        if isinstance(used, dict):
            name = base_model(model)
            tokens[name] = tokens.get(name, Tokens()) + Tokens.of_client(used)
    return StatsCache(
        text(stats.get("lastComputedDate")),
        whole(stats.get("totalSessions")),
        whole(stats.get("totalMessages")),
        tokens,
    )


def read_todos(claude_dir: Path, session_id: str) -> dict[str, tuple[Todo, ...]]:
    """Return the todo lists of a session that are not empty, by agent id.

    The main thread's agent id is the session's; before 1.0.21 no file names one.
    """
    if not is_session_id(session_id):
        return {}
    prefix = f"{session_id}-agent-"
    folder = claude_dir / "todos"
    named = {session_id: folder / f"{session_id}.json"}
    named |= {
        path.stem.removeprefix(prefix): path for path in sorted(folder.glob(f"{prefix}*.json"))
    }
    lists = {agent_id: _todos(path) for agent_id, path in named.items()}
    lists[session_id] += _tasks(claude_dir / "tasks" / session_id)
    return {agent_id: todos for agent_id, todos in lists.items() if todos}


def read_plan(claude_dir: Path, slug: str | None) -> str | None:
    """Return the plan of a session with this slug, in Markdown; None if there is none."""
    if not slug or not re.fullmatch(r"[A-Za-z0-9_-]{1,200}", slug):
        return None  # not the name of a file
    try:
        return read_regular(claude_dir / "plans" / f"{slug}.md").decode("utf-8", "replace")
    except OSError:
        return None


def read_history(claude_dir: Path, project: str | None = None) -> Iterator[TypedPrompt]:
    """Yield the typed prompts, oldest first; malformed lines are skipped, as in the client.

    `project` is a folder: only the prompts that were typed in it.
    """
    for prompt in _history(claude_dir):
        if project is None or prompt.project == project:
            yield prompt


def _history(claude_dir: Path) -> Iterator[TypedPrompt]:
    path = claude_dir / "history.jsonl"
    if not path.is_file():
        return
    for line in read_lines(path):
        record = parse_line(line.data)
        if isinstance(record, dict) and isinstance(record.get("display"), str):
            at = number(record.get("timestamp"))
            yield TypedPrompt(
                record["display"],
                None if at is None else at / 1000,
                text(record.get("project")),
                text(record.get("sessionId")),
            )


def _todos(path: Path) -> tuple[Todo, ...]:
    try:
        listed = parse_json(read_regular(path))
    except (OSError, ValueError):
        return ()
    return tuple(
        Todo(content, text(item.get("status")), text(item.get("activeForm")))
        for item in (listed if isinstance(listed, list) else ())
        if isinstance(item, dict) and (content := text(item.get("content")))
    )


def _tasks(folder: Path) -> tuple[Todo, ...]:
    """Return the items of a folder in their order; an item that was deleted has no file."""
    files = {path: int(path.stem) for path in folder.glob("*.json") if path.stem.isdecimal()}
    found: list[Todo] = []
    for path in sorted(files, key=lambda path: files[path]):
        try:
            item = as_dict(parse_json(read_regular(path)))
        except (OSError, ValueError):
            continue
        if subject := text(item.get("subject")):
            found.append(Todo(subject, text(item.get("status")), text(item.get("activeForm"))))
    return tuple(found)


def short_of(stats: StatsCache, tokens: Mapping[str, Tokens]) -> dict[str, Tokens]:
    """Return, per model, what the client counted beyond these tokens; zero differences omitted."""
    models = dict.fromkeys([*stats.tokens, *tokens])
    apart = {m: stats.tokens.get(m, Tokens()) - tokens.get(m, Tokens()) for m in models}
    return {model: difference for model, difference in apart.items() if difference}
