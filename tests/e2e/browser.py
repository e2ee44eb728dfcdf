"""Drive an installed Chromium over its DevTools pipe, without a port, network or package.

with browser() as page:
    page.open("file:///tmp/report.html")
    assert page.evaluate("document.title") == "…"
    assert page.complaints == []
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 30.0
_OPTIONS = (
    "--headless",
    "--no-sandbox",  # not available in containers that run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--proxy-server=127.0.0.1:9",  # requests to the network fail, and are recorded
    "--remote-debugging-pipe",
)


class PageFailed(Exception):
    """A script in the page raised an exception, or the browser rejected a command."""


class Page:
    """One tab. `complaints`: console errors and warnings, uncaught exceptions, blocked loads."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send("Emulation.setFocusEmulationEnabled", enabled=True)  # else keys may be dropped

    def open(self, url: str) -> float:
        """Load a page; return the seconds until it sets `data-ready`."""
        began = time.monotonic()
        self.send("Page.navigate", url=url)
        self.until("document.documentElement?.dataset.ready === 'yes'")
        return time.monotonic() - began

    def evaluate(self, script: str) -> Any:
        given = {"expression": script, "returnByValue": True, "awaitPromise": True}
        answer = self.send("Runtime.evaluate", **given)
        if "exceptionDetails" in answer:
            raise PageFailed(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def until(self, script: str) -> None:
        deadline = time.monotonic() + _SECONDS
        while not self.evaluate(script):
            if time.monotonic() > deadline:
                raise PageFailed(f"not true within {_SECONDS} s: {script}; {self.complaints}")
            time.sleep(0.01)

    def press(self, key: str) -> None:
        code = {"Enter": 13, "ArrowRight": 39, "ArrowLeft": 37, "Tab": 9}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            more = text if kind == "keyDown" else {}
            self.send(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more
            )

    def look(self, *, width: int, dark: bool = False) -> None:
        """Set the window's width, and the colour scheme."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, path: Path) -> None:
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def send(self, method: str, **given: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": given}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise PageFailed(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._hear(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._reading], [], [], _SECONDS)[0]:
                raise PageFailed(f"no message from the browser for {_SECONDS} s")
            chunk = os.read(self._reading, 1 << 20)
            if not chunk:
                raise PageFailed("the browser has exited")
            self._buffer += chunk
        first, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        return message

    def _hear(self, event: dict[str, Any]) -> None:
        given = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(given["exceptionDetails"])[:500])
            case "Runtime.consoleAPICalled" if given["type"] in ("error", "warning", "assert"):
                self.complaints.append(json.dumps(given["args"])[:500])
            case "Log.entryAdded" if given["entry"]["level"] in ("error", "warning"):
                self.complaints.append(given["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(given["request"]["url"])


def find_browser() -> str | None:
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator[Page]:
    """Start a browser and yield its tab; skip the test if no browser is installed."""
    program = find_browser()
    if program is None:
        pytest.skip(f"NOT RUN: no browser found (looked for {', '.join(_NAMES)})")
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    # A child of the browser may still write to its profile when the folder is removed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        # The browser expects the pipe on file descriptors 3 and 4; a shell redirects to them.
        given = [f"--user-data-dir={home}/profile", *_OPTIONS]
        running = subprocess.Popen(
            [
                "sh",
                "-c",
                f'exec "$@" 3</dev/fd/{to_read} 4>/dev/fd/{from_write}',
                "sh",
                program,
                *given,
            ],
            pass_fds=(to_read, from_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"HOME": home, "PATH": "/usr/bin:/bin", "TZ": "UTC", "LANG": "C.UTF-8"},
        )
        os.close(to_read)
        os.close(from_write)
        try:
            yield Page(from_read, to_write)
        finally:
            os.close(to_write)
            os.close(from_read)
            running.terminate()
            running.wait()
