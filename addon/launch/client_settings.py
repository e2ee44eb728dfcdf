"""Reads the `env` of the client's settings, in the client's own order.

Measured on 2.0.73, 2.1.168 and 2.1.325, weakest first: the process's environment, `.claude.json`,
user, project, local, `--settings`, managed, and (not 2.0.73) `managed-settings.d` by name. It makes
no difference whether the project's folder is trusted. Folders above it are not searched.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from addon.claude_settings.files import (
    MANAGED,
    SCOPES,
    SettingsError,
    read_settings,
    settings_path,
    shown_path,
)
from addon.claude_settings.jsonc import JsoncError, parse
from addon.launch.arguments import is_json, user_settings
from addon.launch.road import SettingsEnv
from ccwire.wire.regular_file import read_regular

SETTINGS_ARGUMENT = "--settings"
_SOURCES_ARGUMENT = "--setting-sources"
_NO_VALUE = re.compile(r"[\0\ud800-\udfff]")


def read_settings_env(
    claude_dir: Path, project: Path, arguments: Sequence[str] = (), managed: Path = MANAGED
) -> list[SettingsEnv]:
    """Return the levels that set variables, weakest first; unreadable files are left out."""
    sources = _setting_sources(arguments)
    levels = [_level(_global_config(claude_dir), project)]
    for scope in SCOPES:
        if sources is None or scope in sources:
            levels.append(_level(settings_path(scope, claude_dir, project), project))
    levels.append(_argument(user_settings(arguments).value))
    levels.append(_level(managed, project, overridable=False))
    for path in sorted(managed.with_suffix(".d").glob("*.json")):
        levels.append(_level(path, project, overridable=False))
    return [level for level in levels if level is not None and level.env]


def settings_text(given: str) -> str:
    """Return the text of a `--settings` argument, or of the file that it names."""
    if is_json(given):
        return given
    return read_regular(Path(given).expanduser()).decode("utf-8-sig")  # the client skips the mark


def _setting_sources(arguments: Sequence[str]) -> list[str] | None:
    """Return the scopes that `--setting-sources` names; None if it is not given."""
    found = None
    words = iter(arguments)
    for word in words:
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name == _SOURCES_ARGUMENT:
            found = value if equals else next(words, "")
    return None if found is None else [name.strip() for name in found.split(",")]


def _global_config(claude_dir: Path) -> Path:
    """Return the file with the client's own state, which can have an `env` as well."""
    is_default = claude_dir == Path.home() / ".claude"
    return (claude_dir.parent if is_default else claude_dir) / ".claude.json"


def _level(path: Path, project: Path, overridable: bool = True) -> SettingsEnv | None:
    try:
        text = read_settings(path)
    except SettingsError:
        return None
    return None if text is None else _env(text, shown_path(path, project), overridable)


def _argument(given: str | None) -> SettingsEnv | None:
    if given is None:
        return None
    try:
        text = settings_text(given)
    except (OSError, ValueError):
        return None  # the client refuses it
    return _env(text, SETTINGS_ARGUMENT)


def _env(text: str, source: str, overridable: bool = True) -> SettingsEnv | None:
    ignored = False
    text = text.removeprefix("\ufeff")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        ignored = True
        try:
            value = parse(text).root.value
        except JsoncError:
            return None
    env = value.get("env") if isinstance(value, Mapping) else None
    if not isinstance(env, Mapping):
        return None
    return SettingsEnv(source, dict(_strings(env)), overridable, ignored)


def _strings(env: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the variables; the client accepts numbers and booleans as well.

    A value that no environment variable can have is left out.
    """
    for name, value in env.items():
        if isinstance(value, str):
            if _NO_VALUE.search(value) is None:
                yield name, value
        elif isinstance(value, bool | int | float):
            yield name, json.dumps(value)
