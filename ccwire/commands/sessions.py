"""`ccwire sessions`: list captured and running sessions, and those with a transcript."""

from datetime import datetime
from pathlib import Path

import click
from rich.text import Text

from addon.hooks.sessions import default_sessions_path
from ccwire.capture_folders import CaptureFolders
from ccwire.command_name import command_line
from ccwire.options import UserError, captures_option, claude_dir_option, json_option, raw_option
from ccwire.output.fitted import Cells, FittedColumn, print_fitted
from ccwire.output.redacted import redacted
from ccwire.output.tables import count, day, dollars, duration, print_more, size
from ccwire.output.terminal import SafeConsole, console, print_json
from ccwire.output.typed_prompts import print_prompts
from ccwire.sessions.filters import (
    Project,
    SessionFilter,
    SortKey,
    limit_option,
    project_option,
    since_option,
    sort_option,
    until_option,
)
from ccwire.sessions.rows import SessionList, SessionRow, session_rows
from ccwire.verdict_cache import VerdictCache
from ccwire.wire.format import short_id
from correlate.transcript.client_records import read_history
from correlate.transcript.locate import ClaudeDir

_AROUND_ROWS = 4  # lines of a screen: the prompts before and after, the header, what is left out
_SHORTEST_TITLE = 18
_NONE = "-"
# In the order of the table, with the rank by which they are shown.
_COLUMNS = (
    FittedColumn("session", 0, 8),
    FittedColumn("state", 8, 5),
    FittedColumn("started", 2, 11),
    FittedColumn("duration", 10, 8),
    FittedColumn("project", 3, 7, least=10),
    FittedColumn("size", 5, 6, right=True),
    FittedColumn("calls", 6, 5, right=True),
    FittedColumn("in", 12, 2, right=True),
    FittedColumn("out", 11, 3, right=True),
    FittedColumn("cost", 4, 7, right=True),
    FittedColumn("verdict", 9, 9),
    FittedColumn("version", 14, 7),
    FittedColumn("last seen", 13, 11),
    FittedColumn("exchanges", 15, 9, right=True),
    FittedColumn("lineage", 7, 7, least=16),
)


@click.command("sessions")
@click.option("--captured", is_flag=True, help="Only captured and running sessions.")
@click.option("--all", "every", is_flag=True, help="Include unused sessions without a transcript.")
@click.option("--prompts", is_flag=True, help="List the recently typed prompts instead.")
@since_option
@until_option
@project_option
@limit_option
@sort_option("last")
@captures_option
@claude_dir_option
@json_option
@raw_option
def command(
    captured: bool,
    every: bool,
    prompts: bool,
    since: float | None,
    until: float | None,
    project: Project | None,
    limit: int | None,
    sort: SortKey,
    captures: CaptureFolders,
    claude_dir: Path,
    as_json: bool,
) -> None:
    """List sessions with a capture or a transcript, newest last; with --json newest first.

    A session that is not captured shows the usage in its transcript; `≥` marks a lower bound. A
    terminal shows a screenful, a pipe and --json all, unless --limit is given. The verdict is
    that of the last `reconcile`; `-` if there is none, or the session has changed since.
    """
    if captured and every:
        raise UserError("Give either --captured or --all.")
    to = console()
    if limit is None and to.is_terminal and not as_json:
        limit = max(1, to.height - _AROUND_ROWS)
    chosen = SessionFilter(since=since, until=until, project=project, limit=limit, sort=sort)
    if prompts:
        print_prompts(to, read_history(claude_dir), chosen, as_json=as_json)
        return
    captures.warn_of_copies(captures.sessions)
    captures.warn_of_away()
    listed = session_rows(
        captures.sessions,
        claude_dir,
        default_sessions_path(),
        every=every,
        captured=captured,
        chosen=chosen,
        clean=redacted,
        verdicts=VerdictCache(ClaudeDir(claude_dir)),
    )
    if as_json:
        print_json({"sessions": [row.to_json() for row in listed.rows], "more": listed.more})
    elif listed.rows:
        _print(to, listed)
    elif chosen.narrows:
        to.print("No session matches; leave out --since, --until or --project.", soft_wrap=True)
    else:
        transcript = "" if captured else ", or has a transcript"
        to.print(
            f"No session is captured in {captures} or running{transcript}; "
            f"start one with `{command_line('run claude')}`.",
            soft_wrap=True,
        )


def _print(to: SafeConsole, listed: SessionList) -> None:
    now = datetime.now()
    title = FittedColumn("title", 1, 5, least=max(_SHORTEST_TITLE, to.width // 4))
    rows = [_cells(row, now) for row in reversed(listed.rows)]
    columns = [*_COLUMNS, title]
    if not to.is_pipe:  # what no row has would take the room of what they have
        columns = [c for c in columns if any(cells[c.name] != _NONE for cells in rows)]
    print_fitted(to, columns, rows)
    if listed.more:
        print_more(to, listed.more)


def _cells(row: SessionRow, now: datetime) -> Cells:
    of_capture: dict[str, str | Text] = {
        "size": size(row.bytes),
        "verdict": verdict(row.unexplained),
        "exchanges": count(row.exchanges),
    }
    of_usage = {
        "calls": count(row.calls),
        "in": tokens(row.input_tokens, row, ("unknown",)),
        "out": tokens(row.output_tokens, row, ("unknown", "lower-bound")),
        "cost": cost(row),
    }
    return {
        "session": short_id(row.session_id),
        "state": row.state or ("captured" if row.captured else _NONE),
        "started": day(row.started, now),
        "duration": _NONE if row.duration_seconds is None else duration(row.duration_seconds),
        "project": Path(row.project).name if row.project else _NONE,
        **(of_capture if row.captured else dict.fromkeys(of_capture, _NONE)),
        **(of_usage if row.usage_from else dict.fromkeys(of_usage, _NONE)),
        "version": row.version or _NONE,
        "last seen": day(row.last_seen, now),
        "lineage": lineage(row),
        "title": row.title or _NONE,
    }


def tokens(value: int, row: SessionRow, bounds: tuple[str, ...]) -> str:
    """Format a sum of tokens; `bounds`: when it is a lower bound."""
    return f"≥ {count(value)}" if row.finality in bounds else count(value)


def cost(row: SessionRow) -> str:
    """Format the cost; calls without a known price or a final usage make it a lower limit."""
    if row.cost_usd is None:
        return "unpriced" if row.unpriced_calls else _NONE
    is_bound = row.finality not in ("exact", None)
    return f"≥ {dollars(row.cost_usd)}" if row.unpriced_calls or is_bound else dollars(row.cost_usd)


def lineage(row: SessionRow) -> str:
    parts = [
        f"fork of {short_id(row.forked_from)}" if row.forked_from else "",
        "resumed" if row.resumed else "",
        f"compacted ×{row.compactions}" if row.compactions else "",  # noqa: RUF001
    ]
    return ", ".join(filter(None, parts)) or _NONE


def verdict(unexplained: int | None) -> str | Text:
    if unexplained is None:
        return _NONE
    return Text(f"{unexplained} unexplained", "red") if unexplained else "accounted"
