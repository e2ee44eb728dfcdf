"""`ccwire pack`: pack a session into one deduplicated archive, or unpack it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import orjson

from addon.storage.files import locked
from ccwire.options import UserError, captures_option, claude_dir_option, json_option
from ccwire.output.tables import Column, console, count, print_table
from ccwire.session_argument import find_session
from ccwire.wire.format import EXCHANGES, MANIFEST, PART_SUFFIX
from ccwire.wire.pack import (
    PACK_SUFFIX,
    PackDamaged,
    PackedFile,
    described,
    exchange_files,
    packs,
    read_index,
    restore,
    sync_folder,
    verify,
    write_pack,
)
from correlate.captures.folder import session_folders

_QUIET_SECONDS = 10.0  # a session that was written to since is taken for one under way
_TEMPORARY = ".packing.tmp"


@dataclass(frozen=True, slots=True)
class PackOutcome:
    """What became of one session's folder."""

    session_id: str
    did: str  # packed, unpacked, nothing to do, busy
    files: int = 0
    before: int = 0
    after: int = 0


@click.command("pack")
@click.argument("session", required=False)
@click.option("--all", "every", is_flag=True, help="Every captured session that is not active.")
@click.option("--unpack", is_flag=True, help="Restore the files, byte for byte.")
@click.option("--keep", is_flag=True, help="Keep the packed files (or the archive) as well.")
@captures_option
@claude_dir_option
@json_option
def command(
    session: str | None,
    every: bool,
    unpack: bool,
    keep: bool,
    captures: Path,
    claude_dir: Path,
    as_json: bool,
) -> None:
    """Pack SESSION into one deduplicated archive, or unpack it.

    Every command reads packed sessions too. The archive is a tar file compressed with zstd.
    """
    if every == (session is not None):
        raise UserError("name one session, or give --all for every captured one.")
    outcomes = [
        _try(folder, unpack=unpack, keep=keep, skip_busy=every)
        for folder in _folders(session, captures, claude_dir)
    ]
    if as_json:
        click.echo(orjson.dumps({"sessions": outcomes}, option=orjson.OPT_INDENT_2))
    else:
        _print(outcomes)


class Busy(Exception):
    """A proxy is, or just was, writing into the folder."""


def pack_session(folder: Path, *, keep: bool = False, now: float | None = None) -> PackOutcome:
    """Killed at any moment, every file is in the folder or in a pack that was read to its end.

    A proxy that goes on with this session meanwhile waits; its client does not.
    """
    with locked(folder):
        _refuse_if_busy(folder, now)
        files = exchange_files(folder)
        older = packs(folder)
        size = _size([*files, *older])
        if not files and len(older) < 2:
            return PackOutcome(folder.name, "nothing to do", 0, size, size)
        pack, index = _pack(folder, files, older)
        _insist_on_all(index, files, [path for path in older if path != pack])
        for path in [*(p for p in older if p != pack), *([] if keep else files)]:
            path.unlink()
        after = _size([pack, *exchange_files(folder)])
    return PackOutcome(folder.name, "packed", len(files), size, after)


def unpack_session(folder: Path, *, keep: bool = False, now: float | None = None) -> PackOutcome:
    """Files first, then the pack goes: a kill leaves both."""
    with locked(folder):
        _refuse_if_busy(folder, now)
        (folder / _TEMPORARY).unlink(missing_ok=True)  # of a packing that was killed
        found = packs(folder)
        size = _size([*found, *exchange_files(folder)])
        if not found:
            return PackOutcome(folder.name, "nothing to do", 0, size, size)
        restored = {entry.name for pack in found for entry in restore(pack, folder)}
        for pack in [] if keep else found:
            pack.unlink()
        after = _size([*packs(folder), *exchange_files(folder)])
    return PackOutcome(folder.name, "unpacked", len(restored), size, after)


def _pack(
    folder: Path, files: Sequence[Path], older: Sequence[Path]
) -> tuple[Path, list[PackedFile]]:
    """The pack that holds them all, written if need be, and what it says when read again."""
    before = older[0] if older else None
    known = {entry.name for entry in read_index(before)} if before else set()
    new = [path for path in files if path.name not in known]
    if before is not None and not new:
        return before, verify(before)
    temporary = folder / _TEMPORARY
    try:
        write_pack(temporary, before, new)
        index = verify(temporary)
        pack = folder / f"{_highest(index):04d}{PACK_SUFFIX}"
        temporary.replace(pack)
        sync_folder(folder)
    finally:
        temporary.unlink(missing_ok=True)
    return pack, index


def _insist_on_all(
    index: Sequence[PackedFile], files: Sequence[Path], older: Sequence[Path]
) -> None:
    """Nothing may go that is not in the pack exactly as it is."""
    packed = {entry.name: entry for entry in index}
    there = [*map(described, files), *(entry for pack in older for entry in read_index(pack))]
    for entry in there:
        if packed.get(entry.name) != entry:
            raise PackDamaged(f"{entry.name} is not what was packed under that name")


def _refuse_if_busy(folder: Path, now: float | None) -> None:
    if any(folder.glob(f"*{PART_SUFFIX}")):
        raise Busy("an exchange is in flight")
    changed = [p.stat().st_mtime for name in (EXCHANGES, MANIFEST) if (p := folder / name).exists()]
    if max(changed, default=0.0) > (time.time() if now is None else now) - _QUIET_SECONDS:
        raise Busy(f"it was written to in the last {_QUIET_SECONDS:.0f} seconds")


def _try(folder: Path, *, unpack: bool, keep: bool, skip_busy: bool) -> PackOutcome:
    act = unpack_session if unpack else pack_session
    try:
        return act(folder, keep=keep)
    except Busy as busy:
        if skip_busy:
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


def _folders(session: str | None, captures: Path, claude_dir: Path) -> list[Path]:
    if session is None:
        found = session_folders(captures)
        if not found:
            raise UserError(f"there is no captured session in {captures}; give --captures DIR.")
        return found
    one = find_session(session, captures, claude_dir)
    if one.folder is None:
        raise UserError(f"session {one.session_id} has no capture in {captures} to pack.")
    return [one.folder]


def _highest(index: Sequence[PackedFile]) -> int:
    return max(int(entry.name.partition("_")[0]) for entry in index)


def _size(paths: Sequence[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


def _print(outcomes: Sequence[PackOutcome]) -> None:
    columns = [
        Column("session", grows=True),
        Column(""),
        Column("files", right=True),
        Column("before", right=True),
        Column("after", right=True),
    ]
    rows = [
        [
            outcome.session_id,
            outcome.did,
            count(outcome.files),
            f"{count(outcome.before)} B",
            f"{count(outcome.after)} B",
        ]
        for outcome in outcomes
    ]
    print_table(console(), columns, rows)
