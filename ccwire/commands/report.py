"""`ccwire report`: write a session as one HTML page."""

import os
import stat
import webbrowser
from pathlib import Path

import click

from addon.hooks.sessions import default_sessions_path, read_sessions
from addon.storage.home import REPORTS, find_home, make_home, report_name
from ccwire.capture_folders import CaptureFolders
from ccwire.options import UserError, captures_option, claude_dir_option, raw_option
from ccwire.output.redacted import redacted, redacted_values
from ccwire.output.tables import progress_bar
from ccwire.output.terminal import echo
from ccwire.sessions.argument import LATEST, FoundSession, any_session
from ccwire.sessions.heads import hook_records
from correlate.captures.folder import transcript_files
from correlate.reconcile.session import SessionReconciler
from correlate.report.model import page_model
from correlate.report.page import render
from correlate.report.source import Source, content_size, read_source
from correlate.transcript.lineage import HookRecords
from correlate.transcript.locate import ClaudeDir


@click.command("report")
@click.argument("session", default=LATEST)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write (default: ~/.ccwire/reports/<id>.html).",
)
@click.option("--open", "open_it", is_flag=True, help="Open the page in the browser.")
@click.option("--compare", metavar="B", help="Compare with another session.")
@captures_option
@claude_dir_option
@raw_option
def command(
    session: str,
    output: Path | None,
    open_it: bool,
    compare: str | None,
    captures: CaptureFolders,
    claude_dir: Path,
) -> None:
    """Write SESSION (an id, a unique prefix, a folder, or `latest`) as one HTML file.

    Without SESSION, it is the latest captured one. The file is self-contained and needs no
    network. It contains text of the session: share it with the same care as the capture.
    """
    found = any_session(session, captures, claude_dir)
    other = any_session(compare, captures, claude_dir) if compare else None
    if other and other.session_id == found.session_id:
        raise UserError(f"--compare {compare} is session {found.session_id} too; name another one.")
    claude = ClaudeDir(claude_dir)
    reconciler = SessionReconciler(captures.sessions, claude)
    source = _source(found, reconciler, claude)
    model = page_model(source, _source(other, reconciler, claude) if other else None, redacted)
    page = render(redacted_values(model))
    target = output or _default_target(found, other)
    try:
        size = _write(target, page.encode("utf-8", "backslashreplace"), follow=output is not None)
    except OSError as error:
        raise UserError(
            f"cannot write {target} ({error.strerror}); give another file with -o."
        ) from None
    echo(f"{target} ({size:,} bytes)")
    if open_it and not webbrowser.open(target.resolve().as_uri()):
        raise UserError(f"no browser could be started; open {target.resolve()} yourself.")


def _default_target(session: FoundSession, other: FoundSession | None) -> Path:
    """Return a file in the home, not in the current folder, which may be shared or committed."""
    home = find_home(os.environ)
    if home is None:
        raise UserError("you have no home directory for the report; give a file with -o.")
    try:
        folder = make_home(home, REPORTS)
    except OSError as error:
        why = error.strerror
        raise UserError(f"cannot write to {home} ({why}); give a file with -o.") from None
    return folder / report_name(session.session_id, other.session_id if other else None)


def _write(target: Path, page: bytes, *, follow: bool) -> int:
    """Write a file as private as the capture that it shows; follow a link if the user named it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | (0 if follow else os.O_NOFOLLOW)
    with os.fdopen(os.open(target, flags, 0o600), "wb") as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            os.fchmod(file.fileno(), 0o600)
        return file.write(page)


def _source(session: FoundSession, reconciler: SessionReconciler, claude: ClaudeDir) -> Source:
    folder, session_id = session.folder, session.session_id
    files = transcript_files(claude, folder, session_id) if folder else claude.session(session_id)
    with progress_bar("transcripts", files.size) as advance:
        account = reconciler.reconcile(folder, session_id, progress=advance)
    with progress_bar("captures", content_size(account)) as advance:
        return read_source(folder, account, claude, advance, redacted, _hooks(session_id))


def _hooks(session_id: str) -> HookRecords:
    every = read_sessions(default_sessions_path())
    return hook_records(entry for entry in every if entry.session_id == session_id)
