"""A simulated disk with limited free space that behaves like Linux: a short write, then ENOSPC."""

import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


class FullDisk:
    def __init__(self) -> None:
        self.room: int | None = None  # None: unlimited

    def take(self, size: int) -> int:
        if self.room is None:
            return size
        taken = min(size, self.room)
        if size and not taken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= taken
        return taken


@contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[FullDisk]:
    """Put every file that is opened in the `with` block on that disk."""
    disk = FullDisk()

    class File(io.FileIO):
        def write(self, data: Any) -> int:
            return super().write(memoryview(data)[: disk.take(len(data))])

    def fdopen(descriptor: int, mode: str, buffering: int = -1) -> io.FileIO:
        assert buffering == 0
        return File(descriptor, mode)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdopen", fdopen)
        yield disk
