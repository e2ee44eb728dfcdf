"""Runs a command in the user's terminal behind a proxy: signals and exit code pass through."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from addon.launch.proxy import Proxy, ProxyError
from addon.launch.run_signals import RunSignals
from ccwire.wire.safe_text import one_line

_WATCH_SECONDS = 0.2


class NotStarted(Exception):
    """The command cannot be started; the message is one sentence."""


def run_behind(
    proxy: Proxy,
    command: Sequence[str],
    environment: Mapping[str, str],
    signals: RunSignals,
    afterwards: Callable[[], None],
) -> int:
    """Run the command, then `afterwards`; return the exit code, 128 + n if signal n ended it.

    The proxy is restarted if it dies, until `afterwards` returns. Raise NotStarted if the command
    cannot be started.
    """
    with _watched(proxy):
        with signals.running() as started:
            child = _child(command, environment)
            started(child)
            code = child.wait()
        afterwards()
    signals.end()
    return code if code >= 0 else 128 - code


def _child(command: Sequence[str], environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(list(command), env=dict(environment))
    except OSError as error:
        raise NotStarted(f"{command[0]} could not be started: {error.strerror}.") from error


@contextmanager
def _watched(proxy: Proxy) -> Iterator[None]:
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(proxy, ended, say), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


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


def say(text: str) -> None:
    """Print one line while the command may own the terminal."""
    print(f"\r\nccwire: {one_line(text)}\r", file=sys.stderr, flush=True)
