"""`ccwire prune`: delete old captures."""

import os
import shlex
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import click

from addon.hooks.sessions import default_sessions_path
from addon.storage.home import REPORTS, find_home, is_report_of
from addon.storage.prune import (
    Deleted,
    InUse,
    delete_log_of_none,
    delete_session,
    finish,
    unfinished,
    why_in_use,
)
from addon.storage.prune_choice import Candidate, Conditions, choose
from ccwire.capture_folders import CaptureFolders
from ccwire.command_name import command_line
from ccwire.options import UserError, captures_option, claude_dir_option, json_option, raw_option
from ccwire.output.prune import PruneReport, print_prune, prune_json
from ccwire.output.tables import numbered
from ccwire.output.terminal import console, print_json
from ccwire.sessions.argument import find_session
from ccwire.sessions.filters import Project, parse_age, parse_size, parsed, project_option
from ccwire.sessions.heads import SessionHead, is_running, running_sessions, session_heads
from ccwire.wire.format import EXCHANGES, MANIFEST, UNKNOWN
from correlate.captures.folder import read_manifest
from correlate.captures.size import folder_bytes

_ARGUMENTS = "ccwire.prune.arguments"


class _Repeatable(click.Command):
    """Keeps its arguments, for the hint with which to repeat it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)


@click.command("prune", cls=_Repeatable)
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@click.option(
    "--older",
    metavar="AGE",
    callback=parsed(parse_age),
    help="Sessions last used longer ago than AGE: 30d, 24h, 2w.",
)
@click.option(
    "--larger-than",
    metavar="SIZE",
    callback=parsed(parse_size),
    help="The oldest sessions, until all together have at most SIZE: 5GB, 500MB.",
)
@click.option(
    "--keep",
    metavar="N",
    type=click.IntRange(min=0),
    help="Never the newest N sessions; without another condition, all but those.",
)
@project_option
@click.option("--yes", is_flag=True, help="Delete; without it, only list what would be deleted.")
@captures_option
@claude_dir_option
@json_option
@raw_option
@click.pass_context
def command(
    ctx: click.Context,
    sessions: tuple[str, ...],
    older: float | None,
    larger_than: int | None,
    keep: int | None,
    project: Project | None,
    yes: bool,
    captures: CaptureFolders,
    claude_dir: Path,
    as_json: bool,
) -> None:
    """Delete old captures: each SESSION, and those that any condition asks for.

    Nothing is deleted without --yes, and never a session that is running or being captured. The
    conditions are about the sessions of --project, if it is given. `unknown` is deleted if it is
    named or old, traffic.log with the last session. Transcripts are not touched.
    """
    if not sessions and older is None and larger_than is None and keep is None:
        raise UserError("give --older AGE, --larger-than SIZE, --keep N or a SESSION to delete.")
    if sessions and project:
        raise UserError("name sessions or give --project, not both.")
    now = time.time()
    heads = _heads(captures, claude_dir)
    named = frozenset(_named(text, captures, claude_dir) for text in sessions)
    conditions = Conditions(
        named=named,
        older_than=None if older is None else now - older,
        larger_than=larger_than,
        keep=keep,
    )
    running = running_sessions(claude_dir, default_sessions_path())
    fitting = [head for head in heads if not project or project.matches(head.found_project())]
    choice = choose((_candidate(head, running, now) for head in fitting), conditions)
    left = [hidden for folder in captures.folders for hidden in unfinished(folder)]
    reports = _reports({one.session_id for one, _ in choice.delete})
    report = PruneReport(choice.delete, choice.spared, left, reports=reports)
    if yes:
        report = _carried_out(report, captures)
    if as_json:
        print_json(prune_json(report))
    else:
        again = command_line(shlex.join(["prune", "--yes", *ctx.meta[_ARGUMENTS]]))
        print_prune(console(), report, {head.session_id: head for head in heads}, again)
    if report.problems:
        (folder, first), *_ = report.problems.items()
        what = numbered(len(report.problems), "session")
        raise UserError(f"{what} could not be deleted; {folder}: {first}.")


def _carried_out(report: PruneReport, captures: CaptureFolders) -> PruneReport:
    """Delete what the report lists; what fails does not keep the others."""
    deleted: dict[Path, Deleted] = {}
    problems: dict[Path, str] = {}
    work: list[tuple[Path, Callable[[Path], Deleted]]] = [
        *((hidden, finish) for hidden in report.unfinished),
        *((one.folder, delete_session) for one, _ in report.chosen),
    ]
    for folder, act in work:
        try:
            deleted[folder] = act(folder)
        except InUse as why:
            problems[folder] = str(why)
        except OSError as error:
            problems[folder] = error.strerror or str(error)
    for page in _reports({one.session_id for one in deleted.values()}):
        page.unlink(missing_ok=True)
    touched = {folder.parent for folder in deleted}
    has_log_gone = sum(delete_log_of_none(folder) for folder in sorted(touched)) > 0
    return replace(
        report, dry_run=False, deleted=deleted, problems=problems, has_log_gone=has_log_gone
    )


def _reports(session_ids: Collection[str]) -> list[Path]:
    """Return the pages that `ccwire report` wrote to the home for these sessions."""
    home = find_home(os.environ)
    folder = home / REPORTS if home else None
    if folder is None or not folder.is_dir():
        return []
    return sorted(
        page
        for page in folder.iterdir()
        if any(is_report_of(page.name, one) for one in session_ids)
        and page.is_file()
        and not page.is_symlink()
    )


def _heads(captures: CaptureFolders, claude_dir: Path) -> list[SessionHead]:
    """Return every captured session, each folder of one that has several, and `unknown`."""
    known = session_heads(captures.sessions, claude_dir, default_sessions_path(), every=True)
    heads = {head.session_id: head for head in known}
    found = [
        replace(heads[folder.name], folder=folder, manifest=read_manifest(folder))
        for folder in captures.session_folders
    ]
    for unknown in captures.unknown:
        if not unknown.is_symlink():
            found.append(SessionHead(UNKNOWN, unknown, read_manifest(unknown), None, None))
    return found


def _named(text: str, captures: CaptureFolders, claude_dir: Path) -> str:
    if text == UNKNOWN:
        if not captures.unknown:
            raise UserError(f"there is no {UNKNOWN} in {captures} to delete.")
        return UNKNOWN
    found = find_session(text, captures, claude_dir)
    if found.folder is None:
        raise UserError(f"session {found.session_id} has no capture in {captures} to delete.")
    return found.session_id


def _candidate(head: SessionHead, running: Collection[str], now: float) -> Candidate:
    folder = _folder(head)
    is_running = head.session_id in running or _has_running_client(head)
    in_use = "its client is running" if is_running else why_in_use(folder, now)
    return Candidate(head.session_id, folder, _last_used(head), folder_bytes(folder), in_use)


def _has_running_client(head: SessionHead) -> bool:
    """Whether a process that made its calls still runs; of a client without hooks, too."""
    manifest = head.manifest
    if manifest is None or head.session_id == UNKNOWN:
        return False
    return any(is_running(pid, manifest.last_seen) for pid in manifest.pids)


def _folder(head: SessionHead) -> Path:
    assert head.folder is not None
    return head.folder


def _last_used(head: SessionHead) -> float:
    """Return when the last exchange ended; if no manifest says so, when the index was written."""
    if head.manifest is not None and head.manifest.last_seen is not None:
        return head.manifest.last_seen
    paths = (_folder(head) / name for name in (EXCHANGES, MANIFEST))
    return max((path.lstat().st_mtime for path in paths if path.is_file()), default=0.0)
