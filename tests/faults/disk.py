"""A disk that fills up or turns read-only while a proxy captures to it.

Uses a small tmpfs where one can be mounted. Elsewhere, a limit on the proxy's file size simulates
the full disk, and a file in place of the session's folder simulates the read-only disk.
"""

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SMALL = 2 << 20
_LIMIT = 16 << 10  # larger than the proxy's log, smaller than a request


class Disk:
    """A disk that contains `captures`; `full` and `read_only` are context managers."""

    def __init__(self, captures: Path, mounted: bool) -> None:
        self.captures = captures
        self._mounted = mounted

    @contextmanager
    def full(self, pid: int) -> Iterator[None]:
        if not self._mounted:
            soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (_LIMIT, hard))
            yield
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))
            return
        filler = self.captures / "filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            for size in (1 << 16, 1):
                with suppress(OSError):
                    while file.write(b"\0" * size):
                        pass
        yield
        filler.unlink()

    @contextmanager
    def read_only(self, session: str) -> Iterator[None]:
        if self._mounted:
            _mount("-o", "remount,ro", str(self.captures))
            yield
            _mount("-o", "remount,rw", str(self.captures))
            return
        folder = self.captures / session
        aside = self.captures / f"aside.{session}"
        folder.rename(aside)
        folder.touch()
        yield
        folder.unlink()
        aside.rename(folder)


@contextmanager
def disk(folder: Path, size: int = _SMALL) -> Iterator[Disk]:
    captures = folder / "captures"
    captures.mkdir()
    mounted = _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(captures))
    try:
        yield Disk(captures, mounted)
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(captures)], check=True)


def _mount(*arguments: str) -> bool:
    try:
        ran = subprocess.run(["mount", *arguments], capture_output=True, check=False)
    except OSError:
        return False
    return ran.returncode == 0
