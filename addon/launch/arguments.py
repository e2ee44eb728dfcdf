"""The client's command line: detects the client, and adds our hooks to `--settings`. Pure.

`--settings` must not change what a command line means, and the client reads words by position. The
first argument is compared with names of subcommands, and in no release does its help list them all:
up to 2.1.250 `stop`, `logs`, `rm`, `attach` and `respawn` are not in it, nor is `--update` in any.
After another argument the same word is a prompt, or an error. So no list of subcommands can be
complete, and this module has none. It decides by what is certain to start a session:

- no arguments at all;
- a first argument that cannot be a name, because it has a space or another character than a name;
- an option first, and among the options one that only sessions have. Nothing is read by position
  then, so that one more option at the start changes nothing.

Everything else is left as it is: a later release may know the word. A prompt that is one lower-case
word costs its session our hooks, and nothing else: the wire names the session too.

A session for the background (`--bg`) is left alone as well. Its client keeps the options with the
session and repeats them when it restarts the session, perhaps after this run has ended.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ccwire.wire.versions import Version

SETTINGS_SINCE = (1, 0, 61)
# From this release on, a session can go to the background and keeps its options. Settings given as
# JSON leave no file behind, or a single one that is named after its content; older ones leave many.
KEPT_SINCE = (2, 1, 139)
_NAME = re.compile(r"[a-z][A-Za-z0-9:_-]*")
_BACKGROUND = frozenset({"--bg", "--background"})
_OF_SERVICE = frozenset({"agents", "attach", "respawn"})
# Options of sessions, as most releases list them. Not all: an option that is missing here costs
# hooks where no other one is given, and a wrong one would change a command line.
_OF_SESSIONS = frozenset(
    {"-c", "-d", "-n", "-p", "-r", "-w", "--add-dir", "--agent", "--agents", "--allowed-tools"}
    | {"--allowedTools", "--append-system-prompt", "--bare", "--betas", "--chrome", "--continue"}
    | {"--dangerously-skip-permissions", "--debug", "--disable-slash-commands"}
    | {"--disallowed-tools", "--disallowedTools", "--effort", "--fallback-model"}
    | {"--fork-session", "--ide", "--include-partial-messages", "--input-format", "--json-schema"}
    | {"--max-budget-usd", "--max-turns", "--mcp-config", "--model", "--name"}
    | {"--no-session-persistence", "--output-format", "--permission-mode"}
    | {"--permission-prompt-tool", "--plugin-dir", "--print", "--replay-user-messages"}
    | {"--resume", "--session-id", "--setting-sources", "--settings", "--strict-mcp-config"}
    | {"--system-prompt", "--tools", "--verbose", "--worktree"}
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
    """Return whether one more `--settings` is accepted, and changes nothing else."""
    if version is None or version < SETTINGS_SINCE:
        return False
    return starts_session(arguments)


def starts_session(arguments: Sequence[str]) -> bool:
    """Return whether these arguments certainly start a session, in this process."""
    if not arguments:
        return True
    if not _BACKGROUND.isdisjoint(arguments):
        return False
    if not arguments[0].startswith("-"):
        return _NAME.fullmatch(arguments[0]) is None
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return any(word.partition("=")[0] in _OF_SESSIONS for word in arguments[:end])


def may_use_service(arguments: Sequence[str]) -> bool:
    """Return whether these arguments may let a service of the client work in the background."""
    if not _BACKGROUND.isdisjoint(arguments):
        return True
    return bool(arguments) and arguments[0] in _OF_SERVICE


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
