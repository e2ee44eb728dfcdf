"""What a signal does at each stage of a run.

- The proxy starts: the signal raises an exception, so that the proxy ends too.
- The command runs: SIGTERM and SIGHUP are passed on to it, and nothing is waited for afterwards.
  Ctrl-C and Ctrl-\\ reach it from the terminal.
- A client in the background is waited for: the signal ends the waiting.
- The run ends, with the last files of the proxy and a summary: the first signal is noted, because
  an interactive client takes two Ctrl-C and the second is often one too many. The next raises
  `CutShort`.

Signals that the user chose to ignore (nohup) are ignored throughout, by the command too.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum, auto
from types import FrameType
from typing import Self

_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
_ENDING = (*_PASSED_ON, signal.SIGINT)
_LEFT_TO_THE_CHILD = signal.SIGQUIT
_STILL_FOR_THE_CLIENT_SECONDS = 1.0
_STDERR = 2

type _Handler = Callable[[int, FrameType | None], object]
type _Handlers = dict[signal.Signals, _Handler | int | None]


class CutShort(BaseException):
    """A second signal while the run was ending: no time for a summary."""


class _Stage(Enum):
    STARTING = auto()
    RUNNING = auto()
    WAITING = auto()
    ENDING = auto()


class RunSignals:
    """The handlers of one run; a context manager, for the main thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._stage = _Stage.STARTING
        self._child: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._ending_since = 0.0
        self._is_noted = False
        self.stops_waiting = False

    def __enter__(self) -> Self:
        self._previous = _install(self._handle, _ENDING)
        return self

    def __exit__(self, *_: object) -> None:
        _restore(self._previous)

    @contextmanager
    def running(self) -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
        """The command runs in this block; it is started there and handed over."""

        def started(child: subprocess.Popen[bytes]) -> None:
            self._child = child
            for number in self._early:
                self.stops_waiting = self.stops_waiting or number in _PASSED_ON
                child.send_signal(number)

        # Set before the child starts, which inherits what is ignored and nothing else.
        previous = _install(self._handle, (_LEFT_TO_THE_CHILD,))
        self._stage = _Stage.RUNNING
        try:
            yield started
        finally:
            self._stage = _Stage.WAITING
            _restore(previous)

    def end(self) -> None:
        """The run ends now: nothing is waited for any more."""
        self._ending_since = self._now()
        self._stage = _Stage.ENDING

    def _handle(self, number: int, frame: FrameType | None) -> None:
        match self._stage:
            case _Stage.STARTING:
                if number == signal.SIGINT:
                    raise KeyboardInterrupt
                raise SystemExit(128 + number)
            case _Stage.RUNNING if self._child is None:
                self._early.append(number)
            case _Stage.RUNNING if self._child is not None and number in _PASSED_ON:
                self.stops_waiting = True
                self._child.send_signal(number)
            case _Stage.WAITING:
                self.stops_waiting = True
            case _Stage.ENDING:
                self._note()

    def _note(self) -> None:
        if self._now() - self._ending_since < _STILL_FOR_THE_CLIENT_SECONDS:
            return
        if self._is_noted:
            raise CutShort
        self._is_noted = True
        with suppress(OSError):  # the terminal may be gone
            # Not print(): the signal may have interrupted one.
            os.write(_STDERR, b"\rccwire: finishing the captures; Ctrl-C again skips the summary\n")


def _install(handler: _Handler, numbers: Sequence[signal.Signals]) -> _Handlers:
    handled = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    return {number: signal.signal(number, handler) for number in handled}


def _restore(previous: _Handlers) -> None:
    for number, handler in previous.items():
        signal.signal(number, handler)
