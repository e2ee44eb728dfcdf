"""Moves an exchange from `unknown/` to the session it turned out to belong to.

Only the first lines of its files change; bodies are copied byte for byte.
"""

import re
from dataclasses import replace

import orjson

from addon.format import Exchange
from addon.identity import Identity
from addon.store import CaptureStore, Slot, write_whole

_HEAD = re.compile(
    rb'\A\{\n"format": (\d+),\n"session_id": [^\n]*\n"identified_by": [^\n]*\n'
    rb'("flow_id": [^\n]*\n)"sequence": \d+,\n'
)


def refile(
    store: CaptureStore, slot: Slot, identity: Identity, line: Exchange | None = None
) -> tuple[Slot, Exchange | None]:
    """Gives the exchange's new place; its files are there, whole, before the old ones go.

    `line` is that of a finished exchange: it stands in the new part until it is in the books.
    """
    new = store.open_slot(identity.session_id, slot.path)
    if line is not None:
        line = replace(line, sequence=new.sequence, identified_by=identity.identified_by)
        new.part.write(orjson.dumps({"exchange": line.to_json()}) + b"\n")
    for old_file, new_file in (
        (slot.request_file, new.request_file),
        (slot.response_file, new.response_file),
    ):
        if old_file.exists():
            write_whole(new_file, with_identity(old_file.read_bytes(), identity, new.sequence))
    if line is None:
        slot.part.seek(0)
        while data := slot.part.read(1 << 20):
            new.part.write(data)
        slot.part.close()
    for path in (slot.part_file, slot.response_file, slot.request_file):
        path.unlink(missing_ok=True)
    return new, line


def with_identity(data: bytes, identity: Identity, sequence: int) -> bytes:
    """A capture file's bytes with another session at their head."""

    def head(found: re.Match[bytes]) -> bytes:
        return b'{\n"format": %s,\n"session_id": %s,\n"identified_by": %s,\n%s"sequence": %d,\n' % (
            found[1],
            orjson.dumps(identity.session_id),
            orjson.dumps(identity.identified_by),
            found[2],
            sequence,
        )

    changed, count = _HEAD.subn(head, data, count=1)
    if not count:
        raise ValueError("not a capture file")
    return changed
