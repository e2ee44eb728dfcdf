"""The size of captures on disk: sums of the sizes of their files, links not followed."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class CapturesSize:
    """The size of several folders; `is_whole` is False if not all of them were measured."""

    bytes: int
    folders: int
    is_whole: bool = True


def folder_bytes(folder: Path) -> int:
    """Return the size of the files in a session's folder; 0 if it cannot be read."""
    return _measured(folder)[0]


def captures_size(folders: Iterable[Path], most_files: int | None = None) -> CapturesSize:
    """Return the size of the folders; measuring ends after the folder with file `most_files`."""
    size = files = count = 0
    is_whole = True
    for folder in folders:
        count += 1
        if most_files is not None and files >= most_files:
            is_whole = False
            continue
        more, found = _measured(folder)
        size, files = size + more, files + found
    return CapturesSize(size, count, is_whole)


def _measured(folder: Path) -> tuple[int, int]:
    """Return the size and the number of a folder's files."""
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
