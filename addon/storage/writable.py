"""Whether files can be written where a user wants them, asked before anything depends on it."""

import tempfile
from pathlib import Path


def why_not_writable(captures: Path) -> str | None:
    """What stands against files in that folder, which need not be there yet."""
    try:
        with tempfile.TemporaryFile(dir=existing_part(captures)):
            return None
    except OSError as error:
        return error.strerror


def existing_part(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder
