"""The home of an installation: the folder of its captures, reports and records of sessions."""

import os
from collections.abc import Mapping
from pathlib import Path

from addon.hooks.sessions_file import home_path
from ccwire.wire.format import short_id

CAPTURES = "captures"
REPORTS = "reports"


def find_home(environment: Mapping[str, str]) -> Path | None:
    """Return `CCWIRE_HOME`, else `~/.ccwire`; None if the user has no home directory."""
    path = home_path(environment)
    try:
        return None if path.startswith("~") else Path(os.path.abspath(path))  # noqa: PTH100
    except FileNotFoundError:  # a relative path, in a working directory that was removed
        return None


def report_name(session_id: str, other_id: str | None = None) -> str:
    """Return the name of a session's page, or of its comparison with another."""
    return f"{session_id}-{short_id(other_id)}.html" if other_id else f"{session_id}.html"


def is_report_of(name: str, session_id: str) -> bool:
    """Whether a page shows a session, alone or compared with another."""
    is_own = name == report_name(session_id) or name.startswith(f"{session_id}-")
    return name.endswith(".html") and (is_own or name.endswith(f"-{short_id(session_id)}.html"))


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
