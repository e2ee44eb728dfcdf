"""The client's live records, `sessions/<pid>.json`: one per running client, removed when it exits.

Only files named by a number are opened; other files in that folder may be secret.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from addon.hooks.apply import text_field
from ccwire.wire.json_text import number, parse_json, whole
from ccwire.wire.regular_file import read_regular
from ccwire.wire.times import moment

_NAME = re.compile(r"\d+\.json")
_LARGEST_PID = 2**31 - 1


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
    try:
        found = list((claude_dir / "sessions").iterdir())
    except OSError:  # no folder, or not readable
        return []
    paths = sorted(path for path in found if _NAME.fullmatch(path.name))
    return [record for path in paths if (record := read_live_record(path))]


def read_live_record(path: Path) -> LiveRecord | None:
    """Return the record, or None if it is missing or incomplete."""
    try:
        value = parse_json(read_regular(path))
    except (OSError, ValueError):
        return None
    pid = whole(value.get("pid")) if isinstance(value, dict) else None
    if pid is None or not 0 < pid <= _LARGEST_PID:
        return None
    return LiveRecord(
        pid=pid,
        session_id=text_field(value, "sessionId"),
        cwd=text_field(value, "cwd"),
        started_at=_seconds(value.get("startedAt")),
        version=text_field(value, "version"),
        kind=text_field(value, "kind"),
        entrypoint=text_field(value, "entrypoint"),
        status=text_field(value, "status"),
        updated_at=_seconds(value.get("updatedAt")),
    )


def _seconds(milliseconds: object) -> float | None:
    value = number(milliseconds)
    return None if value is None else moment(value / 1000)
