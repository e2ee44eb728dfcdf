"""The client's live records, `sessions/<pid>.json`: one per running client, removed when it exits.

Only files named by a number are opened; other files in that folder may be secret.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccwire.wire.json_text import parse_json

_NAME = re.compile(r"\d+\.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRecord:
    """A running client's own record; times in seconds since the epoch."""

    pid: int
    session_id: str | None
    cwd: str | None
    started_at: float | None
    version: str | None
    kind: str | None
    entrypoint: str | None
    status: str | None
    updated_at: float | None


def live_records(claude_dir: Path) -> list[LiveRecord]:
    folder = claude_dir / "sessions"
    if not folder.is_dir():
        return []
    paths = sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))
    return [record for path in paths if (record := read_live_record(path))]


def read_live_record(path: Path) -> LiveRecord | None:
    """Return the record, or None if it is missing or incomplete."""
    try:
        value = parse_json(path.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("pid"), int):
        return None
    return LiveRecord(
        pid=value["pid"],
        session_id=_text(value.get("sessionId")),
        cwd=_text(value.get("cwd")),
        started_at=_seconds(value.get("startedAt")),
        version=_text(value.get("version")),
        kind=_text(value.get("kind")),
        entrypoint=_text(value.get("entrypoint")),
        status=_text(value.get("status")),
        updated_at=_seconds(value.get("updatedAt")),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _seconds(milliseconds: Any) -> float | None:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return None
    return milliseconds / 1000
