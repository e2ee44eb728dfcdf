"""Read the client's files next to its transcripts: `stats-cache.json` and `history.jsonl`.

The first contains the client's totals over all sessions up to a day: a cross-check, not a source.
The second contains every typed prompt with its project and, in newer clients, its session.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ccwire.wire.json_text import number, parse_json, text, whole
from ccwire.wire.models import base_model
from ccwire.wire.regular_file import read_regular
from ccwire.wire.usage import Tokens
from correlate.transcript.lines import parse_line, read_lines


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


def read_stats_cache(claude_dir: Path) -> StatsCache | None:
    """Return the client's totals; None if missing or damaged: the client rebuilds the file."""
    try:
        stats = parse_json(read_regular(claude_dir / "stats-cache.json"))
    except (OSError, ValueError):
        return None
    if not isinstance(stats, dict):
        return None
    usage = stats.get("modelUsage")
    models = usage.items() if isinstance(usage, dict) else ()
    return StatsCache(
        text(stats.get("lastComputedDate")),
        whole(stats.get("totalSessions")),
        whole(stats.get("totalMessages")),
        {
            base_model(model): Tokens.of_client(used)
            for model, used in models
            if isinstance(used, dict)
        },
    )


def read_history(claude_dir: Path) -> Iterator[TypedPrompt]:
    """Yield the typed prompts, oldest first; malformed lines are skipped, as in the client."""
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


def short_of(stats: StatsCache, tokens: Mapping[str, Tokens]) -> dict[str, Tokens]:
    """Return, per model, what the client counted beyond these tokens; zero differences omitted."""
    models = dict.fromkeys([*stats.tokens, *tokens])
    apart = {m: stats.tokens.get(m, Tokens()) - tokens.get(m, Tokens()) for m in models}
    return {model: difference for model, difference in apart.items() if difference}
