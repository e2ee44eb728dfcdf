"""Run the configured hooks as the client does: `/bin/sh -c`, with the payload on stdin."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ccwire.demo.client.profiles import Profile

_TIMEOUT = 60.0


def settings_in_force(
    profile: Profile, config_dir: Path, cwd: Path, overlay: str | Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """Return the user, project and local settings, and `--settings`: a path, JSON or values."""
    paths = (
        config_dir / "settings.json",
        cwd / ".claude" / "settings.json",
        cwd / ".claude" / "settings.local.json",
    )
    found = [json.loads(path.read_text()) for path in paths if path.is_file()]
    if isinstance(overlay, str):
        text = overlay if overlay.lstrip().startswith("{") else Path(overlay).read_text()
        found.append(json.loads(text))
    elif overlay is not None:
        found.append(dict(overlay))
    return [settings for settings in found if _is_accepted(profile, settings)]


def run_hooks(
    settings: Sequence[Mapping[str, Any]],
    payload: Mapping[str, Any],
    *,
    cwd: Path,
    env: Mapping[str, str],
) -> None:
    """Run every command for the payload's event, one after the other, and discard their output."""
    event = payload["hook_event_name"]
    for source in settings:
        for group in source.get("hooks", {}).get(event, []):
            for hook in group.get("hooks", []):
                if hook.get("type") == "command":
                    _run(hook["command"], payload, cwd, env)


def _run(command: str, payload: Mapping[str, Any], cwd: Path, env: Mapping[str, str]) -> None:
    subprocess.run(
        ["/bin/sh", "-c", command],
        input=json.dumps(payload).encode(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=cwd,
        env=dict(env),
        timeout=_TIMEOUT,
        check=False,
    )


def _is_accepted(profile: Profile, settings: Mapping[str, Any]) -> bool:
    unknown = set(settings.get("hooks", {})) - profile.hooks
    return not (unknown and profile.strict_hooks)
