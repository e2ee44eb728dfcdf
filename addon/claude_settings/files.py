"""The client's settings files as they stand: where each scope has its own, and our hooks in it.

`hooks_text` edits the text, and `install` writes it.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from addon.claude_settings.hooks_text import (
    HooksFound,
    command_files,
    events_for,
    find_hooks,
    hook_command,
    hook_settings,
)
from addon.claude_settings.jsonc import JsoncError, parse

__all__ = [
    "MANAGED",
    "SCOPES",
    "ScopeStatus",
    "SettingsError",
    "disabled_by",
    "errors_of",
    "events_for",
    "hook_command",
    "hook_settings",
    "installed_scopes",
    "read_settings",
    "scope_checks",
    "scope_statuses",
    "settings_path",
]

# The weakest first: where two scopes differ, the client heeds the later one.
SCOPES = ("user", "project", "local")

# What an administrator sets; it goes before all scopes.
MANAGED = Path(
    "/Library/Application Support/ClaudeCode/managed-settings.json"
    if sys.platform == "darwin"
    else "/etc/claude-code/managed-settings.json"
)


class SettingsError(Exception):
    """A settings file that cannot be read or changed; a sentence that says which, where and why."""


_NO_HOOKS = HooksFound({}, None)


@dataclass(frozen=True, slots=True)
class ScopeStatus:
    """One scope as it stands; `error` says why its file cannot be read."""

    scope: str
    path: Path
    exists: bool = False
    hooks: HooksFound = _NO_HOOKS
    drift: tuple[str, ...] = ()
    error: str | None = None


def installed_scopes(claude_dir: Path, project: Path) -> list[str]:
    """The scopes whose hooks really tell of a session's start."""
    return [
        status.scope
        for status in scope_statuses(claude_dir, project)
        if any(not _missing(c) for c in status.hooks.commands.get("SessionStart", ()))
    ]


def scope_statuses(
    claude_dir: Path, project: Path, scopes: Iterable[str] = SCOPES
) -> list[ScopeStatus]:
    """How our hooks stand in each scope; a file that cannot be read is told of, not raised."""
    return [_status(scope, settings_path(scope, claude_dir, project)) for scope in scopes]


def _status(scope: str, path: Path) -> ScopeStatus:
    try:
        text = read_settings(path)
        if text is None:
            return ScopeStatus(scope, path)
        with errors_of(path):
            hooks = find_hooks(text)
    except SettingsError as error:
        return ScopeStatus(scope, path, exists=True, error=str(error))
    gone = {
        f"{file} is not there any more": None
        for commands in hooks.commands.values()
        for command in commands
        for file in _missing(command)
    }
    return ScopeStatus(scope, path, True, hooks, (*hooks.drift(hook_command()), *gone))


def _missing(command: str) -> list[Path]:
    return [file for file in command_files(command) if not file.exists()]


def disabled_by(statuses: Iterable[ScopeStatus], managed: Path | None = None) -> str | None:
    """Which setting of which file keeps the client from running our hooks; None if none does."""
    managed = managed or MANAGED
    try:
        text = read_settings(managed)
        rules = parse(text).root if text is not None else None
    except (SettingsError, JsoncError):
        rules = None  # the client cannot heed it either
    for name in ("disableAllHooks", "allowManagedHooksOnly"):
        if rules and (rule := rules.member(name)) and rule.node.value is True:
            return f"{name} in {managed}"
    said = [status for status in statuses if status.hooks.disabled is not None]
    if said and said[-1].hooks.disabled:
        return f"disableAllHooks in {said[-1].path}"
    return None


def scope_checks(claude_dir: Path, project: Path) -> Iterator[tuple[str, str, str | None]]:
    """For a check-up: a name, what was found, and what to do about it, if anything."""
    statuses = scope_statuses(claude_dir, project)
    told = False
    for status in statuses:
        events = len(status.hooks.commands)
        if status.error or status.drift:
            told = True
            todo = status.error or f"run `ccwire hooks install --scope {status.scope}`"
            yield "hooks", f"{status.scope}: {'; '.join(status.drift) or 'not readable'}", todo
        elif events:
            told = True
            yield "hooks", f"{status.scope}: installed, {events} events", None
    if not told:
        yield "hooks", "not installed; `ccwire run` brings its own", None
    if setting := disabled_by(statuses):
        yield "hooks", "switched off", f"take out {setting}, or calls go without their sessions"


def settings_path(scope: str, claude_dir: Path, project: Path) -> Path:
    """The file of a scope; `project` is the folder that the client is started in."""
    if scope == "user":
        return claude_dir / "settings.json"
    return project / ".claude" / ("settings.json" if scope == "project" else "settings.local.json")


def read_settings(path: Path) -> str | None:
    """The file's text, None where there is no file; raises SettingsError."""
    with errors_of(path):
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            text = data[: error.start].decode()
            raise JsoncError("this is not UTF-8", text, len(text)) from error


@contextmanager
def errors_of(path: Path) -> Iterator[None]:
    try:
        yield
    except JsoncError as error:
        raise SettingsError(f"{path}, {error}") from error
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
