"""What a Stop hook keeps of the last answer: enough to recognize it, not to read it.

A hash of a short text can be guessed, so it is keyed with the installation's redaction key; without
a key only the length is kept. Imports little: the hook runs at every prompt.
"""

# Importing pathlib takes longer than the hook's own work.
# ruff: noqa: PTH118, PTH120

import os

from addon.hooks.client_process import read_bytes
from addon.hooks.fast_json import Json

_KEY_FILE = "redaction.key"  # `addon.redaction.key` writes it, in the folder of sessions.json
_SHORTEST_KEY, _LONGEST_KEY = 32, 64  # bytes; BLAKE2 takes no longer one
_SIZE = 16


def key_beside(sessions_path: str) -> bytes:
    """Return the installation's key, cut to what the hash takes; empty if there is none."""
    try:
        key = read_bytes(os.path.join(os.path.dirname(sessions_path), _KEY_FILE)).strip()
    except OSError:
        return b""
    return key[:_LONGEST_KEY] if len(key) >= _SHORTEST_KEY else b""


def answer_proof(message: Json, key: bytes) -> dict[str, Json] | None:
    """Return length and keyed hash of a text, without the space around it; None if it is none."""
    if not isinstance(message, str):
        return None
    data = message.strip().encode("utf-8", "backslashreplace")
    return {"length": len(data), "hash": _hash(data, key)}


def proves(proof: Json, message: str, key: bytes) -> bool:
    """Whether the text is the one that the proof was made of, as far as can be known."""
    made = answer_proof(message, key)
    if not isinstance(proof, dict) or made is None or proof.get("length") != made["length"]:
        return False
    known = proof.get("hash")
    return known is None or made["hash"] is None or known == made["hash"]


def _hash(data: bytes, key: bytes) -> str | None:
    if not key:
        return None
    try:
        # Importing `hashlib` would take longer than the hook's own work.
        from _blake2 import blake2b
    except ImportError:
        return None
    digest: str = blake2b(data, digest_size=_SIZE, key=key).hexdigest()
    return digest
