"""`ccwire reconcile`: account for every token of one captured session, or of all."""

from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console

from ccwire.capture_folders import CaptureFolders
from ccwire.options import UserError, captures_option, claude_dir_option, json_option, raw_option
from ccwire.output.reconcile import print_all_row, print_grand_total, print_header, print_session
from ccwire.output.tables import progress_bar
from ccwire.output.terminal import console, print_json, print_json_list
from ccwire.session_argument import LATEST, CapturedSession, captured_session, check_for_calls
from ccwire.wire.format import short_id
from ccwire.wire.json_text import parse_json
from ccwire.wire.regular_file import read_regular
from correlate.captures.folder import read_exchanges, transcript_files
from correlate.reconcile.as_json import grand_json, session_json
from correlate.reconcile.forks import ForkOrigins
from correlate.reconcile.result import Reconciliation
from correlate.reconcile.session import SessionReconciler, narrowed
from correlate.reconcile.totals import GrandTotal, Totals, totals_of
from correlate.reconcile.witnesses.client_totals import ClientTotals, result_in, result_totals
from correlate.transcript.locate import ClaudeDir


@click.command("reconcile")
@click.argument("session", required=False)
@click.option("--all", "every", is_flag=True, help="Every captured session, one line each.")
@click.option("--since-compact", is_flag=True, help="Only calls after the last compaction.")
@click.option(
    "--agent", metavar="ID", help="Only this subagent's calls; `main` is the main thread."
)
@click.option(
    "--result",
    "result_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Also compare with this output of `claude -p --output-format json`.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print the evidence for each call.")
@captures_option
@claude_dir_option
@json_option
@raw_option
@click.pass_context
def command(
    ctx: click.Context,
    session: str | None,
    every: bool,
    since_compact: bool,
    agent: str | None,
    result_file: Path | None,
    verbose: bool,
    captures: CaptureFolders,
    claude_dir: Path,
    as_json: bool,
) -> None:
    """Account for every token of SESSION: an id, a unique prefix, a folder, or `latest`.

    Without SESSION, it is the latest captured one. Exit code 1 if anything is left unexplained.
    """
    if every and session is not None:
        raise UserError("name one session, or give --all, not both.")
    if every and (agent or result_file):
        raise UserError("--agent and --result apply to one session; leave out --all.")
    result = _result(result_file) if result_file else None
    if every:
        captures.warn_of_away()
        sessions = _all_sessions(captures, claude_dir)
        if not sessions:
            raise UserError(f"there is no captured session in {captures}; give --captures DIR.")
    else:
        sessions = [captured_session(LATEST if session is None else session, captures, claude_dir)]
    to = console()
    accounts = _accounts(sessions, captures, claude_dir, result, None if as_json else to)
    if every:
        narrow = (narrowed(found, since_compact=since_compact) for found in accounts)
        unexplained = _print_all(narrow, None if as_json else to)
    else:
        (found,) = accounts  # to the end, so that the progress bar is gone
        one = narrowed(_with_agent(found, agent), since_compact=since_compact, agent=agent)
        unexplained = _print_one(one, None if as_json else to, verbose)
    ctx.exit(1 if unexplained else 0)


def _with_agent(session: Reconciliation, agent: str | None) -> Reconciliation:
    known = sorted({f.agent_id for f in session.findings if f.agent_id})
    if agent not in (None, "main") and not any(one.startswith(agent or "") for one in known):
        there = f"it has {', '.join(known)} and main" if known else "it has only main"
        raise UserError(f"session {short_id(session.session_id)} has no agent {agent}; {there}.")
    return session


def _all_sessions(captures: CaptureFolders, claude_dir: Path) -> list[CapturedSession]:
    """Return captured sessions, and those in `unknown/` that a transcript's answers identify."""
    captures.warn_of_copies(captures.sessions)
    folders = dict(captures.sessions)
    origins = ForkOrigins(captures.sessions, ClaudeDir(claude_dir))
    for unknown in captures.unknown:
        nameless = [call.message_id for call in read_exchanges(unknown) if call.message_id]
        for name in origins.sessions_with(nameless):
            folders.setdefault(name, unknown)
    return [CapturedSession(name, folder) for name, folder in folders.items()]


def _accounts(
    sessions: list[CapturedSession],
    captures: CaptureFolders,
    claude_dir: Path,
    result: ClientTotals | None,
    to: Console | None,
) -> Iterator[Reconciliation]:
    claude = ClaudeDir(claude_dir)
    reconciler = SessionReconciler(captures.sessions, claude)
    size = sum(_size(session, claude) for session in sessions)
    with progress_bar("transcripts", size, to) as advance:
        for session in sessions:
            found = reconciler.reconcile(
                session.capture, session.session_id, result=result, progress=advance
            )
            check_for_calls(session, found)
            yield found


def _size(session: CapturedSession, claude: ClaudeDir) -> int:
    return transcript_files(claude, session.capture, session.session_id).size


def _print_one(session: Reconciliation, to: Console | None, verbose: bool) -> int:
    """Print to the console, or as JSON if there is none."""
    totals = totals_of(session)
    if to is None:
        print_json(session_json(session, totals))
    else:
        print_session(to, session, totals, verbose)
    return session.unexplained


def _print_all(accounts: Iterator[Reconciliation], to: Console | None) -> int:
    """Print one session at a time, so that memory stays bounded."""
    grand = GrandTotal()

    def counted() -> Iterator[tuple[Reconciliation, Totals]]:
        nonlocal grand
        for session in accounts:
            totals = totals_of(session)
            yield session, totals
            grand = grand.with_session(session, totals)

    if to is None:
        sessions = (session_json(session, totals) for session, totals in counted())
        print_json_list("sessions", sessions, lambda: grand_json(grand))
    else:
        print_header(to)
        for session, totals in counted():
            print_all_row(to, session, totals)
        print_grand_total(to, grand)
    return grand.unexplained


def _result(path: Path) -> ClientTotals:
    """Read the client's printed result: an object, an array, or one event per line."""
    text = read_regular(path)
    try:
        printed = parse_json(text)
    except ValueError:
        try:
            printed = [parse_json(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise UserError(
                f"{path} is not JSON; expected the output of `claude -p --output-format json`."
            ) from None
    found = result_in(printed)
    account = result_totals(found) if found is not None else None
    if account is None:
        raise UserError(
            f"{path} contains no result with a cost; "
            "expected the output of `claude -p --output-format json`."
        )
    return account
