"""Runs a command in the user's terminal behind a proxy: signals and exit code pass through."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

from addon.launch.proxy import Proxy, ProxyError
from ccwire.wire.safe_text import one_line

_WATCH_SECONDS = 0.2
# Only this process receives these; Ctrl-C and Ctrl-\ reach the child from the terminal.
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
_LEFT_TO_THE_CHILD = (signal.SIGINT, signal.SIGQUIT)


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Exit by an exception on the signals that would end this process, so that the proxy ends too.

    While a command runs, `run_behind` passes the signals on to it instead.
    """

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    ending = [number for number in _PASSED_ON if signal.getsignal(number) is signal.SIG_DFL]
    for number in ending:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)


def run_behind(proxy: Proxy, command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the command and return its exit code, or 128 + n if signal n ended it.

    Raise OSError if it cannot be started.
    """
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        if child is None:
            early.append(number)
        elif number in _PASSED_ON:
            child.send_signal(number)

    # Set before the child starts, which inherits what is ignored: what the user chose with nohup,
    # and nothing else.
    signals = (*_PASSED_ON, *_LEFT_TO_THE_CHILD)
    handled = [number for number in signals if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, pass_on) for number in handled}
    try:
        child = subprocess.Popen(list(command), env=dict(environment))
        for number in early:
            child.send_signal(number)
        return _wait(child, proxy)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _wait(child: subprocess.Popen[bytes], proxy: Proxy) -> int:
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(proxy, ended, _print), daemon=True)
    watcher.start()
    try:
        code = child.wait()
    finally:
        ended.set()
        watcher.join()
    return code if code >= 0 else 128 - code


def _watch(proxy: Proxy, ended: threading.Event, say: Callable[[str], None]) -> None:
    """Restart the proxy on its port when it dies; give up if it cannot be restarted."""
    while not ended.wait(_WATCH_SECONDS):
        if proxy.returncode is None:
            continue
        say("the proxy exited unexpectedly; calls in flight have failed. Restarting it…")
        try:
            proxy.start()
        except ProxyError as error:
            say(f"could not restart the proxy ({error}); exit Claude Code, its calls will fail")
            return
        say("the proxy is running again; you can continue.")


def _print(text: str) -> None:
    print(f"\r\nccwire: {one_line(text)}\r", file=sys.stderr, flush=True)
