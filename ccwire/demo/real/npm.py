"""Fetch pinned versions of the real client from npm into a cache outside the source tree.

    fetch("2.1.325")        return the client, installing it if needed; NpmUnreachable if npm or
                            its registry is not available
    newest_version()        the version that npm tags as latest
    versions()              every published version, oldest first
    remove("2.1.325")       delete it from the cache

The cache is `$CCWIRE_LAB_CACHE`, else `~/.cache/ccwire/clients`. npm inherits this process's
environment (its registry, its proxy); the client does not: see `ccwire.demo.real.run`.
"""

import fcntl
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PACKAGE = "@anthropic-ai/claude-code"
_NO_SUCH = ("E404", "ETARGET")
# npm's error codes for an unreachable network or registry; any other code raises NpmFailed.
_NETWORK = re.compile(
    r"ENOTFOUND|EAI_AGAIN|ECONN\w+|ENETUNREACH|EHOSTUNREACH|\w*TIMEDOUT|\w*TIMEOUT|FETCH_ERROR"
    r"|EPROTO|\w*CERT\w*|E401|E403|E407|E429|E5\d\d"
)
# One retry: without a registry, npm's defaults would take 70 seconds to fail.
_QUICKLY = ("--fetch-retries=1", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=2000")


class NpmFailed(Exception):
    """npm ran and failed, for instance because the version does not exist."""


class NpmUnreachable(NpmFailed):
    """npm is not installed, or cannot reach its registry."""


@dataclass(frozen=True, slots=True)
class InstalledClient:
    """A real client in the cache; `command` starts it."""

    version: str
    command: tuple[str, ...]


def fetch(version: str, *, timeout: float = 300.0) -> InstalledClient:
    """Return the client of this version ("newest" for the latest), installing it if needed."""
    if version == "newest":
        version = newest_version()
    folder = cache() / version
    with locked(version):
        if not folder.is_dir():
            _install(version, folder, timeout)
    return InstalledClient(version, _command(folder))


def newest_version() -> str:
    return str(_view("version"))


def versions() -> list[str]:
    found = _view("versions")
    return [str(version) for version in found] if isinstance(found, list) else [str(found)]


def remove(version: str) -> None:
    """Delete a version from the cache, if it is there."""
    with locked(version):
        folder = cache() / version
        if folder.is_dir():
            shutil.rmtree(folder)


def cache() -> Path:
    return Path(os.environ.get("CCWIRE_LAB_CACHE") or Path.home() / ".cache" / "ccwire" / "clients")


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the lock of a version or package, so that two processes do not install it at once."""
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(version: str, folder: Path, timeout: float) -> None:
    """Install into a temporary folder, then rename, so that a cached version is always complete."""
    with tempfile.TemporaryDirectory(prefix=f".{version}-", dir=cache()) as temporary:
        made = Path(temporary) / "client"
        npm_install(made, f"{PACKAGE}@{version}", timeout=timeout)
        if _script(made) is None and _native(made) is None:
            npm_install(made, f"{PACKAGE}-{_platform()}@{version}", timeout=timeout)
        made.rename(folder)


def npm_install(folder: Path, *packages: str, timeout: float) -> None:
    """Install packages into a folder, without running their scripts."""
    options = ("--ignore-scripts", "--no-audit", "--no-fund", *_QUICKLY, "--prefix", str(folder))
    _npm("install", *options, *packages, timeout=timeout)


def _view(field: str) -> Any:
    return json.loads(_npm("view", PACKAGE, field, "--json", *_QUICKLY, timeout=60.0))


def _npm(*arguments: str, timeout: float) -> str:
    try:
        done = subprocess.run(
            ["npm", *arguments], capture_output=True, text=True, timeout=timeout, check=False
        )
    except FileNotFoundError as error:
        raise NpmUnreachable("npm is not installed; install Node.js to fetch the client") from error
    except subprocess.TimeoutExpired as error:
        raise NpmUnreachable(f"npm {arguments[0]} took more than {timeout:.0f} s") from error
    if done.returncode == 0:
        return done.stdout
    code = _error_code(done.stderr)
    if code in _NO_SUCH:
        raise NpmFailed(f"npm has no {arguments[-1]}")
    failed = NpmUnreachable if _NETWORK.fullmatch(code) else NpmFailed
    raise failed(f"npm {arguments[0]} failed with {code}")


def _error_code(stderr: str) -> str:
    """Return npm's error code; its other output contains registry addresses and local paths."""
    codes = [line.split()[-1] for line in stderr.splitlines() if " code " in line]
    return codes[0] if codes else "no code"


def _command(folder: Path) -> tuple[str, ...]:
    script, native = _script(folder), _native(folder)
    if native is not None:
        return (str(native),)
    if script is None:
        raise NpmFailed(f"no client found in {folder}; delete the folder and fetch it again")
    node = shutil.which("node")
    if node is None:
        raise NpmUnreachable("this version of the client needs Node.js, which is not installed")
    return (node, str(script))


def _script(folder: Path) -> Path | None:
    package = folder / "node_modules" / PACKAGE
    return next((package / n for n in ("cli.js", "cli.mjs") if (package / n).is_file()), None)


def _native(folder: Path) -> Path | None:
    """Return the native binary, which is a separate package of about 300 MB."""
    program = folder / "node_modules" / f"{PACKAGE}-{_platform()}" / "claude"
    return program if program.is_file() else None


def _platform() -> str:
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}
    arch = machine.get(platform.machine().lower(), platform.machine().lower())
    musl = "-musl" if sys.platform == "linux" and platform.libc_ver()[0] != "glibc" else ""
    return f"{sys.platform}-{arch}{musl}"
