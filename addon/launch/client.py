"""Runs a command in the user's own terminal behind a proxy: signals and exit code pass through."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import FrameType

from addon.launch.proxy import Proxy, ProxyError

_WATCH_SECONDS = 0.2
# Ctrl-C and Ctrl-\ reach the child from the terminal itself; these come to us alone.
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
_LEFT_TO_THE_CHILD = (signal.SIGINT, signal.SIGQUIT)


def run_behind(proxy: Proxy, command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Gives the command's exit code, 128 + n where a signal ended it. Raises OSError."""
    previous = {}
    child = subprocess.Popen(list(command), env=dict(environment))

    def pass_on(number: int, frame: FrameType | None) -> None:
        child.send_signal(number)

    for number in _PASSED_ON:
        previous[number] = signal.signal(number, pass_on)
    for number in _LEFT_TO_THE_CHILD:
        previous[number] = signal.signal(number, signal.SIG_IGN)
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(proxy, ended, _say), daemon=True)
    watcher.start()
    try:
        code = child.wait()
    finally:
        ended.set()
        watcher.join()
        for number, handler in previous.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def _watch(proxy: Proxy, ended: threading.Event, say: Callable[[str], None]) -> None:
    """A proxy that dies is started again on its port; if it cannot be, the client is told no."""
    while not ended.wait(_WATCH_SECONDS):
        if proxy.returncode is None:
            continue
        say("the proxy has died; calls that were in flight fail. Starting it again…")
        try:
            proxy.start()
        except ProxyError as error:
            say(f"the proxy could not be started again ({error}): end the client, nothing works")
            return
        say("the proxy is back on its port; the client can go on.")


def _say(text: str) -> None:
    print(f"\r\nccwire: {text}\r", file=sys.stderr, flush=True)
