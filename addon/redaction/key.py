"""The key that redaction hashes with: made once for an installation, readable by its user only."""

import logging
import secrets
from pathlib import Path

from addon.storage.files import locked, write_whole

KEY_FILE = "redaction.key"  # beside the map of sessions

_SHORTEST = 32

logger = logging.getLogger("ccwire")


def redaction_key(path: Path) -> bytes:
    """The key in that file, made if need be; a key for this run only where none can be kept."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(path.parent):  # two proxies that start at once make one key
            key = path.read_bytes().strip() if path.exists() else b""
            if len(key) < _SHORTEST:
                key = secrets.token_hex(_SHORTEST).encode()
                write_whole(path, key)
            elif path.stat().st_mode & 0o077:
                path.chmod(0o600)
    except OSError as error:
        logger.warning(
            f"ccwire: no key can be kept in {path.parent} ({error.strerror}):"
            " equal secrets look equal in this run only"
        )
        return secrets.token_bytes(_SHORTEST)
    return key
