"""Ends the proxy with the process that started it, however that process ends.

The parent holds the other end of the proxy's stdin. The kernel closes it when the parent exits or
is killed, and the proxy then stops as if asked to: exchanges in flight are recorded first. On Linux
the kernel also sends a signal when the parent's thread is gone, should another process have
inherited that end.
"""

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from addon.lifetime import scratch

STOP_SECONDS = 20.0  # to finish all files; it is ended after that
_STDIN = 0
_PR_SET_PDEATHSIG = 1


def run_tied(main: Callable[[], object], parent: int, folder: str) -> None:
    """Run `main` until the parent is gone, with a folder for the run's files unless it is empty."""
    signal.signal(signal.SIGTERM, _leave)  # mitmproxy replaces it once it has started
    held = Path(folder) if folder else None
    try:
        threading.Thread(target=_stop_at_end, args=(held,), daemon=True).start()
        stop_on_death_of(parent)
        if held is not None:
            scratch.hold(held)
            tempfile.tempdir = folder
        main()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if held is not None:
            scratch.remove(held)


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _stop_at_end(held: Path | None) -> None:
    try:
        while os.read(_STDIN, 1):
            pass
    except OSError:
        pass  # no parent can be watched: as if it were gone
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_SECONDS)
    if held is not None:
        scratch.remove(held)
    os._exit(1)


def stop_on_death_of(parent: int) -> None:
    """Send this process SIGTERM when its parent ends; only Linux can tell."""
    if sys.platform == "linux":
        import ctypes  # slow to import, and present in mitmproxy's own process only

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
