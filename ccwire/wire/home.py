"""The user's folder of ccwire: `CCWIRE_HOME`, else `~/.ccwire`."""

from collections.abc import Mapping
from pathlib import Path


def home(environment: Mapping[str, str]) -> Path:
    """Return the folder, which need not exist."""
    return Path(environment.get("CCWIRE_HOME") or "~/.ccwire").expanduser()
