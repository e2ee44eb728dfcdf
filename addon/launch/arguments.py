"""The client's command line: detects the client, and adds our hooks to `--settings`. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ccwire.wire.versions import Version

SETTINGS_SINCE = (1, 0, 61)
# These subcommands start no session, so they get no `--settings`.
_SUBCOMMANDS = frozenset(
    {"agents", "auth", "auto-mode", "config", "doctor", "gateway", "install", "mcp"}
    | {"migrate-installer", "plugin", "plugins", "setup-token", "update", "upgrade"}
)


@dataclass(frozen=True, slots=True)
class UserSettings:
    """The `--settings` that the user gave, and the arguments without it."""

    value: str | None
    arguments: list[str]


def client_in(command: Sequence[str]) -> int | None:
    """Return how many leading words start the client; None for any other command.

    `claude …` and `node …/cli.js …` (once `cli.mjs`) are the client; `npx …` and scripts may not
    accept our flag.
    """
    if PurePath(command[0]).stem == "claude":
        return 1
    is_node = PurePath(command[0]).stem in ("node", "bun")
    if is_node and len(command) > 1 and PurePath(command[1]).name in ("cli.js", "cli.mjs"):
        return 2
    return None


def takes_settings(version: Version | None, arguments: Sequence[str]) -> bool:
    """Return whether this version accepts `--settings` with these arguments."""
    if version is None or version < SETTINGS_SINCE:
        return False
    first = next((word for word in arguments if not word.startswith("-")), None)
    return first not in _SUBCOMMANDS


def user_settings(arguments: Sequence[str]) -> UserSettings:
    """Extract `--settings X` or `--settings=X`; if given twice, the last one counts."""
    value = None
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word == "--settings":
            value = next(words, None)
        elif word.startswith("--settings="):
            value = word.partition("=")[2]
        else:
            rest.append(word)
    return UserSettings(value, rest)


def is_json(settings: str) -> bool:
    """Return whether `--settings` was given the JSON itself, and not the name of a file."""
    return settings.lstrip().startswith("{")


def merged_settings(
    own: Mapping[str, Any], hooks: Mapping[str, Any], variables: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the user's settings with our hooks appended to theirs, and our variables."""
    theirs = own.get("hooks")
    merged = dict(theirs) if isinstance(theirs, dict) else {}
    for event, groups in hooks.items():
        before = merged.get(event)
        merged[event] = [*(before if isinstance(before, list) else []), *groups]
    settings = {**own, "hooks": merged} if hooks else dict(own)
    if variables:
        env = own.get("env")
        settings["env"] = {**(env if isinstance(env, dict) else {}), **variables}
    return settings
