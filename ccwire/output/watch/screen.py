"""The terminal of the live view: uses the alternate screen, reads keys, restores the terminal.

The terminal is restored however the view ends: by a key, by Ctrl-C, or by a signal. The layout is
in `ccwire.output.watch.frame`.
"""

import os
import re
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console
from rich.live import Live

from ccwire.output.watch.frame import FrameView
from correlate.watch.frame import Frame

try:
    import termios
    import tty
except ImportError:  # Windows: no keys, Ctrl-C ends the view
    termios = None  # type: ignore[assignment]

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?")
_ENDING = ("SIGTERM", "SIGHUP")


class ScreenEnded(Exception):
    """A signal asked the view to end."""

    def __init__(self, number: int) -> None:
        self.exit_code = 128 + number


class LiveScreen:
    """The alternate screen of the terminal, until the block ends."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, screen=True, auto_refresh=False)

    @contextmanager
    def open(self) -> Iterator["LiveScreen"]:
        with _signals(), _keys_unbuffered(), self._live:
            yield self

    def show(self, frame: Frame) -> None:
        self._live.update(FrameView(frame, self._console.height), refresh=True)

    def keys(self, seconds: float) -> str:
        """Return the keys typed within `seconds`, without escape sequences."""
        if termios is None or not sys.stdin.isatty():
            select.select([], [], [], seconds)
            return ""
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        if not ready:
            return ""
        typed = os.read(sys.stdin.fileno(), 64).decode("utf-8", "replace")
        return _ESCAPES.sub("", typed)


@contextmanager
def _signals() -> Iterator[None]:
    """Turn a signal to end into an exception, so that every context manager exits."""

    def end(number: int, _: FrameType | None) -> None:
        raise ScreenEnded(number)

    numbers = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _keys_unbuffered() -> Iterator[None]:
    """Read keys unbuffered and without echo; Ctrl-Z, which skips the restoring, is disabled."""
    if termios is None or not sys.stdin.isatty():
        yield
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        now = termios.tcgetattr(terminal)
        now[6][termios.VSUSP] = b"\0"
        termios.tcsetattr(terminal, termios.TCSANOW, now)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
