"""Reads a transcript line by line and tells, from a line's first bytes, whether it can matter.

Most of a transcript is tool results, which say nothing about tokens: they are never parsed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from addon.format import parse_json

_BUFFER = 1 << 20
_HEAD = 1024
_BOM = b"\xef\xbb\xbf"

_TYPE_FIRST = re.compile(rb'\{"type":"([a-z-]+)"')
# What an envelope's head reaches first: the record's type, or the object that goes before it.
_ENVELOPE = re.compile(rb'"type":"user"|"attachment":\{|"message":|"data":|"snapshot":|"type":')

# Record types that tell nothing about tokens, agents or retries, in lines that start with them.
_SILENT = frozenset(
    {
        "agent-color",
        "agent-name",
        "agent-setting",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "content-replacement",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "queue-operation",
        "tools-used",
        "worktree-state",
    }
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line's place: number counted from 1, and where its bytes are."""

    number: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no record, named by file and line."""

    path: Path
    line: int
    reason: str  # blank, malformed, cut, not an object


def read_lines(path: Path) -> Iterator[Line]:
    """Every line there is by the time its end is reached: the file may grow meanwhile."""
    offset = 0
    with path.open("rb", buffering=_BUFFER) as file:
        for number, data in enumerate(file, 1):
            yield Line(number, offset, data)
            offset += len(data)


def line_at(path: Path, offset: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.readline()


def silent_type(data: bytes, *, own_file: bool) -> str | None:
    """The record type of a line that need not be parsed; None: parse it to know.

    In a file of its own a subagent's lines need no tying together; among a session's they do.
    """
    if first := _TYPE_FIRST.match(data):
        name = first[1].decode()
        return name if name in _SILENT else None
    found = _ENVELOPE.search(data, 0, _HEAD)
    if found is None or data.count(b"{", 0, found.start()) != 1:
        return None
    if found[0] == b'"attachment":{':
        return "attachment"
    if found[0] != b'"type":"user"' or _tells_more(data):
        return None
    if not own_file and b'"isSidechain":true' in data[:_HEAD]:
        return None
    return "user"


def parse_line(data: bytes) -> dict[str, Any] | str:
    """The record, or why there is none."""
    text = data.removeprefix(_BOM).strip(b"\0\t\r\n ")
    if not text:
        return "blank"
    try:
        record = parse_json(text)
    except ValueError:
        return "malformed" if data.endswith(b"\n") else "cut"
    return record if isinstance(record, dict) else "not an object"


def _tells_more(data: bytes) -> bool:
    """A user's line matters where it sums up what was before, or ends a subagent's errand."""
    if b'"isCompactSummary":true' in data[:_HEAD] or b'"isCompactSummary":true' in data[-_HEAD:]:
        return True
    result = data.find(b'"toolUseResult":{')
    return result >= 0 and data.find(b'"agentId":"', result) >= 0
