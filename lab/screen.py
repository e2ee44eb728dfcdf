"""Drive the client's interactive screen in a pty: type, press keys, wait for text.

    with ClientScreen(client, home=home, cwd=cwd, proxy_port=port, ca_cert=ca) as screen:
        screen.ready()                      # startup questions answered, waiting for a prompt
        screen.submit("lab:slow Go.")       # typed, seen on the screen, entered
        screen.expect("www")                # wait for text; a TimeoutError contains the screen
        screen.press("escape")
        screen.submit("/clear")
        screen.leave()                      # /exit; returns the exit code

Every wait has a timeout; leaving the `with` block ends the client and its children.
"""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ccwire.demo.real.npm import InstalledClient
from ccwire.demo.real.run import end_group, environment, refuse_ancient
from lab.terminal import Terminal

KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "tab": "\t",
    "ctrl-c": "\x03",
    "ctrl-d": "\x04",
}
_ROWS, _COLUMNS = 50, 160
# The client needs a controlling terminal. preexec_fn is not safe in a process with threads, so a
# small program sets the terminal and then execs the client.
_TAKE_TERMINAL = (
    "import fcntl, os, sys, termios\n"
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    "os.execv(sys.argv[1], sys.argv[1:])\n"
)
# Questions at startup, and the keys that answer yes.
_QUESTIONS = (
    ("use this API key?", ("up", "enter")),
    ("trust the files", ("enter",)),
    ("trust this folder", ("enter",)),
)
_PROMPT = re.compile(r"^[\s│]*[\u276f>](\s|$)", re.MULTILINE)
_SETTLE = 0.15  # seconds between keys, so that they are not read as one escape sequence or a paste
_GLANCE = 0.02


class ClientScreen:
    """The client in its own terminal."""

    def __init__(
        self,
        client: InstalledClient,
        *,
        home: Path,
        cwd: Path,
        proxy_port: int,
        ca_cert: Path,
        settings: Mapping[str, Any] | Path | None = None,
        extra_args: Sequence[str] = (),
        extra_env: Mapping[str, str] | None = None,
    ) -> None:
        refuse_ancient(client)
        self._command = [*client.command, *extra_args]
        if settings is not None:
            given = str(settings) if isinstance(settings, Path) else json.dumps(settings)
            self._command += ["--settings", given]
        self._env = environment(home, proxy_port, ca_cert, extra_env)
        self._cwd = cwd
        self._terminal = Terminal(_ROWS, _COLUMNS)
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-c", _TAKE_TERMINAL, *self._command],
            env=self._env,
            cwd=self._cwd,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, name="lab.screen", daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        end_group(self._process.pid)
        self._process.wait()
        self._reader.join()
        os.close(self._master)

    @property
    def pid(self) -> int:
        return self._process.pid

    def text(self) -> str:
        """Return the screen's text, including the lines that have scrolled off."""
        with self._lock:
            return self._terminal.text()

    def ready(self, timeout: float = 30.0) -> None:
        """Answer the startup questions, until the client waits for a prompt."""
        asked: set[str] = set()

        def waiting() -> bool:
            text = self.text()
            for question, keys in _QUESTIONS:
                if question in text and question not in asked:
                    asked.add(question)
                    time.sleep(_SETTLE)
                    self.press(*keys)
                    return False
            pending = any(question in text for question, _ in _QUESTIONS)
            return not pending and _PROMPT.search(text) is not None

        self.until(waiting, "the input box", timeout)
        time.sleep(_SETTLE)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def press(self, *keys: str) -> None:
        """Press keys by name (see `KEYS`), one after the other."""
        for key in keys:
            os.write(self._master, KEYS[key].encode())
            time.sleep(_SETTLE)

    def submit(self, text: str, timeout: float = 10.0) -> None:
        """Type a prompt or a command, wait until the screen shows it, and press enter."""
        before = self.text().count(text)
        self.type(text)
        self.until(lambda: self.text().count(text) > before, f"{text!r} typed in", timeout)
        # An immediate enter would be read as part of a paste; a command's menu needs time to open.
        time.sleep(2 * _SETTLE)
        self.press("enter")

    def expect(self, text: str, timeout: float = 20.0) -> None:
        """Wait until the screen shows `text`."""
        self.until(lambda: text in self.text(), repr(text), timeout)

    def until(self, condition: Callable[[], bool], what: str, timeout: float = 20.0) -> None:
        """Wait for a condition; a TimeoutError contains the screen."""
        end = time.monotonic() + timeout
        while not condition():
            if self._process.poll() is not None and not condition():
                raise RuntimeError(f"the client exited before {what}; the screen:\n{self.text()}")
            if time.monotonic() > end:
                raise TimeoutError(f"no {what} after {timeout:.0f} s; the screen:\n{self.text()}")
            time.sleep(_GLANCE)

    def leave(self, timeout: float = 15.0) -> int:
        """Enter /exit and return the client's exit code."""
        self.submit("/exit")
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"no exit after /exit; the screen:\n{self.text()}") from None

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # EIO on Linux: the client closed its terminal
                return
            if not data:
                return
            with self._lock:
                self._terminal.feed(data)
