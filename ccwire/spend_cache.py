"""What `ccwire spend` has read of transcripts, kept in the user's home: ids and counts, no text.

It saves time only: a missing, damaged or foreign file is the same as none. A home that cannot be
written makes no command fail.
"""

import contextlib
from collections.abc import Mapping
from pathlib import Path

from addon.storage.files import locked, write_whole
from addon.storage.home import make_home
from ccwire.wire.json_text import as_dict, dump, parse_json
from ccwire.wire.regular_file import read_regular
from correlate.spend.files import FileRecord, read_file
from correlate.spend.stored import record_of_json, record_to_json

SPEND_CACHE = "spend-cache.json"
VERSION = 2


def read_records(paths: list[str], home: Path | None) -> dict[str, FileRecord]:
    """Return the records of all files, read as far as they have changed; unreadable ones omitted.

    `home` is the folder of the cache; None: no cache.
    """
    known = _read(home / SPEND_CACHE) if home is not None else {}
    records: dict[str, FileRecord] = {}
    for path in paths:
        before = record_of_json(known.get(path)) if path in known else None
        if (record := read_file(path, before)) is not None:
            records[path] = record
        if record is not before:
            known[path] = None
    is_new = any(known.get(path) is None for path in records)
    if home is not None and is_new:
        _write(home, records)
    return records


def _write(home: Path, records: Mapping[str, FileRecord]) -> None:
    """Add the records to the file, without those whose transcript is gone."""
    with contextlib.suppress(OSError), locked(make_home(home)):
        others = {
            path: record
            for path, record in _read(home / SPEND_CACHE).items()
            if path not in records and Path(path).is_file()
        }
        files = {**others, **{path: record_to_json(record) for path, record in records.items()}}
        write_whole(home / SPEND_CACHE, dump({"version": VERSION, "files": files}))


def _read(path: Path) -> dict[str, object]:
    try:
        document = as_dict(parse_json(read_regular(path)))
    except (OSError, ValueError):
        return {}
    return as_dict(document.get("files")) if document.get("version") == VERSION else {}
