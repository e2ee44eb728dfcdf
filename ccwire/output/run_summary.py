"""The summary after `ccwire run`: sessions, calls, tokens, cost, and unexplained findings."""

import os
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from addon.storage.mounts import real_path
from ccwire.capture_folders import find_capture_folders
from ccwire.command_name import command_line
from ccwire.output.hints import folder_options
from ccwire.output.run_reasons import sessions_since
from ccwire.output.tables import Column, numbered, print_table, size
from ccwire.verdict_cache import VerdictCache
from ccwire.wire.format import short_id
from correlate.captures.size import captures_size, folder_bytes
from correlate.reconcile.session import SessionReconciler
from correlate.reconcile.totals import totals_of
from correlate.transcript.locate import ClaudeDir

_MOST_FILES = 50_000  # measured after a run: a fraction of a second
_MUCH = 10**9  # bytes, from which on the summary names `prune`


def print_run_summary(to: Console, captures: Path, claude_dir: Path, moment: float) -> None:
    """Print one line per session with an exchange since that time, and nothing without any."""
    folders = sessions_since(captures, moment)
    if not folders:
        return
    claude = ClaudeDir(claude_dir)
    reconciler, verdicts = SessionReconciler(captures, claude), VerdictCache(claude)
    rows = []
    active: dict[str, float] = {}
    for folder in folders:
        state = verdicts.state(folder)
        session = reconciler.reconcile(folder)
        verdicts.note(folder, state, session)
        if calls := [finding.at for finding in session.calls if finding.at is not None]:
            active[folder.name] = max(calls)
        totals = totals_of(session)
        tokens = totals.wire.total
        unpriced = " + unpriced" if totals.wire.unpriced else ""
        usd = totals.wire.usd
        rows.append(
            [
                short_id(session.session_id),
                f"{len(session.calls)}",
                f"{tokens.context:,}",
                f"{tokens.output:,}",
                (f"${usd:.4f}" if usd is not None else "-") + unpriced,
                _verdict(session.unexplained, len(session.findings)),
            ]
        )
    verdicts.save()
    columns = [
        Column("session"),
        Column("calls", right=True),
        Column("tokens in", right=True),
        Column("out", right=True),
        Column("cost", right=True),
        Column("accounted for"),
    ]
    print_table(to, columns, rows)
    to.print(f"captures: {captures}", soft_wrap=True)
    to.print(f"size: {_sizes(captures, folders)}", soft_wrap=True)
    if not active:
        return
    latest = max(active, key=lambda name: active[name])
    known = find_capture_folders(None, os.environ).folders
    is_known = real_path(captures) in map(real_path, known)
    options = folder_options(None if is_known else captures, claude_dir)
    to.print(f"next: {command_line('reconcile')} {short_id(latest)}{options}", soft_wrap=True)


def _verdict(unexplained: int, findings: int) -> str:
    if unexplained:
        return f"{unexplained} of {findings} unexplained"
    return f"all {findings}"


def _sizes(captures: Path, folders: Sequence[Path]) -> str:
    """Return the size of the run's sessions, and of all; how to delete some if it is much."""
    own = size(sum(map(folder_bytes, folders)))
    found = captures_size(captures, _MOST_FILES)
    if found.sessions <= len(folders):
        return own
    total = f"{'' if found.is_whole else 'over '}{size(found.bytes)}"
    hint = f"; `{command_line('prune')}` deletes old ones" if found.bytes >= _MUCH else ""
    return f"{own}, of {total} in {numbered(found.sessions, 'session')}{hint}"
