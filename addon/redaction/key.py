"""The key of the redaction hashes: created once per installation, readable by its user only."""

import logging
import secrets
from pathlib import Path

from addon.storage.files import locked, read_file, write_whole

KEY_FILE = "redaction.key"  # in the folder of sessions.json

_SHORTEST = 32

logger = logging.getLogger("ccwire")


def redaction_key(path: Path) -> bytes:
    """Return the key in that file, creating it if needed; a temporary key if that fails."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(path.parent):  # two proxies that start at the same time must share one key
            key = read_file(path).strip() if path.exists() else b""
            if len(key) < _SHORTEST:
                key = secrets.token_hex(_SHORTEST).encode()
                write_whole(path, key)
            elif path.stat().st_mode & 0o077:
                path.chmod(0o600)
    except OSError as error:
        logger.warning(
            f"ccwire: could not store the redaction key in {path.parent} ({error.strerror});"
            " hashes of secrets are comparable within this run only"
        )
        return secrets.token_bytes(_SHORTEST)
    return key
