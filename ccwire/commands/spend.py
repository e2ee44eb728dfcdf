"""`ccwire spend`: tokens and dollars over all sessions, grouped."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from addon.storage.home import find_home
from ccwire.capture_folders import CaptureFolders
from ccwire.kept_output import is_plain_output
from ccwire.options import UserError, captures_option, claude_dir_option, json_option
from ccwire.output.spend import csv_text, print_spend
from ccwire.output.terminal import SafeConsole, echo_rendered, rendered, safe, safe_json
from ccwire.sessions.filters import Project, parse_project, parsed, when
from ccwire.spend_cache import keep_output, read_records, watched_states
from ccwire.wire.usage import Tokens
from correlate.spend.calls import chosen, collect
from correlate.spend.files import transcript_paths
from correlate.spend.totals import KEYS, Row, parts_to_count, total_rows
from correlate.spend.witnesses import CostRecords, Statistics, cost_records, statistics
from correlate.transcript.client_records import read_stats_cache

_MOST_KEYS = 2
_SHOWN_MODELS = 5
_ALSO = {"agent-type": "agent", "client-version": "version"}


@dataclass(frozen=True, slots=True)
class _Spend:
    by: tuple[str, ...]
    rows: list[Row]
    total: Row
    sessions: int
    uncaptured: int
    records: CostRecords
    statistics: Statistics | None
    is_all: bool  # no call was left out
    unreadable: tuple[str, ...] = ()  # files and folders
    damaged: tuple[str, ...] = ()  # files, once for each line that is no record


def _keys(_: click.Context, __: click.Parameter, given: Sequence[str]) -> tuple[str, ...]:
    words = [word.strip().lower() for value in given for word in value.split(",") if word.strip()]
    names = [_ALSO.get(re.sub("[ _]", "-", word), word) for word in words]
    by = tuple(dict.fromkeys(names)) or ("day",)
    known = f"{', '.join(list(KEYS)[:-1])} or {list(KEYS)[-1]}"
    for name in by:
        if name not in KEYS:
            raise UserError(f"--by {name!r}: expected {known}.")
    if len(by) > _MOST_KEYS:
        raise UserError(f"--by takes up to two keys, {len(by)} were given; leave some out.")
    return by


@click.command()
@click.option(
    "--by",
    metavar="KEY[,KEY]",
    multiple=True,
    callback=_keys,
    help="Group by day (default), week, month, project, model, agent, branch, session or version;"
    " up to two.",
)
@click.option(
    "--since",
    metavar="WHEN",
    callback=parsed(when),
    help="Only calls since WHEN: 7d, 24h, 2w, 2026-11-01, today, yesterday.",
)
@click.option("--until", metavar="WHEN", callback=parsed(when), help="Only calls before WHEN.")
@click.option(
    "--project",
    metavar="DIR",
    callback=parsed(lambda text: parse_project(text, Path.cwd())),
    help="Only calls in this folder and those below it, or in folders with this in their name.",
)
@click.option("--model", metavar="NAME", help="Only models with NAME in their name.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV instead of a table.")
@click.option("--no-cache", is_flag=True, help="Read all transcripts again.")
@json_option
@captures_option
@claude_dir_option
def command(
    by: tuple[str, ...],
    since: float | None,
    until: float | None,
    project: Project | None,
    model: str | None,
    as_csv: bool,
    no_cache: bool,
    as_json: bool,
    captures: CaptureFolders,
    claude_dir: Path,
) -> None:
    """Sum tokens and dollars by day, project, model and more.

    Counts come from the capture where a call was captured, else from the transcript. Each call is
    counted once, also if a fork repeats it. ≥ marks lower bounds.
    """
    if as_csv and as_json:
        raise UserError("--csv and --json exclude each other; give one of them.")
    captures.warn_of_away()
    home = None if no_cache else find_home(os.environ)
    # What depends on the time, or on where a link leads, or prints a warning, is not kept.
    is_lasting = since is None and until is None and project is None and not captures.away
    is_kept = home is not None and is_lasting and is_plain_output()
    watched = watched_states(home, claude_dir, captures) if home and is_kept else None
    unreadable: list[str] = []
    paths = transcript_paths(claude_dir, unreadable)
    records = read_records(paths, home)
    unreadable += [path for path in paths if path not in records]
    found = collect(records, captures.session_folders, captures.unknown)
    calls = [
        call
        for call in chosen(found.calls, since, until)
        if (project is None or project.matches(call.project)) and parts_to_count(call, model)
    ]
    rows, total = total_rows(calls, by, model)
    is_all = since is None and until is None and project is None and model is None
    sessions = {call.session_id for call in calls if call.session_id}
    spend = _Spend(
        by,
        rows,
        total,
        len(sessions),
        len(sessions - found.captured),
        cost_records(found, None if is_all else sessions),
        statistics(found, read_stats_cache(claude_dir)),
        is_all,
        tuple(unreadable),
        tuple(path for path, record in records.items() for _ in range(record.damaged)),
    )
    if as_json or as_csv:
        data = safe_json(_as_json(spend)) + b"\n" if as_json else _csv(spend)
        text = data.decode()
        echo_rendered(data)
    else:
        text = rendered(lambda to: _print(to, spend, claude_dir))
        echo_rendered(text)
    if home is not None and watched is not None:
        keep_output(home, watched, text)


def _csv(spend: _Spend) -> bytes:
    """Return CSV in UTF-8, whatever the locale is: other programs read it."""
    return safe(csv_text(spend.by, spend.rows, spend.total)).encode("utf-8", "backslashreplace")


def _as_json(spend: _Spend) -> dict[str, Any]:
    return {
        "by": list(spend.by),
        "rows": [row.to_json(spend.by) for row in spend.rows],
        "total": spend.total.to_json(()),
        "sessions": spend.sessions,
        "sessions_without_capture": spend.uncaptured,
        "cost_records": spend.records.to_json(),
        "client_statistics": spend.statistics.to_json() if spend.statistics else None,
        "notes": _notes(spend),
    }


def _print(to: SafeConsole, spend: _Spend, claude_dir: Path) -> None:
    if not spend.rows:
        to.print(f"No calls found in {claude_dir} and the captures that match.")
    else:
        print_spend(to, spend.by, spend.rows, spend.total)
    for note in _notes(spend):
        to.print(note)


def _notes(spend: _Spend) -> list[str]:
    total, notes = spend.total, []
    if spend.unreadable:
        others = len(spend.unreadable) - 1
        more = f" and {_counted(others, 'other')}" if others else ""
        notes.append(f"{spend.unreadable[0]}{more} cannot be read: not in the sums.")
    if spend.damaged:
        files = len(set(spend.damaged))
        where = spend.damaged[0] if files == 1 else _counted(files, "transcript")
        lines = _counted(len(spend.damaged), "damaged line")
        notes.append(f"{lines} in {where}: not in the sums; `reconcile` names them.")
    if count := total.by_finality["lower-bound"]:
        notes.append(
            f"≥ {_calls(count)}, perhaps only with the usage of the answer's start (a transcript"
            " line or a stream without a stop reason): output tokens are at least these."
        )
    if count := total.by_finality["unknown"]:
        notes.append(f"{_calls(count)} without any usage: not in the sums.")
    if total.unpriced_calls:
        names = ", ".join(sorted(total.unpriced)[:_SHOWN_MODELS])
        notes.append(f"{_calls(total.unpriced_calls)} without a known price (unpriced): {names}.")
    if spend.uncaptured:
        notes.append(
            f"{_counted(spend.uncaptured, 'session')} without a capture: side calls that no"
            " transcript has (titles, summaries, retries) are missing there."
        )
    records = spend.records
    if records.exceeding:
        notes.append(
            f"The client's own cost records have ${records.more_usd:,.4f} more for"
            f" {_counted(records.exceeding, 'session')} (of {records.sessions} with a record):"
            " calls that no transcript has."
        )
    elif records.sessions:
        notes.append(
            f"{_counted(records.sessions, 'session')} with a cost record of the client: none has"
            " more than the calls."
        )
    if spend.statistics is not None and spend.is_all:
        notes.append(_statistics_note(spend.statistics))
    return notes


def _statistics_note(found: Statistics) -> str:
    note = f"The client's own statistics (stats-cache.json, up to {found.last_day or 'no day'} UTC)"
    if not found.beyond_calls:
        return f"{note} have the same tokens as the calls."
    note += (
        f" have {_tokens(found.tokens)}, the calls {_tokens(found.calls)}. The client counts an"
        " answer once per transcript line, again in a fork, and no side call."
    )
    if not found.beyond_lines:
        return f"{note} Counted so, the transcripts have the same."
    apart = [
        f"{model} {tokens.output:+,} output, {tokens.context:+,} prompt tokens"
        for model, tokens in list(found.beyond_lines.items())[:_SHOWN_MODELS]
    ]
    return (
        f"{note} Counted so, it has, against the transcripts: {'; '.join(apart)}"
        " (more: since deleted; less: written after it counted)."
    )


def _tokens(tokens: Tokens) -> str:
    return f"{tokens.output:,} output and {tokens.context:,} prompt tokens"


def _calls(count: int) -> str:
    return _counted(count, "call")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
