"""Where a session comes from: forked, resumed, compacted; by its files and what hooks recorded.

`FirstAnswers` and `summary_of` read the start of a file or one line of it; of a session that begins
with a compaction, `FirstAnswers` reads its project. Only what is certain is reported: a pause
between two lines is no evidence.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ccwire.wire.json_text import text
from ccwire.wire.regular_file import open_regular
from ccwire.wire.times import instant
from correlate.transcript.lines import line_at, parse_line, read_lines
from correlate.transcript.locate import main_transcripts
from correlate.transcript.reader import Transcript
from correlate.transcript.records import Compaction, first_text, message_of

_HEADS = (1 << 14, 1 << 18)  # most files name their first answer early
_COMPACTION = b'"compact_boundary"'
_UUID = re.compile(rb'"uuid"\s*:\s*"([^"\\]+)"')
_ANSWER = re.compile(rb'"id"\s*:\s*"(msg_[^"\\]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """What a session continues; `resumed` is None if nothing is known about it."""

    forked_from: str | None = None
    resumed: bool | None = None
    compactions: int = 0


@dataclass(frozen=True, slots=True)
class HookRecords:
    """What the SessionStart hooks of a session recorded: their sources, and how many processes."""

    sources: Sequence[str | None] = ()
    processes: int = 0


class FirstAnswers:
    """The first answer of each transcript, by project folder: a fork begins with another's.

    The fork of a compacted session begins with the compaction, which is later in the other's file.
    """

    def __init__(self) -> None:
        self._by_folder: dict[Path, dict[bytes, list[Path]]] = {}
        self._compacted: dict[Path, dict[bytes, list[Path]]] = {}

    def origin(self, path: Path) -> str | None:
        """Return the session in the same project that this one was copied from.

        Of the files with the same first answer, one that shows to be a copy is no origin; of the
        others, the one that was written first is, as in `correlate.reconcile.forks`.
        """
        compaction = first_compaction(path)
        if compaction is not None:
            others = self._compacted_in(path.parent).get(compaction, [])
            return next((other.stem for other in others if other != path), None)
        first = first_answer(path)
        if first is None:
            return None
        same = {*self._in(path.parent).get(first, []), path}
        if len(same) > 1:
            same = {other for other in same if not is_copy(other)} or same
        written = {other: at for other in same if (at := _written(other)) is not None}
        if not written or _written(path) is None:
            return None
        oldest = min(written, key=lambda other: (written[other], other.name))
        if path not in written:
            return oldest.stem
        return oldest.stem if written[oldest] < written[path] else None

    def _compacted_in(self, folder: Path) -> dict[bytes, list[Path]]:
        """Return the sessions that were compacted, by the compaction; not those that begin so."""
        if folder not in self._compacted:
            found: dict[bytes, list[Path]] = {}
            for path in main_transcripts(folder):
                if first_compaction(path) is None:
                    for uuid in _compactions_in(path):
                        found.setdefault(uuid, []).append(path)
            self._compacted[folder] = found
        return self._compacted[folder]

    def _in(self, folder: Path) -> dict[bytes, list[Path]]:
        if folder not in self._by_folder:
            found: dict[bytes, list[Path]] = {}
            for path in main_transcripts(folder):
                if first := first_answer(path):
                    found.setdefault(first, []).append(path)
            self._by_folder[folder] = found
        return self._by_folder[folder]


def first_compaction(path: Path) -> bytes | None:
    """Return the uuid of the compaction that a file begins with, before any message."""
    try:
        with open_regular(path) as file:
            head = file.read(_HEADS[0])
    except OSError:
        return None
    for line in head.splitlines():
        if _COMPACTION in line:
            found = _UUID.search(line)
            return found[1] if found else None
        if b'"message":' in line:
            return None
    return None


def is_copy(path: Path) -> bool:
    """Whether a file shows that its first answer was copied into it.

    The copying client may write a line of its own time before the copied ones, and 2.0.73 keeps the
    session id of the first one.
    """
    latest = 0.0
    try:
        with open_regular(path) as file:
            head = file.read(_HEADS[-1])
    except OSError:
        return False
    for line in head.splitlines():
        record = parse_line(line)
        if isinstance(record, str):
            continue
        if text(record.get("sessionId")) not in (None, path.stem):
            return True
        at = instant(record.get("timestamp")) or 0.0
        if record.get("type") == "assistant":
            return 0.0 < at < latest
        latest = max(latest, at)
    return False


def _compactions_in(path: Path) -> Iterator[bytes]:
    try:
        for line in read_lines(path):
            if _COMPACTION in line.data and (found := _UUID.search(line.data)):
                yield found[1]
    except OSError:
        return


def first_answer(path: Path) -> bytes | None:
    """Return the message id of the first answer in the start of a file."""
    try:
        with open_regular(path) as file:
            head = b""
            for most in _HEADS:
                head += file.read(most - len(head))
                if found := _ANSWER.search(head):
                    return bytes(found[1])
                if len(head) < most:
                    return None
    except OSError:
        return None
    return None


def lineage_of(transcript: Transcript | None, origin: str | None, hooks: HookRecords) -> Lineage:
    """Return the lineage of a session that was copied from `origin`, or not."""
    own_versions = transcript.versions if transcript and origin is None else ()
    return Lineage(
        forked_from=origin,
        resumed=_was_resumed(hooks, len(own_versions)),
        compactions=len(transcript.compactions) if transcript else 0,
    )


def _was_resumed(hooks: HookRecords, versions: int) -> bool | None:
    """Return whether another process continued the session; `versions` wrote its own lines."""
    named = [source for source in hooks.sources if source is not None]
    if "resume" in named or hooks.processes > 1 or versions > 1:
        return True
    return False if named else None


def summary_of(compaction: Compaction) -> str | None:
    """Return the text that replaced the lost messages."""
    if compaction.path is None or compaction.summary_offset is None:
        return None
    try:
        record = parse_line(line_at(compaction.path, compaction.summary_offset))
    except OSError:
        return None
    return first_text(message_of(record).get("content")) if isinstance(record, dict) else None


def _written(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None
