"""The checks of `ccwire doctor`: each reports what it found and, if it fails, what to do."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from addon.hooks.sessions_file import SessionsFileError, read_document
from addon.launch.environment import excludes
from addon.launch.proxy import ca_cert
from addon.storage.writable import existing_part, why_not_writable
from ccwire.command_name import command_line
from ccwire.wire.format import TRAFFIC_LOG
from ccwire.wire.hosts import DEFAULT_HOSTS
from ccwire.wire.versions import announced_version, parse_version

_DISK_NEEDED = 500 * 1024 * 1024
_EARLIEST = 1_750_000_000  # an earlier time means that the clock is wrong
# Settings that send the client to another host than the captured API.
_ELSEWHERE = ("ANTHROPIC_BASE_URL", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")


@dataclass(frozen=True, slots=True)
class Check:
    """One line of `ccwire doctor`; `todo` is None if the check passed."""

    name: str
    found: str
    todo: str | None = None

    @property
    def ok(self) -> bool:
        return self.todo is None

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "ok": self.ok}


def python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    todo = None if sys.version_info >= (3, 12) else "install Python 3.12 or later"
    return Check("Python", found, todo)


def mitmproxy() -> Check:
    found = version("mitmproxy")
    old = parse_version(found) < (12, 2)
    return Check("mitmproxy", found, "install version 12.2 or later" if old else None)


def certificate(confdir: Path) -> Check:
    path = ca_cert(confdir)
    if not path.exists():
        return Check("certificate", "not created yet; the proxy creates it on its first start")
    if not os.access(path, os.R_OK):
        return Check("certificate", str(path), f"make {path} readable")
    return Check("certificate", str(path))


def port(number: int) -> Check:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", number))
        except OSError:
            proxy, run = command_line("proxy -p PORT"), command_line("run")
            todo = f"give another port: `{proxy}`; `{run}` picks its own"
            return Check("port", f"{number} is in use", todo)
    return Check("port", f"{number} is free")


def sessions_map(path: Path) -> Check:
    if not path.exists():
        return Check("sessions map", f"{path}: does not exist yet; the hooks create it")
    try:
        count = len(read_document(str(path))["sessions"])
    except (SessionsFileError, OSError) as error:
        return Check("sessions map", str(path), f"move it away; it cannot be read: {error}")
    return Check("sessions map", f"{path}: {count} sessions")


def client(known: list[str]) -> Check:
    """Check the installed client; `known` lists the versions with a shipped baseline."""
    program = shutil.which("claude")
    if program is None:
        todo = f"install Claude Code, or give its path: `{command_line('run PATH')}`"
        return Check("client", "no `claude` on PATH", todo)
    try:
        output = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        output = ""
    found = announced_version(output)
    if found is None:
        return Check("client", program, f"`{program} --version` printed no Claude Code version")
    name = ".".join(map(str, found))
    if name in known:
        return Check("client", f"{program} {name}, a known version")
    newest = max(known, key=parse_version, default=None)
    is_new = newest is None or found > parse_version(newest)
    note = "newer than any known version" if is_new else "between known versions"
    hint = f"`{command_line('schema check')}` shows changes"
    return Check("client", f"{program} {name}, {note}; {hint}")


def environment(variables: Mapping[str, str]) -> Iterator[Check]:
    """Check for variables that would interfere with a capture."""
    clean = True
    proxy = variables.get("HTTPS_PROXY") or variables.get("https_proxy")
    if proxy:
        clean = False
        yield Check("environment", "HTTPS_PROXY is set", "`ccwire run` replaces it for the client")
    excluded = variables.get("NO_PROXY") or variables.get("no_proxy") or ""
    if any(excludes(item, DEFAULT_HOSTS) for item in excluded.split(",") if item.strip()):
        clean = False
        yield Check("environment", "NO_PROXY excludes the API", "remove it, or use `ccwire run`")
    for name in _ELSEWHERE:
        if variables.get(name):
            clean = False
            yield Check("environment", f"{name} is set", "unset it; its calls are not captured")
    if variables.get("NODE_TLS_REJECT_UNAUTHORIZED") == "0":
        clean = False
        yield Check("environment", "NODE_TLS_REJECT_UNAUTHORIZED=0", "unset it; it is not needed")
    if clean:
        yield Check("environment", "no variable interferes")


def capture_folder(captures: Path) -> Check:
    if why := why_not_writable(captures):
        return Check("captures", str(captures), f"make it writable ({why}), or give --captures DIR")
    existing = existing_part(captures)
    free = shutil.disk_usage(existing).free
    size = sum(p.stat().st_size for p in captures.rglob("*") if p.is_file())
    found = f"{captures}: {size / 1e6:,.1f} MB captured, {free / 1e9:,.1f} GB free"
    return Check("captures", found, "free some disk space" if free < _DISK_NEEDED else None)


def clock(captures: Path) -> Check:
    now = time.time()
    log = captures / TRAFFIC_LOG
    if now < _EARLIEST or (log.exists() and log.stat().st_mtime > now + 60):
        return Check("clock", time.ctime(now), "set the clock; captures are newer than now")
    return Check("clock", time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(now)))
