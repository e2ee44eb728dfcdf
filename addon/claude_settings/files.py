"""Claude Code's settings files: the path per scope, and the state of our hooks in it.

`hooks_text` edits the text, and `install` writes it.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from addon.claude_settings.hooks_text import HooksFound, command_files, find_hooks, hook_command
from addon.claude_settings.jsonc import JsoncError, parse
from addon.claude_settings.refused import Flaw, flaw_of
from ccwire.command_name import command_line
from ccwire.wire.regular_file import read_regular
from ccwire.wire.versions import Version

# The weakest first: where two scopes differ, the later one wins.
SCOPES = ("user", "project", "local")

# The administrator's settings, which override every scope.
MANAGED = Path(
    "/Library/Application Support/ClaudeCode/managed-settings.json"
    if sys.platform == "darwin"
    else "/etc/claude-code/managed-settings.json"
)


class SettingsError(Exception):
    """A settings file cannot be read or changed; the message names the file, place and reason."""


_NO_HOOKS = HooksFound({}, None)


@dataclass(frozen=True, slots=True)
class ScopeStatus:
    """The state of our hooks in one scope.

    `error` is the reason its file cannot be read, `flaw` the reason the client ignores it.
    """

    scope: str
    path: Path
    exists: bool = False
    hooks: HooksFound = _NO_HOOKS
    drift: tuple[str, ...] = ()
    error: str | None = None
    flaw: Flaw | None = None


def installed_scopes(claude_dir: Path, project: Path, version: Version | None = None) -> list[str]:
    """Return the scopes whose SessionStart hook a client of this version runs.

    Without a version, only scopes whose file no client ignores.
    """
    return [
        status.scope
        for status in scope_statuses(claude_dir, project, version)
        if status.flaw is None
        and any(not _missing(c) for c in status.hooks.commands.get("SessionStart", ()))
    ]


def scope_statuses(
    claude_dir: Path, project: Path, version: Version | None = None
) -> list[ScopeStatus]:
    """Return the state of our hooks per scope, for a client of this version or of any."""
    return [_status(scope, settings_path(scope, claude_dir, project), version) for scope in SCOPES]


def _status(scope: str, path: Path, version: Version | None) -> ScopeStatus:
    try:
        text = read_settings(path)
        if text is None:
            return ScopeStatus(scope, path)
        with errors_of(path):
            hooks, flaw = find_hooks(text), flaw_of(text, version)
    except SettingsError as error:
        return ScopeStatus(scope, path, exists=True, error=str(error))
    gone = {
        f"{file} does not exist": None
        for commands in hooks.commands.values()
        for command in commands
        for file in _missing(command)
    }
    drift = (*hooks.drift(hook_command()), *gone)
    return ScopeStatus(scope, path, True, hooks, drift, flaw=flaw)


def _missing(command: str) -> list[Path]:
    return [file for file in command_files(command) if not file.exists()]


def disabled_by(statuses: Iterable[ScopeStatus], managed: Path | None = None) -> str | None:
    """Return the setting and file that disable our hooks; None if nothing does."""
    managed = managed or MANAGED
    try:
        text = read_settings(managed)
        rules = parse(text).root if text is not None else None
    except (SettingsError, JsoncError):
        rules = None  # the client cannot read it either
    for name in ("disableAllHooks", "allowManagedHooksOnly"):
        if rules and (rule := rules.member(name)) and rule.node.value is True:
            return f"{name} in {managed}"
    deciding = [s for s in statuses if s.hooks.disabled is not None and s.flaw is None]
    if deciding and deciding[-1].hooks.disabled:
        return f"disableAllHooks in {deciding[-1].path}"
    return None


def scope_checks(
    claude_dir: Path, project: Path, version: Version | None = None
) -> Iterator[tuple[str, str, str | None]]:
    """Yield checks for `ccwire doctor`: name, finding, and what to do about it, if anything."""
    statuses = scope_statuses(claude_dir, project, version)
    reported = False
    for status in statuses:
        events = len(status.hooks.commands)
        if status.error or status.drift:
            reported = True
            todo = status.error or f"run `{command_line('hooks install')} --scope {status.scope}`"
            yield "hooks", f"{status.scope}: {'; '.join(status.drift) or 'not readable'}", todo
        elif events and status.flaw:
            reported = True
            yield "hooks", f"{status.scope}: {status.path}", ignored(status.flaw, version)
        elif events:
            reported = True
            yield "hooks", f"{status.scope}: installed, {events} events", None
    if not reported:
        yield "hooks", f"not installed; `{command_line('run')}` adds its own", None
    if setting := disabled_by(statuses):
        yield "hooks", "switched off", f"remove {setting}: without hooks, some calls get no session"


def ignored(flaw: Flaw, version: Version | None) -> str:
    """Return who ignores a file with our hooks, why, and what to do."""
    run = command_line("run")
    return f"{flaw.in_words(version)}; {flaw.fix}, or use `{run}`, which brings its own hooks"


def settings_path(scope: str, claude_dir: Path, project: Path) -> Path:
    """Return the settings file of a scope; `project` is the folder the client is started in."""
    if scope == "user":
        return claude_dir / "settings.json"
    return project / ".claude" / ("settings.json" if scope == "project" else "settings.local.json")


def shown_path(path: Path, project: Path) -> str:
    """Return the path as users write it: from the project's folder, or from their home."""
    for folder, prefix in ((project, ""), (Path.home(), "~/")):
        if path.is_relative_to(folder):
            return f"{prefix}{path.relative_to(folder)}"
    return str(path)


def read_settings(path: Path) -> str | None:
    """Return the file's text, or None if it does not exist; raise SettingsError."""
    with errors_of(path):
        try:
            data = read_regular(path)
        except FileNotFoundError:
            return None
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            text = data[: error.start].decode()
            raise JsoncError("not UTF-8", text, len(text)) from error


@contextmanager
def errors_of(path: Path) -> Iterator[None]:
    try:
        yield
    except JsoncError as error:
        raise SettingsError(f"{path}, {error}") from error
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
