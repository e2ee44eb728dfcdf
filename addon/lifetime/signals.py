"""Signals while a process is being started: an exception then would lose the new process."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_RAISING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Handle the signals that raise an exception after the block, not in it.

    They are not masked: a process that starts in the block would inherit the mask.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread alone
        return
    arrived: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    raising = [number for number in _RAISING if callable(signal.getsignal(number))]
    previous = {number: signal.signal(number, note) for number in raising}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        for late in arrived:
            signal.raise_signal(late)
