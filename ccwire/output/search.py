"""Prints what `ccwire search` finds: texts with their place, or counts by session."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from rich.text import Text

from ccwire.output.fitted import FittedColumn, print_fitted
from ccwire.output.tables import count, day, size
from ccwire.output.terminal import SafeConsole
from ccwire.wire.format import short_id
from correlate.search.session import Hit, SessionHits

_COLUMNS = (
    FittedColumn("session", 0, 8),
    FittedColumn("last match", 2, 11),
    FittedColumn("texts", 1, 5, right=True),
    FittedColumn("matches", 3, 7, right=True),
    FittedColumn("roles", 4, 5, least=8),
)


def print_hit(to: SafeConsole, hit: Hit, command: str) -> None:
    """Print where a text is, its matching lines, and the command that shows it."""
    heading = Text(short_id(hit.session_id), "bold")
    heading.append(f"  {_where(hit)}  {_role(hit)}", "")
    if hit.agent_id:
        named = f"{hit.agent_type} {hit.agent_id}" if hit.agent_type else hit.agent_id
        heading.append(f"  agent {named}", "dim")
    more = f", {count(hit.matches)} matches" if hit.matches > 1 else ""
    heading.append(f"  {size(hit.size)}{more}", "dim")
    to.print(heading, soft_wrap=True)
    for line in hit.lines:
        shown = Text(f"  {line.number:>5}{':' if line.spans else '-'} ", "dim")
        words = Text(line.text, "")
        for start, end in line.spans:
            words.stylize("bold red", start, max(end, start))
        to.print(shown.append_text(words), soft_wrap=True)
    to.print(Text(f"  {command}", "dim"), soft_wrap=True)


def print_counts(to: SafeConsole, found: Sequence[SessionHits]) -> None:
    """Print how many texts of each session match."""
    now = datetime.now()
    rows = [
        {
            "session": short_id(one["session_id"]),
            "last match": day(one["last_match"], now),
            "texts": count(one["texts"]),
            "matches": count(one["matches"]),
            "roles": ", ".join(one["roles"]),
        }
        for one in map(count_json, found)
    ]
    print_fitted(to, _COLUMNS, rows)


def hit_json(hit: Hit, command: str) -> dict[str, Any]:
    return {**asdict(hit), "show": command}


def count_json(found: SessionHits) -> dict[str, Any]:
    return {
        "session_id": found.session_id,
        "last_match": max((hit.at for hit in found.hits if hit.at), default=None),
        "texts": len(found.hits),
        "matches": sum(hit.matches for hit in found.hits),
        "roles": sorted({hit.role for hit in found.hits}),
    }


def _where(hit: Hit) -> str:
    if hit.call is None:
        return f"{hit.path}:{hit.line}"
    part = "answer" if hit.in_answer else "request"
    return f"call {hit.call} {part}" + (f" message {hit.message}" if hit.message else "")


def _role(hit: Hit) -> str:
    role = hit.record_type or hit.role if hit.role == "other" else hit.role
    return f"{role} {hit.tool}" if hit.tool else role
