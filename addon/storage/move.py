"""Moves finished exchanges from `unknown/` to their session once it is known.

Only the first lines of a file change; bodies are copied byte for byte. A part file in the new
folder records the move until both indexes are written, so that recovery can finish it after a kill.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from addon.identity.session import Identity
from addon.storage.files import read_pieces, write_pieces
from addon.storage.folder import CaptureStore, Slot
from ccwire.wire.format import Exchange, file_name
from ccwire.wire.json_text import dump
from ccwire.wire.vocabulary import DIRECTIONS

MOVED = "moved"

_HEAD = re.compile(
    rb'\A\{\n"format": (\d+),\n"session_id": [^\n]*\n"identified_by": [^\n]*\n'
    rb'("flow_id": [^\n]*\n)"sequence": \d+,\n'
)


def refile(
    store: CaptureStore, slot: Slot, line: Exchange, identity: Identity
) -> tuple[Slot, Exchange]:
    """Move an exchange; return its new slot and line. The index releases the new part file."""
    new = store.open_slot(identity.session_id, slot.path)
    moved = replace(line, sequence=new.sequence, identified_by=identity.identified_by)
    new.note(dump({MOVED: {"from": slot.sequence, "line": moved.to_json()}}))
    _move_files(slot.folder, slot.sequence, new.folder, moved)
    return new, moved


def finish_move(unknown: Path, folder: Path, moved: dict[str, Any]) -> Exchange:
    """Finish an interrupted move from the record in its part file."""
    line = Exchange.from_json(moved["line"])
    _move_files(unknown, moved["from"], folder, line)
    return line


def _move_files(old_folder: Path, old_sequence: int, folder: Path, line: Exchange) -> None:
    """Move both files; each is complete in the new folder before the old one is removed."""
    for direction in DIRECTIONS:
        old = old_folder / file_name(old_sequence, direction, line.path)
        if old.exists():
            new = folder / file_name(line.sequence, direction, line.path)
            identity = Identity(folder.name, line.identified_by)
            write_pieces(new, _with_identity(read_pieces(old), identity, line.sequence))
            old.unlink()


def _with_identity(pieces: Iterator[bytes], identity: Identity, sequence: int) -> Iterator[bytes]:
    """Yield a capture file with another session in its head, which is in its first piece."""
    yield with_identity(next(pieces, b""), identity, sequence)
    yield from pieces


def with_identity(data: bytes, identity: Identity, sequence: int) -> bytes:
    """Return a capture file's bytes with another session in its head."""

    def head(found: re.Match[bytes]) -> bytes:
        return b'{\n"format": %s,\n"session_id": %s,\n"identified_by": %s,\n%s"sequence": %d,\n' % (
            found[1],
            dump(identity.session_id),
            dump(identity.identified_by),
            found[2],
            sequence,
        )

    changed, count = _HEAD.subn(head, data, count=1)
    if not count:
        raise ValueError("not a capture file")
    return changed
