"""The home of an installation: the folder of its captures, reports and records of sessions."""

import os
from collections.abc import Mapping
from pathlib import Path

from addon.hooks.sessions_file import home_path

CAPTURES = "captures"
REPORTS = "reports"


def find_home(environment: Mapping[str, str]) -> Path | None:
    """Return `CCWIRE_HOME`, else `~/.ccwire`; None if the user has no home directory."""
    path = home_path(environment)
    try:
        return None if path.startswith("~") else Path(os.path.abspath(path))  # noqa: PTH100
    except FileNotFoundError:  # a relative path, in a working directory that was removed
        return None


def make_home(home: Path, folder: str | None = None) -> Path:
    """Create the home, or a folder in it, with mode 0700; raise OSError if that fails.

    A home directory of the user that does not exist is not created.
    """
    if home != find_home({}):
        home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    wanted = home / folder if folder else home
    for path in (home, wanted):
        if not path.is_dir():
            path.mkdir(mode=0o700, exist_ok=True)
            path.chmod(0o700)  # regardless of the umask
    return wanted
