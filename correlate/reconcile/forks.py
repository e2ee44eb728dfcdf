"""Find the session that a turn was copied from: a fork's transcript repeats lines with their ids.

Searches other captures first, then other transcripts, on demand, and caches both.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ccwire.wire.format import SESSION_HEADER
from ccwire.wire.json_text import as_dict
from ccwire.wire.pack.files import PackDamaged
from correlate.captures.content import CaptureFiles, body_of
from correlate.captures.folder import read_exchanges
from correlate.captures.sessions import Captured, sessions_of
from correlate.reconcile.result import Origin
from correlate.transcript.lineage import is_copy
from correlate.transcript.lines import parse_line, telling_lines
from correlate.transcript.locate import ClaudeDir, SessionFiles
from correlate.transcript.turns import Turn


class ForkOrigins:
    """An index of ids in captures and transcripts: of answers and, in transcripts, compactions."""

    def __init__(self, captures: Captured, claude: ClaudeDir) -> None:
        self._captures = captures
        self._claude = claude
        self._captured: dict[str, list[tuple[str, int]]] | None = None
        self._written: dict[Path, dict[str, int]] = {}
        self._files: dict[str, CaptureFiles] = {}

    def of(self, turns: Iterable[Turn], files: SessionFiles) -> dict[str, Origin]:
        """Return, by message id, the origin of turns that an earlier session contains."""
        wanted = [turn.message_id for turn in turns if turn.message_id and not turn.synthetic]
        found: dict[str, Origin] = {}
        for message_id in wanted:
            for session_id, sequence in self._in_captures().get(message_id, ()):
                if session_id == files.session_id:
                    continue
                if self._wrote(session_id, message_id) or self._is_named(session_id, sequence):
                    evidence = f"same ids as call {sequence} of session {session_id}"
                    found[message_id] = Origin(session_id, evidence, captured=True)
        missing = [message_id for message_id in wanted if message_id not in found]
        if missing:
            found |= self._in_transcripts(missing, files)
        return found

    def _wrote(self, session_id: str, message_id: str) -> bool:
        """Whether a session's transcript has the answer; a call alone may be in a wrong folder."""
        return any(message_id in self._ids_in(p) for p in self._claude.session(session_id).main)

    def _is_named(self, session_id: str, sequence: int) -> bool:
        """Whether the request itself names the session of its folder.

        A client that continues a session may make its first calls under a session id of its own,
        and write their lines into the session that it continues.
        """
        if session_id not in self._files:
            self._files[session_id] = CaptureFiles(sessions_of(self._captures)[session_id])
        try:
            request = self._files[session_id].request(sequence)
        except (OSError, ValueError, PackDamaged):
            return False
        return session_id in _named_in(request)

    def sharing(self, ids: Iterable[str], files: SessionFiles) -> list[str]:
        """Return other sessions of the same projects that contain one of these ids.

        An id is that of an answer or of a compaction, which are copied when a session is forked.
        """
        wanted = set(ids)
        folders = {path.parent for path in files.main}
        return [
            path.stem
            for path in self._claude.siblings(files)
            if path.parent in folders and wanted & self._ids_in(path).keys()
        ]

    def sessions_with(self, message_ids: Iterable[str]) -> list[str]:
        """Return the sessions that contain one of these answers; slow, reads all transcripts."""
        wanted = set(message_ids)
        if not wanted:
            return []
        paths = self._claude.session_ids().items()
        return [name for name, path in paths if wanted & self._ids_in(path).keys()]

    def _in_captures(self) -> dict[str, list[tuple[str, int]]]:
        if self._captured is None:
            self._captured = {}
            for folder in sessions_of(self._captures).values():
                for exchange in read_exchanges(folder):
                    if exchange.message_id:
                        place = (folder.name, exchange.sequence)
                        self._captured.setdefault(exchange.message_id, []).append(place)
        return self._captured

    def _in_transcripts(self, wanted: list[str], files: SessionFiles) -> dict[str, Origin]:
        """Search transcripts that this one may be a copy of.

        A file may show that it is a copy, else it is the one of two that was written last: the
        origin may have been continued later.
        """
        found: dict[str, Origin] = {}
        written = max(map(_written, files.main), default=None)
        if written is None:
            return found
        is_shown = any(map(is_copy, files.main))
        for path in self._claude.siblings(files):
            if _written(path) > written and not is_shown:
                continue
            ids = self._ids_in(path)
            shared = [name for name in wanted if name in ids and name not in found]
            if not shared or (is_copy(path) and (not is_shown or _written(path) > written)):
                continue
            for message_id in shared:
                evidence = f"same ids as {path.name}:{ids[message_id]}"
                found[message_id] = Origin(path.stem, evidence)
            if len(found) == len(wanted):
                break
        return found

    def _ids_in(self, path: Path) -> dict[str, int]:
        if path not in self._written:
            self._written[path] = _read_ids(path)
        return self._written[path]


def _read_ids(path: Path) -> dict[str, int]:
    """Return the line of each id; of another session's file that cannot be read, none."""
    ids: dict[str, int] = {}
    with suppress(OSError):
        for line in telling_lines(path, Counter(), own_file=True):
            record = parse_line(line.data)
            name = _id_of(record) if isinstance(record, dict) else None
            if isinstance(name, str):
                ids.setdefault(name, line.number)
    return ids


def _written(path: Path) -> float:
    """Return when a file was written last; never, if it is gone."""
    try:
        return path.stat().st_mtime
    except OSError:
        return math.inf


def _named_in(request: Mapping[str, Any]) -> str:
    """Return the text of a request in which a client names its session."""
    header = as_dict(request.get("headers")).get(SESSION_HEADER)
    user = as_dict(as_dict(body_of(request)).get("metadata")).get("user_id")
    return f"{header} {user}"


def _id_of(record: Mapping[str, Any]) -> object:
    if record.get("subtype") == "compact_boundary":
        return record.get("uuid")
    message = record.get("message")
    return message.get("id") if isinstance(message, dict) else None
