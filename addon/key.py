"""The key that redaction hashes with: made once for an installation, readable by its user only."""

import secrets
from pathlib import Path

from addon.store import write_new

KEY_FILE = "redaction.key"  # beside the map of sessions


def redaction_key(path: Path) -> bytes:
    """The key in that file, made if need be; a key for this run only where none can be kept."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_new(path, secrets.token_hex(32).encode())
        key = path.read_bytes().strip()
    except OSError:
        return secrets.token_bytes(32)
    if len(key) < 32 or path.stat().st_mode & 0o077:
        path.chmod(0o600)
        key = key if len(key) >= 32 else secrets.token_bytes(32)
    return key
