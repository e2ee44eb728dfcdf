"""What a client needs to go through the proxy: its environment and its arguments. Pure.

Nothing of the user's configuration changes: all of it is for one child process.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

LOOPBACK = ("localhost", "127.0.0.1", "::1")
SETTINGS_SINCE = (1, 0, 61)

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)\S*\s+\(Claude Code\)")
_PROXY_NAMES = ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")
# With these first the client is not asked anything, so no session starts and no flag is wanted.
_SUBCOMMANDS = frozenset(
    {"agents", "auth", "auto-mode", "config", "doctor", "gateway", "install", "mcp"}
    | {"migrate-installer", "plugin", "plugins", "setup-token", "update", "upgrade"}
)


@dataclass(frozen=True, slots=True)
class UserSettings:
    """The `--settings` that the user gave, and the arguments without it."""

    value: str | None
    arguments: list[str]


def proxied_environment(
    environment: Mapping[str, str], port: int, ca_file: str, hosts: Sequence[str] = ()
) -> dict[str, str]:
    """The child's environment: the proxy for all but loopback, and its certificate trusted."""
    child = dict(environment)
    for name in _PROXY_NAMES:
        child[name] = f"http://127.0.0.1:{port}"
    child.pop("ALL_PROXY", None)
    child.pop("all_proxy", None)
    kept = [
        item
        for item in _listed(environment.get("NO_PROXY") or environment.get("no_proxy") or "")
        if not excludes(item, hosts)
    ]
    child["NO_PROXY"] = child["no_proxy"] = ",".join(dict.fromkeys([*kept, *LOOPBACK]))
    child["NODE_EXTRA_CA_CERTS"] = ca_file
    return child


def excludes(no_proxy: str, hosts: Sequence[str]) -> bool:
    """Whether an item of NO_PROXY would let a captured host go around the proxy."""
    name = no_proxy.strip().lower().partition(":")[0].lstrip("*").lstrip(".")
    return not name or any(host == name or host.endswith("." + name) for host in hosts)


def client_in(command: Sequence[str]) -> int | None:
    """How many leading words start the client itself; None for any other command.

    `claude …` and `node …/cli.js …` are the client; `npx …` and scripts may take no flag of ours.
    """
    if PurePath(command[0]).stem == "claude":
        return 1
    is_node = PurePath(command[0]).stem in ("node", "bun")
    if is_node and len(command) > 1 and PurePath(command[1]).name == "cli.js":
        return 2
    return None


def version_in(text: str) -> tuple[int, int, int] | None:
    """The version in what `claude --version` says."""
    found = _VERSION.search(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def takes_settings(version: tuple[int, int, int] | None, arguments: Sequence[str]) -> bool:
    """Whether this client, so called, understands `--settings`."""
    if version is None or version < SETTINGS_SINCE:
        return False
    first = next((word for word in arguments if not word.startswith("-")), None)
    return first not in _SUBCOMMANDS


def user_settings(arguments: Sequence[str]) -> UserSettings:
    """Takes `--settings X` or `--settings=X` out; given twice, the last one counts."""
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


def merged_settings(own: Mapping[str, Any], hooks: Mapping[str, Any]) -> dict[str, Any]:
    """The user's settings for this run with our hooks after theirs."""
    theirs = own.get("hooks")
    merged = dict(theirs) if isinstance(theirs, dict) else {}
    for event, groups in hooks.items():
        before = merged.get(event)
        merged[event] = [*(before if isinstance(before, list) else []), *groups]
    return {**own, "hooks": merged}


def _listed(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]
