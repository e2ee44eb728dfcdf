"""Open and read files that others may have written: regular files only, and of a bounded size.

A pipe or a device in place of a file would block a reader or never end. The hook, which may import
the standard library only, has its own `read_bytes` in `addon.hooks.client_process`.
"""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_LARGEST = 2 << 30  # that is read at once


def open_regular(path: Path, *, follow: bool = True, buffering: int = -1) -> BinaryIO:
    """Open a regular file for reading; raise OSError for anything else.

    Without `follow`, a symbolic link is refused: nothing in a capture folder is one.
    """
    descriptor = os.open(path, _FLAGS if follow else _FLAGS | NO_LINKS)
    try:
        insist_on_regular(descriptor, path)
        return os.fdopen(descriptor, "rb", buffering=buffering)
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path, *, follow: bool = True) -> bytes:
    """Return the content of a regular file; raise OSError, also if it is too large."""
    with open_regular(path, follow=follow, buffering=0) as file:
        if os.fstat(file.fileno()).st_size > _LARGEST:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
        return file.read()


def is_file(path: Path) -> bool:
    """Whether there is a file; unlike `Path.is_file`, False where that may not be looked up."""
    return os.path.isfile(path)  # noqa: PTH113


def insist_on_regular(descriptor: int, path: Path) -> None:
    """Raise OSError unless the open file is a regular one."""
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
