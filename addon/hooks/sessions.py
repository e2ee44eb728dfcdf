"""A typed, tolerant reader of sessions.json.

`addon/hooks/sessions_file.py` accesses the file; this module never writes it.
"""

import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from addon.hooks.apply import PROOF, process_of, text_field
from addon.hooks.client_process import same
from addon.hooks.sessions_file import SessionsFileError, read_document, sessions_path
from ccwire.wire.json_text import as_dict
from ccwire.wire.times import instant
from ccwire.wire.vocabulary import SESSION_STATES, SessionState, one_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEntry:
    """One session in one process, as recorded by the hooks."""

    session_id: str
    state: SessionState | None = None
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
    prompted_at: float | None = None
    agents: Mapping[str, str | None] = field(default_factory=dict)  # id -> type, where known
    last_answer: Mapping[str, object] = field(default_factory=dict)  # of a Stop: `answer_proof`


def default_sessions_path() -> Path:
    """Return `CCWIRE_SESSIONS`, else `sessions.json` in the home."""
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
    if not isinstance(value, dict) or not text_field(value, "session_id"):
        return None
    metadata = as_dict(value.get("metadata"))
    process = process_of(value)
    return SessionEntry(
        session_id=value["session_id"],
        state=one_of(SESSION_STATES, value.get("state")),
        project_dir=text_field(value, "project_dir"),
        transcript_path=text_field(value, "transcript_path"),
        source=text_field(value, "source"),
        pid=process[0] if process else None,
        process_created_at=process[1] if process else None,
        claude_version=text_field(metadata, "claude_version"),
        entrypoint=text_field(metadata, "entrypoint"),
        started_at=instant(metadata.get("started_at")),
        ended_at=instant(metadata.get("ended_at")),
        seen_at=instant(metadata.get("seen_at")),
        prompted_at=instant(metadata.get("prompted_at")),
        agents=as_dict(metadata.get("agents")),
        last_answer=as_dict(metadata.get(PROOF)),
    )
