"""`ccwire reconcile`: account for every token of one captured session, or of all."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import click
from rich.console import Console

from addon.hooks.sessions import default_sessions_path
from ccwire.capture_folders import CaptureFolders
from ccwire.command_name import command_line
from ccwire.options import UserError, captures_option, claude_dir_option, json_option, raw_option
from ccwire.output.reconcile import SessionTable, print_session
from ccwire.output.reconcile_uncaptured import print_uncaptured
from ccwire.output.redacted import redacted
from ccwire.output.tables import print_more, progress_bar
from ccwire.output.terminal import console, print_json, print_json_list
from ccwire.sessions.argument import LATEST, FoundSession, any_session
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
from ccwire.sessions.heads import SessionHead, chosen_sessions, session_heads
from ccwire.verdict_cache import VerdictCache
from ccwire.wire.format import short_id
from ccwire.wire.regular_file import read_regular
from correlate.captures.folder import (
    has_session,
    read_exchanges,
    read_manifest,
    transcript_files,
)
from correlate.reconcile.as_json import grand_json, session_json
from correlate.reconcile.forks import ForkOrigins
from correlate.reconcile.result import Reconciliation
from correlate.reconcile.session import SessionReconciler, narrowed
from correlate.reconcile.totals import GrandTotal, Totals, totals_of
from correlate.reconcile.witnesses.client_totals import ClientTotals
from correlate.reconcile.witnesses.printed_result import (
    PrintedResult,
    Written,
    printed_result,
    result_notes,
    uncaptured_notes,
)
from correlate.show.conversation import is_notification, prompt_text
from correlate.show.final_answer import prompt_answers
from correlate.transcript.conversation import read_conversation
from correlate.transcript.locate import ClaudeDir, SessionFiles
from correlate.transcript.titles import title_of


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
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="Also compare with this output of `claude -p --output-format json`; `-` is stdin.",
)
@since_option
@until_option
@project_option
@limit_option
@sort_option("started")
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
    result_file: str | None,
    since: float | None,
    until: float | None,
    project: Project | None,
    limit: int | None,
    sort: SortKey,
    verbose: bool,
    captures: CaptureFolders,
    claude_dir: Path,
    as_json: bool,
) -> None:
    """Account for every token of SESSION: an id, a unique prefix, a folder, or `latest`.

    Without SESSION, it is that of --result, else the latest captured one. A session without a
    capture is shown by its transcript alone. --since, --until, --project, --limit and --sort choose
    and order the sessions of --all. Exit code 1 if anything is left unexplained.
    """
    chosen = SessionFilter(since=since, until=until, project=project, limit=limit, sort=sort)
    if every and session is not None:
        raise UserError("name one session, or give --all, not both.")
    if every and (agent or result_file):
        raise UserError("--agent and --result apply to one session; leave out --all.")
    if not every and _filters(ctx, chosen):
        raise UserError("--since, --until, --project, --limit and --sort need --all.")
    result = _result(result_file) if result_file else None
    to = console()
    if every:
        captures.warn_of_away()
        listed = _listed_sessions(captures, claude_dir, chosen)
        if not as_json:  # the table has the newest last
            listed = replace(listed, sessions=listed.sessions[::-1])
        sessions = [session for session, _ in listed.sessions]
        accounts = _accounts(sessions, captures, claude_dir, None, None if as_json else to)
        narrow = (narrowed(found, since_compact=since_compact) for found in accounts)
        unexplained = _print_all(listed, narrow, None if as_json else to)
    else:
        named = session or (result and result.session_id) or LATEST
        sessions = [any_session(named, captures, claude_dir)]
        if result is not None:
            _check_session(result, sessions[0].session_id)
        totals = result.totals if result else None
        accounts = _accounts(sessions, captures, claude_dir, totals, None if as_json else to)
        (found,) = accounts  # to the end, so that the progress bar is gone
        if result is not None:
            found = _with_result_notes(found, result, sessions[0], claude_dir)
        one = narrowed(_with_agent(found, agent), since_compact=since_compact, agent=agent)
        unexplained = _print_one(one, None if as_json else to, verbose)
    ctx.exit(1 if unexplained else 0)


def _with_agent(session: Reconciliation, agent: str | None) -> Reconciliation:
    known = sorted({f.agent_id for f in session.findings if f.agent_id})
    if agent not in (None, "main") and not any(one.startswith(agent or "") for one in known):
        there = f"it has {', '.join(known)} and main" if known else "it has only main"
        raise UserError(f"session {short_id(session.session_id)} has no agent {agent}; {there}.")
    return session


@dataclass(frozen=True, slots=True)
class _Listed:
    """The chosen sessions, each with what is known of it; the limit left `more` out."""

    sessions: list[tuple[FoundSession, SessionHead]]
    more: int


def _filters(ctx: click.Context, chosen: SessionFilter) -> bool:
    is_sorted = ctx.get_parameter_source("sort") is click.core.ParameterSource.COMMANDLINE
    return chosen.narrows or chosen.limit is not None or is_sorted


def _listed_sessions(captures: CaptureFolders, claude_dir: Path, chosen: SessionFilter) -> _Listed:
    """Return the chosen sessions, newest first; raise UserError if there is none."""
    sessions = {session.session_id: session for session in _all_sessions(captures, claude_dir)}
    if not sessions:
        raise UserError(
            f"there is no captured session in {captures}; give --captures DIR, or sum "
            f"transcripts alone with `{command_line('spend')}`."
        )
    folders = {
        name: one.folder
        for name, one in sessions.items()
        if one.folder is not None and has_session(one.folder)
    }
    heads = session_heads(folders, claude_dir, default_sessions_path(), every=True)
    found, more = chosen_sessions((h for h in heads if h.session_id in sessions), chosen)
    if not found:
        raise UserError("no session matches; leave out --since, --until or --project.")
    return _Listed([(sessions[head.session_id], head) for head in found], more)


def _all_sessions(captures: CaptureFolders, claude_dir: Path) -> list[FoundSession]:
    """Return captured sessions, and those in `unknown/` that a transcript's answers identify."""
    captures.warn_of_copies(captures.sessions)
    folders = dict(captures.sessions)
    origins = ForkOrigins(captures.sessions, ClaudeDir(claude_dir))
    for unknown in captures.unknown:
        nameless = [call.message_id for call in read_exchanges(unknown) if call.message_id]
        for name in origins.sessions_with(nameless):
            folders.setdefault(name, unknown)
    return [FoundSession(name, folder) for name, folder in folders.items()]


