"""`ccwire sessions`: list captured and running sessions."""

from datetime import datetime
from pathlib import Path

import click

from addon.hooks.sessions import default_sessions_path
from ccwire.capture_folders import CaptureFolders
from ccwire.command_name import command_line
from ccwire.options import captures_option, claude_dir_option, json_option, raw_option
from ccwire.output.redacted import redacted
from ccwire.output.tables import Column, count, dollars, print_table
from ccwire.output.terminal import console, print_json
from ccwire.session_list import SessionRow, session_rows
from ccwire.wire.format import short_id
from ccwire.wire.safe_text import shortened


@click.command("sessions")
@click.option("--all", "every", is_flag=True, help="Include sessions that only have a transcript.")
@captures_option
@claude_dir_option
@json_option
@raw_option
def command(every: bool, captures: CaptureFolders, claude_dir: Path, as_json: bool) -> None:
    """List captured and running sessions, newest first."""
    folders = captures.sessions
    captures.warn_of_copies(folders)
    captures.warn_of_away()
    rows = session_rows(folders, claude_dir, default_sessions_path(), every=every, clean=redacted)
    if as_json:
        listed = [row.to_json() for row in rows]
        print_json({"sessions": listed})
        return
    to = console()
    if not rows:
        to.print(
            f"No session is captured in {captures} or running; "
            f"start one with `{command_line('run claude')}`.",
            soft_wrap=True,
        )
        return
    wide = to.width >= 120
    columns = [
        Column("session"),
        Column("state"),
        Column("started"),
        Column("calls", right=True),
        Column("out", right=True),
        Column("cost", right=True),
    ]
    if wide:
        columns += [
            Column("in", right=True),
            Column("exchanges", right=True),
            Column("version"),
            Column("last seen"),
            Column("project", grows=True),
        ]
    columns.append(Column("title", grows=True))
    print_table(to, columns, [_cells(row, wide=wide) for row in rows])


def _cells(row: SessionRow, *, wide: bool) -> list[str]:
    cells = [
        short_id(row.session_id),
        row.state or ("captured" if row.captured else "-"),
        _moment(row.started),
        count(row.calls) if row.captured else "-",
        count(row.output_tokens) if row.captured else "-",
        dollars(row.cost_usd) if row.cost_usd is not None else "-",
    ]
    if wide:
        cells += [
            count(row.input_tokens) if row.captured else "-",
            count(row.exchanges) if row.captured else "-",
            row.version or "-",
            _moment(row.last_seen),
            Path(row.project).name if row.project else "-",
        ]
    return [*cells, shortened(redacted(row.title or "-"), 40 if wide else 18)]


def _moment(at: float | None) -> str:
    return datetime.fromtimestamp(at).strftime("%m-%d %H:%M") if at else "-"
