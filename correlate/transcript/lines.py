"""Reads a transcript line by line and tells, from a line's first bytes, whether it can matter.

Most of a transcript is tool results, which say nothing about tokens: they are never parsed.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccwire.wire.json_text import parse_json

_BUFFER = 1 << 18  # small enough that its memory is used again and again
_HEAD = 1024
_LONGEST_REPORT = 1 << 18  # a line longer than this is no subagent's report
_SUMMARY = b'"isCompactSummary":true'
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


def telling_lines(path: Path, silent: Counter[str], *, own_file: bool) -> Iterator[Line]:
    """The lines that must be parsed; the others are only counted by type, in `silent`.

    Reads what there is by the time the end is reached: the file may grow meanwhile. `own_file`: in
    a file of its own a subagent's lines need no tying together; among a session's they do.
    """
    for number, offset, buffer, start, end in _spans(path):
        kind = _silent_type(buffer, start, end, own_file)
        if kind is None:
            yield Line(number, offset, buffer[start:end])
        else:
            silent[kind] += 1


def read_lines(path: Path) -> Iterator[Line]:
    """Every line, for those who need them all."""
    for number, offset, buffer, start, end in _spans(path):
        yield Line(number, offset, buffer[start:end])


def line_at(path: Path, offset: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.readline()


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


def _spans(path: Path) -> Iterator[tuple[int, int, bytes, int, int]]:
    """Each line as number, place in the file, and a span of a buffer: big lines are not copied."""
    number = offset = 0
    begun: list[bytes] = []  # of a line that goes on in the next buffer
    with path.open("rb", buffering=0) as file:
        while buffer := file.read(_BUFFER):
            start = 0
            while (end := buffer.find(b"\n", start) + 1) > 0:
                number += 1
                if begun:
                    line = b"".join((*begun, buffer[:end]))
                    begun.clear()
                    yield number, offset, line, 0, len(line)
                    offset += len(line)
                else:
                    yield number, offset, buffer, start, end
                    offset += end - start
                start = end
            if start < len(buffer):
                begun.append(buffer[start:])
    if begun:
        line = b"".join(begun)
        yield number + 1, offset, line, 0, len(line)


def _silent_type(data: bytes, start: int, end: int, own_file: bool) -> str | None:
    """The record type of a line that need not be parsed; None: parse it to know."""
    if first := _TYPE_FIRST.match(data, start, end):
        name = first[1].decode()
        return name if name in _SILENT else None
    head = min(start + _HEAD, end)
    found = _ENVELOPE.search(data, start, head)
    if found is None or data.count(b"{", start, found.start()) != 1:
        return None
    if found[0] == b'"attachment":{':
        return "attachment"
    if found[0] != b'"type":"user"' or _tells_more(data, start, end):
        return None
    if not own_file and data.find(b'"isSidechain":true', start, head) >= 0:
        return None
    return "user"


def _tells_more(data: bytes, start: int, end: int) -> bool:
    """A user's line matters where it sums up what was before, or ends a subagent's errand."""
    tail = max(start, end - _HEAD)
    if data.find(_SUMMARY, start, start + _HEAD) >= 0 or data.find(_SUMMARY, tail, end) >= 0:
        return True
    if end - start > _LONGEST_REPORT:
        return False
    result = data.find(b'"toolUseResult":{', start, end)
    return result >= 0 and data.find(b'"agentId":"', result, end) >= 0
