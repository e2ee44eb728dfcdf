"""The checks of `ccwire doctor`: each reports what it found and, if it fails, what to do."""

import os
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from addon.claude_settings.client_version import version_of
from addon.hooks.sessions_file import SessionsFileError, read_document
from addon.launch.environment import excludes
from addon.launch.overrides import connection_variables
from addon.launch.proxy import ca_cert, occupied
from addon.launch.road import Road, SettingsEnv, effective
from addon.storage.writable import existing_part, why_not_writable
from addon.upstream import company_proxy as upstream
from ccwire.capture_folders import registered_folders
from ccwire.command_name import command_line
from ccwire.wire.format import TRAFFIC_LOG
from ccwire.wire.versions import parse_version

_DISK_NEEDED = 500 * 1024 * 1024
_UNSUPPORTED = {
    "ANTHROPIC_UNIX_SOCKET": "unset it; calls over a socket are not captured",
    "CLAUDE_CODE_CLIENT_CERT": "give the proxy this certificate: mitmproxy's option `client_certs`",
}
_CONNECT_SECONDS = 3
_MOST_REGISTERED = 10  # capture folders that are listed
_EARLIEST = 1_750_000_000  # an earlier time means that the clock is wrong


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
    try:
        with occupied("127.0.0.1", number):
            return Check("port", f"{number} is free")
    except OSError:
        proxy, run = command_line("proxy -p PORT"), command_line("run")
        todo = f"give another port: `{proxy}`; `{run}` picks its own"
        return Check("port", f"{number} is in use", todo)


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
    found = version_of([program])
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


def road(found: Road) -> Check:
    """Check where the client will send its calls."""
    if not found.hosts:
        return Check("road", f"{found.source} is not a URL", "set it to one that starts with https")
    where = f"{found.provider} at {found.hosts[0]}"
    return Check("road", f"{where} ({found.source})" if found.source else where)


def company_proxy(variables: Mapping[str, str]) -> Iterator[Check]:
    """Check the proxy that the user's variables name: it has to accept connections."""
    name = "company proxy"
    try:
        proxies = upstream.company_proxy(variables)
    except upstream.UnusableProxy as error:
        yield Check(name, "cannot be used", str(error))
        return
    for server in dict.fromkeys((proxies.https, proxies.http) if proxies else ()):
        try:
            socket.create_connection(server.address, _CONNECT_SECONDS).close()
        except OSError as error:
            todo = "correct HTTPS_PROXY, HTTP_PROXY or ALL_PROXY, or start the proxy"
            yield Check(name, f"{server.name} cannot be reached ({error.strerror or error})", todo)
        else:
            yield Check(name, f"{server.name}; `{command_line('run')}` connects through it")


def environment(
    variables: Mapping[str, str], settings: Sequence[SettingsEnv], found: Road
) -> Iterator[Check]:
    """Check for variables that would interfere with a capture."""
    problems = [*_interfering(variables, settings, found)]
    yield from (Check("environment", what, todo) for what, todo in problems)
    if not problems:
        yield Check("environment", "no variable interferes")


def _interfering(
    variables: Mapping[str, str], settings: Sequence[SettingsEnv], found: Road
) -> Iterator[tuple[str, str | None]]:
    """Yield each variable that interferes, and what to do about it, if anything."""
    values, run = effective(variables, settings), command_line("run")
    named = (values[name] for name in upstream.NO_PROXY_VARIABLES if name in values)
    excluded = next((value for value in named if value.text), None)
    items = upstream.split_no_proxy(excluded.text) if excluded else ()
    if excluded and any(excludes(item, found.hosts) for item in items):
        what = f"NO_PROXY in {excluded.source} excludes {found.hosts[0]}"
        yield what, f"remove it there, or use `{run}`"
    for level in settings:
        for name in connection_variables(level):
            if level.overridable:
                what = f"{name} in {level.source} overrides the environment, except in `{run}`"
                yield what, None
            else:
                yield f"{name} in {level.source} overrides the capturing proxy", "remove it"
    for name, todo in _UNSUPPORTED.items():
        if (value := values.get(name)) and value.text:
            yield f"{name} is set in {value.source}", todo
    if (value := values.get("NODE_TLS_REJECT_UNAUTHORIZED")) and value.text == "0":
        yield "NODE_TLS_REJECT_UNAUTHORIZED=0", "unset it; it is not needed"


def home(folder: Path | None, held: Callable[[Path], str]) -> Iterator[Check]:
    """Check the home, and list the capture folders that are registered in it.

    `held` returns what a folder contains.
    """
    if folder is None:
        yield Check("home", "you have no home directory", "set CCWIRE_HOME to a folder")
        return
    if why := why_not_writable(folder):
        todo = f"make it writable ({why}), or set CCWIRE_HOME to another folder"
        yield Check("home", str(folder), todo)
        return
    yield Check("home", f"{folder}{'' if folder.exists() else ': does not exist yet'}")
    there, away = registered_folders(folder)
    found = [f"{path}: cannot be reached, or its disk is not mounted" for path in away]
    found += [f"{path}: {held(path)}" for path in there[:_MOST_REGISTERED]]
    found += map(str, there[_MOST_REGISTERED:])
    yield from (Check("registered", text) for text in found[:_MOST_REGISTERED])
    if (more := len(found) - _MOST_REGISTERED) > 0:
        yield Check("registered", f"{more} more capture folders")


def capture_folder(captures: Path, held: str) -> Check:
    """Check that the folder can be written; `held` is what it contains."""
    if why := why_not_writable(captures):
        return Check("captures", str(captures), f"make it writable ({why}), or give --captures DIR")
    existing = existing_part(captures)
    free = shutil.disk_usage(existing).free
    found = f"{captures}: {held}, {free / 1e9:,.1f} GB free"
    return Check("captures", found, "free some disk space" if free < _DISK_NEEDED else None)


def clock(captures: Path) -> Check:
    now = time.time()
    log = captures / TRAFFIC_LOG
    if now < _EARLIEST or (log.exists() and log.stat().st_mtime > now + 60):
        return Check("clock", time.ctime(now), "set the clock; captures are newer than now")
    return Check("clock", time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(now)))
