"""The size of captures on disk: sums of the sizes of their files, links not followed."""

import os
from dataclasses import dataclass
from pathlib import Path

from ccwire.wire.format import UNKNOWN
from correlate.captures.folder import session_folders


@dataclass(frozen=True, slots=True)
class CapturesSize:
    """The size of a capture folder; `is_whole` is False if not all of it was measured."""

    bytes: int
    sessions: int
    is_whole: bool = True


def folder_bytes(folder: Path) -> int:
    """Return the size of the files in a session's folder; 0 if it cannot be read."""
    return _measured(folder)[0]


def captures_size(captures: Path, most_files: int | None = None) -> CapturesSize:
    """Return the size of all sessions; measuring ends with the folder of file `most_files`."""
    sessions = session_folders(captures)
    size, files = _measured(captures)
    for folder in (captures / UNKNOWN, *sessions):
        if most_files is not None and files >= most_files:
            return CapturesSize(size, len(sessions), is_whole=False)
        more, found = _measured(folder)
        size, files = size + more, files + found
    return CapturesSize(size, len(sessions))


def _measured(folder: Path) -> tuple[int, int]:
    """Return the size and the number of a folder's own files."""
    size = count = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    count += 1
                    size += _size(entry)
    except OSError:
        pass
    return size, count


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:  # it was removed in the meantime
        return 0
