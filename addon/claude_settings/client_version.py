"""Asks a client for its version."""

import shutil
import subprocess
from collections.abc import Sequence

from ccwire.wire.versions import Version, announced_version

_SECONDS = 20


def version_of(command: Sequence[str]) -> Version | None:
    """Return what `COMMAND --version` announces, or None if it is not Claude Code."""
    try:
        ran = subprocess.run(
            [*command, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return announced_version(ran.stdout)


def version_on_path() -> Version | None:
    """Return the version of `claude` on PATH, or None if there is none."""
    program = shutil.which("claude")
    return version_of([program]) if program else None
