"""A typed, tolerant reader of sessions.json.

`addon/hooks/sessions_file.py` accesses the file; this module never writes it.
"""

import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from addon.hooks.apply import process_of
from addon.hooks.client_process import same
from addon.hooks.sessions_file import SessionsFileError, read_document, sessions_path

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEntry:
    """One session in one process, as recorded by the hooks."""

    session_id: str
    state: str | None = None
    project_dir: str | None = None
    transcript_path: str | None = None
    source: str | None = None
    pid: int | None = None
    process_created_at: float | None = None
    claude_version: str | None = None
    entrypoint: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    seen_at: float | None = None
    agents: Mapping[str, str | None] = field(default_factory=dict)  # id -> type, where known


def default_sessions_path() -> Path:
    """Return `CCWIRE_SESSIONS`, else `~/.ccwire/sessions.json`."""
    return Path(sessions_path(None, os.environ))


def read_sessions(path: Path) -> list[SessionEntry]:
    """Return the entries, oldest first; for an invalid file, log a warning and return none."""
    try:
        document = read_document(str(path))
    except (SessionsFileError, OSError) as error:
        logger.warning("ccwire: could not read %s: %s", path, error)
        return []
    return [entry for value in document["sessions"] if (entry := _entry(value))]


def session_for_process(
    entries: Iterable[SessionEntry], pid: int, created_at: float
) -> SessionEntry | None:
    """Return the newest entry of that process, ended or not: clients send after SessionEnd."""
    newest = None
    for entry in entries:
        if entry.pid is None or entry.process_created_at is None:
            continue
        if same((entry.pid, entry.process_created_at), (pid, created_at)):
            newest = entry
    return newest


class SessionsMap:
    """sessions.json, looked up at every request, so read again only when it has changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries: list[SessionEntry] = []
        self._seen: tuple[int, int, int] | None = None

    def entries(self) -> list[SessionEntry]:
        state = self._state()
        if state != self._seen:
            self._entries = read_sessions(self.path) if state else []
            self._seen = state
        return self._entries

    def _state(self) -> tuple[int, int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size


def _entry(value: object) -> SessionEntry | None:
    if not isinstance(value, dict) or not _text(value, "session_id"):
        return None
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    process = process_of(value)
    agents = metadata.get("agents")
    return SessionEntry(
        session_id=value["session_id"],
        state=_text(value, "state"),
        project_dir=_text(value, "project_dir"),
        transcript_path=_text(value, "transcript_path"),
        source=_text(value, "source"),
        pid=process[0] if process else None,
        process_created_at=process[1] if process else None,
        claude_version=_text(metadata, "claude_version"),
        entrypoint=_text(metadata, "entrypoint"),
        started_at=_time(metadata, "started_at"),
        ended_at=_time(metadata, "ended_at"),
        seen_at=_time(metadata, "seen_at"),
        agents=agents if isinstance(agents, dict) else {},
    )


def _text(value: Mapping[str, Any], name: str) -> str | None:
    found = value.get(name)
    return found if isinstance(found, str) and found else None


def _time(value: Mapping[str, Any], name: str) -> float | None:
    """Return seconds since the epoch, also from an ISO 8601 string."""
    found = value.get(name)
    if isinstance(found, int | float):
        return float(found)
    try:
        return datetime.fromisoformat(found).timestamp() if isinstance(found, str) else None
    except ValueError:
        return None
