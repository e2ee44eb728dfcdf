"""The captured sessions that a command looks at: of one capture folder, or found in several."""

from collections.abc import Mapping
from pathlib import Path

from correlate.captures.folder import session_folders

type Captured = Path | Mapping[str, Path]  # a capture folder, or the folder of each session


def sessions_of(captured: Captured) -> Mapping[str, Path]:
    """Return the folder of each session; those of a capture folder as they are now."""
    if isinstance(captured, Path):
        return {folder.name: folder for folder in session_folders(captured)}
    return captured
