"""`ccwire pack`: pack a session's exchange files, or unpack them."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from addon.storage.folder import is_session
from addon.storage.packing.pack import Busy, PackOutcome, pack_session, unpack_session
from ccwire.capture_folders import CaptureFolders
from ccwire.options import UserError, captures_option, claude_dir_option, json_option
from ccwire.output.tables import Column, count, print_table
from ccwire.output.terminal import console, echo, print_json
from ccwire.sessions.argument import find_session
from ccwire.wire.format import short_id
from ccwire.wire.pack.files import PackDamaged


@click.command("pack")
@click.argument("session", required=False)
@click.option("--all", "every", is_flag=True, help="Every captured session that is not active.")
@click.option("--unpack", is_flag=True, help="Restore the files, byte for byte.")
@click.option("--keep", is_flag=True, help="Keep the packed files (or the pack) as well.")
@captures_option
@claude_dir_option
@json_option
def command(
    session: str | None,
    every: bool,
    unpack: bool,
    keep: bool,
    captures: CaptureFolders,
    claude_dir: Path,
    as_json: bool,
) -> None:
    """Pack the exchange files of SESSION, or unpack them.

    Packs contain repeated text once. A capture packs a session by itself when it ends, and its
    older exchanges before that. Every command reads packed sessions too.
    """
    if every == (session is not None):
        raise UserError("name one session, or give --all for every captured one.")
    outcomes = [
        _try(folder, unpack=unpack, keep=keep, skip_busy=every)
        for folder in _folders(session, captures, claude_dir)
    ]
    if as_json:
        print_json({"sessions": [asdict(outcome) for outcome in outcomes]})
    else:
        _print(outcomes)


def _try(folder: Path, *, unpack: bool, keep: bool, skip_busy: bool) -> PackOutcome:
    if not is_session(folder):
        raise UserError(f"{folder} has no manifest or index of a capture; it was left as it is.")
    act = unpack_session if unpack else pack_session
    try:
        return act(folder, keep=keep)
    except Busy as busy:
        if skip_busy:
            echo(f"session {folder.name} is being captured ({busy}); skipped.", err=True)
            return PackOutcome(folder.name, "busy")
        raise UserError(
            f"session {folder.name} is being captured ({busy}); try again after it ends."
        ) from None
    except PackDamaged as damage:
        raise UserError(f"{folder}: {damage}; nothing was removed.") from None
    except OSError as error:
        raise UserError(
            f"{folder}: {error.strerror}; no data was lost, fix the cause and try again."
        ) from error


def _folders(session: str | None, captures: CaptureFolders, claude_dir: Path) -> list[Path]:
    if session is None:
        found = captures.session_folders
        if not found:
            raise UserError(f"there is no captured session in {captures}; give --captures DIR.")
        return found
    one = find_session(session, captures, claude_dir)
    if one.folder is None:
        raise UserError(f"session {one.session_id} has no capture in {captures} to pack.")
    return [one.folder]


def _print(outcomes: Sequence[PackOutcome]) -> None:
    columns = [
        Column("session"),
        Column(""),
        Column("files", right=True),
        Column("before", right=True),
        Column("after", right=True),
    ]
    rows = [
        [
            short_id(outcome.session_id),
            outcome.did,
            count(outcome.files),
            f"{count(outcome.before)} B",
            f"{count(outcome.after)} B",
        ]
        for outcome in outcomes
    ]
    print_table(console(), columns, rows)
