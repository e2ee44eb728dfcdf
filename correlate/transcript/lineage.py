"""Where a session comes from: forked, resumed, compacted; by its files and what hooks recorded.

`FirstAnswers` and `summary_of` read the start of a file or one line of it. Only what is certain is
reported: a pause between two lines is no evidence.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ccwire.wire.regular_file import open_regular
from correlate.transcript.lines import line_at, parse_line
from correlate.transcript.locate import main_transcripts
from correlate.transcript.reader import Transcript
from correlate.transcript.records import Compaction, first_text, message_of

_HEADS = (1 << 14, 1 << 18)  # most files name their first answer early
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
    """The first answer of each transcript, by project folder: a fork begins with another's."""

    def __init__(self) -> None:
        self._by_folder: dict[Path, dict[bytes, list[Path]]] = {}

    def origin(self, path: Path) -> str | None:
        """Return the session in the same project that this one was copied from.

        Of the files with the same first answer, the one that was written first is the origin, as
        in `correlate.reconcile.forks`.
        """
        first = first_answer(path)
        if first is None:
            return None
        same = self._in(path.parent).get(first, [])
        written = {other: at for other in {*same, path} if (at := _written(other)) is not None}
        if path not in written or len(written) < 2:
            return None
        oldest = min(written, key=lambda other: (written[other], other.name))
        return oldest.stem if oldest != path and written[oldest] < written[path] else None

    def _in(self, folder: Path) -> dict[bytes, list[Path]]:
        if folder not in self._by_folder:
            found: dict[bytes, list[Path]] = {}
            for path in main_transcripts(folder):
                if first := first_answer(path):
                    found.setdefault(first, []).append(path)
            self._by_folder[folder] = found
        return self._by_folder[folder]


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
