"""Fetch pinned releases of Anthropic's SDKs from PyPI and npm, into the cache of the real clients.

    python_sdks()       return an interpreter with `anthropic` and `claude_agent_sdk`
    node_sdks()         return a folder whose `node_modules` has the SDKs of Node.js

Both raise SdksUnreachable without a package index. The Python Agent SDK contains a client (a wheel
of 160 MB). That of Node does too, as an optional package, which is left out: give it a client.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ccwire.demo.real.npm import NpmUnreachable, cache, locked, npm_install

PYTHON = ("anthropic[aiohttp]==2.8.0", "claude-agent-sdk==0.2.182")
NODE = ("@anthropic-ai/sdk@1.8.0", "@anthropic-ai/claude-agent-sdk@0.3.325")
_SECONDS = 300.0
# What uv reports if the package index cannot be reached.
_NETWORK = ("Failed to fetch", "error sending request", "Could not connect", "dns error")


class SdksUnreachable(Exception):
    """The package index cannot be reached."""


def python_sdks() -> Path:
    """Return the interpreter of an environment with the Python SDKs."""
    folder = cache() / _name("python", PYTHON)
    with locked(folder.name):
        if not folder.is_dir():
            _install_python(folder)
    return folder / "bin" / "python"


def node_sdks() -> Path:
    """Return a folder for scripts that import the SDKs of Node.js."""
    folder = cache() / _name("node", NODE)
    with locked(folder.name):
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(prefix=".sdks-", dir=cache()) as temporary:
                made = Path(temporary) / "sdks"
                try:
                    npm_install(made, "--omit=optional", *NODE, timeout=_SECONDS)
                except NpmUnreachable as error:
                    raise SdksUnreachable(str(error)) from error
                made.rename(folder)
    return folder


def _name(language: str, packages: tuple[str, ...]) -> str:
    versions = "-".join(
        package.rpartition("@" if "@" in package else "=")[2] for package in packages
    )
    return f"sdks-{language}-{versions}"


def _install_python(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".sdks-", dir=cache()) as temporary:
        made = Path(temporary) / "sdks"
        _uv("venv", "--quiet", "--python", sys.executable, str(made))
        _uv("pip", "install", "--quiet", "--python", str(made / "bin" / "python"), *PYTHON)
        made.rename(folder)


def _uv(*arguments: str) -> None:
    uv = shutil.which("uv")
    if uv is None:
        raise SdksUnreachable("uv is not installed")
    try:
        # Not in the project's folder, whose settings do not apply to these packages.
        done = subprocess.run(
            [uv, *arguments],
            cwd=cache(),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SdksUnreachable(f"uv took more than {_SECONDS:.0f} s") from error
    if done.returncode == 0:
        return
    if any(text in done.stderr for text in _NETWORK):
        raise SdksUnreachable("the package index cannot be reached")
    raise RuntimeError(f"uv {arguments[0]} failed: {done.stderr[-500:]}")
