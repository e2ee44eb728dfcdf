"""Ends what takes too long on one text: some regular expressions take exponential time.

A timer interrupts it, as Ctrl-C would; only the main thread of a process can be interrupted.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SECONDS = 10.0  # far more than a text of megabytes takes


class TooSlow(Exception):
    """A pattern takes too long on one text."""


class TimeLimit:
    """A block that may not take longer; it costs next to nothing to enter.

    The timer ticks on its own: a block that two ticks meet has taken more than the time between.
    """

    def __init__(self) -> None:
        self._entered = 0
        self._is_inside = False
        self._met = 0

    def __enter__(self) -> None:
        self._entered += 1
        self._is_inside = True

    def __exit__(self, *_: object) -> None:
        self._is_inside = False

    @contextmanager
    def ticking(self, seconds: float = SECONDS) -> Iterator[None]:
        """Raise TooSlow in a block that takes longer than this."""
        is_main = threading.current_thread() is threading.main_thread()
        if not (is_main and hasattr(signal, "setitimer")):
            yield
            return
        before = signal.signal(signal.SIGALRM, self._tick)
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _tick(self, _: int, __: FrameType | None) -> None:
        if self._is_inside and self._met == self._entered:
            raise TooSlow
        self._met = self._entered