def _accounts(
    sessions: list[FoundSession],
    captures: CaptureFolders,
    claude_dir: Path,
    result: ClientTotals | None,
    to: Console | None,
) -> Iterator[Reconciliation]:
    claude = ClaudeDir(claude_dir)
    reconciler = SessionReconciler(captures.sessions, claude)
    verdicts = VerdictCache(claude)
    files = [_files(claude, session) for session in sessions]
    size = sum(found.size for found in files)
    try:
        with progress_bar("transcripts", size, to) as advance:
            for session, known in zip(sessions, files, strict=True):
                folder = session.folder
                own = folder if folder and has_session(folder) and result is None else None
                state = verdicts.state(own, known) if own else ""
                found = reconciler.reconcile(
                    folder, session.session_id, result=result, progress=advance
                )
                if own:
                    verdicts.note(own, state, found)
                yield found
    finally:
        verdicts.save()


def _files(claude: ClaudeDir, session: FoundSession) -> SessionFiles:
    if session.folder is None:
        return claude.session(session.session_id)
    return transcript_files(claude, session.folder, session.session_id)


def _print_one(session: Reconciliation, to: Console | None, verbose: bool) -> int:
    """Print to the console, or as JSON if there is none."""
    totals = totals_of(session)
    if to is None:
        print_json(session_json(session, totals))
    else:
        printed = print_session if session.is_captured else print_uncaptured
        printed(to, session, totals, verbose)
    return session.unexplained


def _print_all(listed: _Listed, accounts: Iterator[Reconciliation], to: Console | None) -> int:
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
        print_json_list("sessions", sessions, lambda: {**grand_json(grand), "more": listed.more})
        return grand.unexplained
    table = SessionTable(to, (session.session_id for session, _ in listed.sessions))
    table.print_header()
    for (_, head), (session, totals) in zip(listed.sessions, counted(), strict=True):
        table.print_session(
            session,
            totals,
            started=head.started,
            project=head.found_project(),
            title=title_of(head.transcript, redacted) if head.transcript else None,
        )
    table.print_total(grand)
    if listed.more:
        print_more(to, listed.more)
    return grand.unexplained


def _result(path: str) -> PrintedResult:
    """Read what `claude -p` printed: an object, an array, or one event per line."""
    is_stdin = path == "-"
    try:
        data = sys.stdin.buffer.read() if is_stdin else read_regular(Path(path))
    except OSError as error:
        raise UserError(f"{path} is not readable ({error.strerror}); give a file.") from None
    found = printed_result(data)
    if found is None or found.totals is None:
        what = "no result" if found is None else "no result with a cost"
        raise UserError(
            f"{'standard input' if is_stdin else path} contains {what}; "
            "expected the output of `claude -p --output-format json`."
        )
    return found


def _check_session(result: PrintedResult, session_id: str) -> None:
    if result.session_id not in (None, session_id):
        raise UserError(
            f"this result is of session {result.session_id}, not {session_id};"
            f" run `ccwire reconcile {result.session_id}`."
        )


def _last_seen(session: FoundSession, claude_dir: Path) -> float | None:
    """Return when the client was last seen: on the wire, or writing its transcript."""
    files = _files(ClaudeDir(claude_dir), session)
    seen = [path.stat().st_mtime for path in files.main if path.exists()]
    if session.folder is not None and has_session(session.folder):
        seen.append(read_manifest(session.folder).last_seen or 0.0)
    return max(seen, default=None)


def _with_result_notes(
    session: Reconciliation, result: PrintedResult, found: FoundSession, claude_dir: Path
) -> Reconciliation:
    lines = sum(session.records.get(name, 0) for name in ("user", "assistant"))
    turns = session.turns_without_call
    if session.is_captured:
        last_seen = _last_seen(found, claude_dir)
        notes = result_notes(result, session.calls, turns, lines, last_seen)
    else:
        written = _written(_files(ClaudeDir(claude_dir), found))
        is_compacted = bool(session.compacted_at)
        notes = uncaptured_notes(result, turns, lines, written, is_compacted=is_compacted)
    return replace(session, notes=(*session.notes, *notes))


def _written(files: SessionFiles) -> Written | None:
    """Return what the lines of a transcript show of a run; None without a time."""
    try:
        entries = read_conversation(files).entries
    except OSError:
        return None
    times = [entry.timestamp for entry in entries if entry.timestamp is not None]
    if not times:
        return None
    said = [(entry, text) for entry in entries if (text := prompt_text(entry)) is not None]
    is_woken = any(is_notification(entry, text) for entry, text in said)
    is_one = len(prompt_answers(entries)) == 1 and not is_woken
    return Written(min(times), max(times), is_one)
