"""What `ccwire spend` has read of transcripts, kept in the user's home: ids and counts, no text.

It saves time only: a missing, damaged or foreign file is the same as none. A home that cannot be
written makes no command fail.
"""

import contextlib
import os
import sys
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from addon.storage.files import locked, write_whole
from addon.storage.home import CAPTURES, make_home
from addon.storage.registry import REGISTRY
from ccwire.capture_folders import CaptureFolders
from ccwire.kept_output import KEPT, is_settled, question, states_of, with_output
from ccwire.wire.format import EXCHANGES, MANIFEST
from ccwire.wire.json_text import as_dict, dump, parse_json
from ccwire.wire.regular_file import read_regular
from correlate.spend.files import TRANSCRIPT_FOLDERS, FileRecord, read_file, transcript_folders
from correlate.spend.stored import record_of_json, record_to_json
from correlate.transcript.client_records import STATS_CACHE

SPEND_CACHE = "spend-cache.json"
VERSION = 4


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


def watched_states(home: Path, claude_dir: Path, captures: CaptureFolders) -> dict[str, str] | None:
    """Return the states of all that decides what `spend` prints; None if that is not certain."""
    try:
        # Not normalised: `link/..` is not where the link is.
        here = os.getcwd()  # noqa: PTH109
        paths = _watched(home, claude_dir, captures)
        return states_of(os.path.join(here, path) for path in paths)  # noqa: PTH118
    except OSError:
        return None


def keep_output(home: Path, watched: dict[str, str], text: str) -> None:
    """Keep what was printed, for `ccwire.kept_output` to print it again."""
    if not is_settled(watched, time.time_ns()):
        return
    with contextlib.suppress(OSError, ValueError):
        try:
            before = read_regular(home / KEPT, follow=False)
        except FileNotFoundError:
            before = b""
        write_whole(make_home(home) / KEPT, with_output(before, watched, question(), text))


def _watched(home: Path, claude_dir: Path, captures: CaptureFolders) -> Iterator[str | Path]:
    yield from (claude_dir / STATS_CACHE, home / REGISTRY, "/etc/localtime", sys.argv[0])
    yield from (claude_dir / name for name in TRANSCRIPT_FOLDERS)
    for place, folders, names in transcript_folders(claude_dir):
        yield from (f"{place}{os.sep}{name}" for name in folders)
        kinds = (".jsonl", ".meta.json")
        yield from (f"{place}{os.sep}{name}" for name in names if name.endswith(kinds))
    for captured in dict.fromkeys((*captures.folders, home / CAPTURES, Path(CAPTURES))):
        yield captured
        for session in captured.iterdir() if captured.is_dir() else ():
            yield from (session, session / EXCHANGES, session / MANIFEST)


def _write(home: Path, records: Mapping[str, FileRecord]) -> None:
    """Add the records to the file, without those whose transcript is gone."""
    with contextlib.suppress(OSError), locked(make_home(home)):
        others = {
            path: record
            for path, record in _read(home / SPEND_CACHE).items()
            if path not in records and Path(path).is_file()
        }
        files = {**others, **{path: record_to_json(record) for path, record in records.items()}}
        body = dump(files)
        write_whole(home / SPEND_CACHE, _head(body) + body + b"}")


def _read(path: Path) -> dict[str, object]:
    """Return the records by path; none if the file is damaged or of another version."""
    try:
        data = read_regular(path)
        body = data[len(_head(b"")) : -1]
        if data != _head(body) + body + b"}":
            return {}
        return as_dict(parse_json(body))
    except (OSError, ValueError):
        return {}


def _head(body: bytes) -> bytes:
    """Return how the file begins; what follows is checked by its sum."""
    return b'{"version":%d,"crc32":"%08x","files":' % (VERSION, zlib.crc32(body))
