"""Checks in advance whether a capture folder can be written."""

import tempfile
from pathlib import Path


def why_not_writable(captures: Path) -> str | None:
    """Return why files cannot be written to the folder, which need not exist yet, or None."""
    try:
        with tempfile.TemporaryFile(dir=existing_part(captures)):
            return None
    except OSError as error:
        return error.strerror


def existing_part(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder
