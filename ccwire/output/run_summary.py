"""The summary after `ccwire run`: sessions, calls, tokens, cost, and unexplained findings."""

import os
from pathlib import Path

from rich.console import Console

from ccwire.command_name import command_line
from ccwire.options import captures_dir
from ccwire.output.run_reasons import sessions_since
from ccwire.output.tables import Column, print_table
from ccwire.verdict_cache import VerdictCache
from ccwire.wire.format import claude_dir as default_claude_dir
from ccwire.wire.format import short_id
from correlate.reconcile.session import SessionReconciler
from correlate.reconcile.totals import totals_of
from correlate.transcript.locate import ClaudeDir


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
    if not active:
        return
    latest = max(active, key=lambda name: active[name])
    elsewhere = "" if captures == captures_dir(None).absolute() else f" --captures {captures}"
    if claude_dir != default_claude_dir(None, os.environ):
        elsewhere += f" --claude-dir {claude_dir}"
    to.print(f"next: {command_line('reconcile')} {short_id(latest)}{elsewhere}", soft_wrap=True)


def _verdict(unexplained: int, findings: int) -> str:
    if unexplained:
        return f"{unexplained} of {findings} unexplained"
    return f"all {findings}"
