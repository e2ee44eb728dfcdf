"""`ccwire scrub`: copy a session with every text replaced, to attach to a bug report."""

import secrets
import shutil
from pathlib import Path

import click

from ccwire.capture_folders import CaptureFolders
from ccwire.command_name import command_line
from ccwire.options import UserError, captures_option, claude_dir_option, json_option
from ccwire.output.tables import numbered, progress_bar
from ccwire.output.terminal import console, print_json
from ccwire.sessions.argument import LATEST, any_session
from ccwire.wire.pack.files import PackDamaged
from correlate.scrub.copy import KEPT_WORDS, Copied, Scrubbing
from correlate.transcript.locate import ClaudeDir

_KEY_BYTES = 32


@click.command("scrub")
@click.argument("session", default=LATEST)
@click.option(
    "-o",
    "--output",
    "target",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The folder for the copy; it must be new or empty.",
)
@captures_option
@claude_dir_option
@json_option
def command(
    session: str, target: Path, captures: CaptureFolders, claude_dir: Path, as_json: bool
) -> None:
    """Copy SESSION for sharing, with every text replaced by filler of the same length.

    Without SESSION, it is the latest captured one. Ids and paths are renamed consistently in all
    files. Structure, sizes, timing and usage stay, so reconcile and schema give the same results
    for the copy. DIR/kept-words.txt lists every word that was kept.
    """
    if target.is_symlink() or (target.exists() and not _is_empty(target)):
        raise UserError(f"{target} exists and is not an empty folder; give -o another name.")
    found = any_session(session, captures, claude_dir)
    scrubbing = Scrubbing(captures.sessions, ClaudeDir(claude_dir), secrets.token_bytes(_KEY_BYTES))
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        unfinished.mkdir(parents=True, mode=0o700)
    except FileExistsError:
        raise UserError(
            f"{unfinished} is left over from an interrupted scrub; remove it."
        ) from None
    try:
        parts = scrubbing.parts(found.session_id, found.folder)
        with progress_bar("scrub", scrubbing.size(parts)) as advance:
            copied = scrubbing.write(parts, unfinished, advance)
        unfinished.replace(target)
    except PackDamaged as damage:
        raise UserError(f"{damage}; repair or remove the pack first.") from None
    except OSError as error:
        raise UserError(
            f"could not copy {error.filename or found.session_id}: {error.strerror}; "
            "fix that and try again."
        ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    _print(copied, target, as_json)


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def _print(copied: Copied, target: Path, as_json: bool) -> None:
    if as_json:
        print_json({**_as_json(copied), "path": str(target)})
        return
    to = console()
    more = (
        f", with {len(copied.other_sessions)} it was forked from" if copied.other_sessions else ""
    )
    to.print(f"Session {copied.session_id} in {target}: {numbered(copied.files, 'file')}{more}.")
    to.print(f"{copied.kept_words} words were kept; review them in {target / KEPT_WORDS}.")
    to.print(
        f"Read it with `{command_line('reconcile')} {copied.session_id} "
        f"--captures {target / 'captures'} --claude-dir {target / 'claude'}`.",
        soft_wrap=True,
    )


def _as_json(copied: Copied) -> dict[str, object]:
    return {
        "session_id": copied.session_id,
        "other_sessions": list(copied.other_sessions),
        "files": copied.files,
        "bytes": copied.size,
        "kept_words": copied.kept_words,
    }
