"""The `--settings` file of one run: the user's own settings with our hooks and variables added.

The user's settings files do not change. A session that goes to the background is restarted later
with the same arguments, by the client's own service. A file of this run does not exist any more by
then, and the session would not start, so our hooks alone are given as JSON to these releases.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from addon.claude_settings.client_version import version_of
from addon.claude_settings.files import installed_scopes
from addon.claude_settings.hooks_text import hook_command, hook_settings
from addon.hooks.events import events_for
from addon.launch.arguments import (
    KEPT_SINCE,
    client_in,
    is_json,
    merged_settings,
    takes_settings,
    user_settings,
)
from addon.launch.client_settings import settings_text
from ccwire.wire.json_text import parse_json
from ccwire.wire.versions import Version


class OverlayError(Exception):
    """The user's `--settings` cannot be read; the message is one sentence."""


def with_overlay(
    command: list[str],
    claude_dir: Path,
    project: Path,
    scratch: Path,
    variables: Mapping[str, str] | None = None,
) -> list[str]:
    """Add our hooks and variables for this run, if the client takes a `--settings` argument.

    Hooks are not added if they are installed in a file that the client does not ignore.
    """
    words = client_in(command)
    if words is None:
        return command
    start, arguments = command[:words], command[words:]
    version = version_of(start)
    if version is None or not takes_settings(version, arguments):
        return command
    wants_hooks = not installed_scopes(claude_dir, project, version)
    if not (wants_hooks or variables):
        return command
    given = user_settings(arguments)
    hooks = hook_settings(hook_command(), events_for(version))["hooks"] if wants_hooks else {}
    merged = merged_settings(settings_value(given.value), hooks, variables or {})
    text = orjson.dumps(merged)
    if _is_inline(version, given.value, variables):
        return [*start, "--settings", text.decode(), *given.arguments]
    overlay = scratch / "settings.json"
    overlay.touch(mode=0o600)
    overlay.write_bytes(text)
    return [*start, "--settings", str(overlay), *given.arguments]


def _is_inline(version: Version, given: str | None, variables: Mapping[str, str] | None) -> bool:
    """Return whether the JSON itself is the argument, and not a file that ends with this run.

    The user's JSON may contain a key, so it is written to no file. What is not on the command line
    already, a key in the user's file or the proxy's password, is not put there.
    """
    if given is not None:
        return is_json(given)
    return not variables and version >= KEPT_SINCE


def settings_value(given: str | None) -> Mapping[str, Any]:
    """Parse the user's `--settings`: a file, or the JSON itself; raise OverlayError."""
    if given is None:
        return {}
    name = "--settings" if is_json(given) else f"--settings {given[:200]}"  # JSON may have a key
    try:
        value = parse_json(settings_text(given))
    except OSError as error:
        raise OverlayError(f"{name}: {error.strerror}.") from error
    except ValueError as error:
        raise OverlayError(f"{name}: not valid JSON ({error}).") from None
    if not isinstance(value, dict):
        raise OverlayError(f"{name}: not a JSON object.")
    return value
