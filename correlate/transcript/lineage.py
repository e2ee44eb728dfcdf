"""Where a session comes from: forked, resumed, compacted, rewound; by what its files contain.

The functions over records are pure; `FirstAnswers` and `summary_of` read the start of a file or
one line of it. Only what is certain is reported: a pause between two lines is no evidence.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccwire.wire.json_text import text
from ccwire.wire.regular_file import open_regular
from correlate.transcript.lines import line_at, parse_line
from correlate.transcript.locate import main_transcripts
from correlate.transcript.records import Compaction, first_text, message_of

_HEADS = (1 << 14, 1 << 18)  # most files name their first answer early
_ANSWER = re.compile(rb'"id"\s*:\s*"(msg_[^"\\]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """What a session continues; `resumed` is None if nothing is known about it."""

    forked_from: str | None = None
    resumed: bool | None = None
    compactions: int = 0


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


def was_resumed(sources: Iterable[str | None], processes: int, versions: int) -> bool | None:
    """Return whether another process continued the session.

    `sources` are those of its SessionStart hooks, `processes` those that the hooks saw, `versions`
    the client versions that wrote its own lines.
    """
    named = [source for source in sources if source is not None]
    if "resume" in named or processes > 1 or versions > 1:
        return True
    return False if named else None


def rewinds(records: Iterable[Mapping[str, Any]]) -> int:
    """Return how often the user went back: prompts with the same parent, but the first of each.

    Sidechains and tool results do not count: parallel tools have one parent, too.
    """
    parents = Counter(text(record.get("parentUuid")) for record in records if _is_prompt(record))
    del parents[None]
    return sum(children - 1 for children in parents.values())


def summary_of(compaction: Compaction) -> str | None:
    """Return the text that replaced the lost messages."""
    if compaction.path is None or compaction.summary_offset is None:
        return None
    try:
        record = parse_line(line_at(compaction.path, compaction.summary_offset))
    except OSError:
        return None
    return first_text(message_of(record).get("content")) if isinstance(record, dict) else None


def _is_prompt(record: Mapping[str, Any]) -> bool:
    if record.get("type") != "user" or any(
        record.get(name) is True for name in ("isSidechain", "isMeta", "isCompactSummary")
    ):
        return False
    content = message_of(record).get("content")
    blocks = content if isinstance(content, list) else []
    return not any(isinstance(b, dict) and b.get("type") == "tool_result" for b in blocks)


def _written(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None
