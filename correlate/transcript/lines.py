"""Read a transcript line by line and decide from a line's first bytes whether to parse it.

Most of a transcript is tool results, which contain no token counts: they are never parsed.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccwire.wire.json_text import parse_json
from ccwire.wire.regular_file import open_regular

_BUFFER = 1 << 18  # small enough for its memory to be reused
_HEAD = 1024
_LONGEST_REPORT = 1 << 18  # a longer line is not a subagent's report
_SUMMARY = b'"isCompactSummary":true'
_BOM = b"\xef\xbb\xbf"

_TYPE_FIRST = re.compile(rb'\{"type":"([a-z_-]+)"')
# The first key found in a line's head: the record's type, or an object that precedes it.
_ENVELOPE = re.compile(
    rb'"type":"user"|"type":"tool_result"|"attachment":\{|"message":|"data":|"snapshot":|"type":'
)
_RESULTS = {b'"type":"user"': "user", b'"type":"tool_result"': "tool_result"}

# Record types without information about tokens, agents or retries, in lines that start with them.
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
    """A line with its number, counted from 1, and its byte offset."""

    number: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is not a valid record."""

    path: Path
    line: int
    reason: str  # blank, malformed, cut, not an object


def telling_lines(
    path: Path, silent: Counter[str], *, own_file: bool, start_at: int = 0
) -> Iterator[Line]:
    """Yield the lines that must be parsed; the others are only counted by type, in `silent`.

    Lines appended while reading are included. `own_file`: the file belongs to one subagent, so its
    user lines are not needed to tell agents apart; in a session's file they are. `start_at` is the
    offset of the first line to read, which gets the number 1.
    """
    for number, offset, buffer, start, end in _spans(path, start_at):
        kind = _silent_type(buffer, start, end, own_file)
        if kind is None:
            yield Line(number, offset, buffer[start:end])
        else:
            silent[kind] += 1


def read_lines(path: Path) -> Iterator[Line]:
    """Yield every line."""
    for number, offset, buffer, start, end in _spans(path):
        yield Line(number, offset, buffer[start:end])


def line_at(path: Path, offset: int) -> bytes:
    with open_regular(path) as file:
        file.seek(offset)
        return file.readline()


def parse_line(data: bytes) -> dict[str, Any] | str:
    """Return the record, or the reason why the line is not one."""
    text = data.removeprefix(_BOM).strip(b"\0\t\r\n ")
    if not text:
        return "blank"
    try:
        record = parse_json(text)
    except ValueError:
        return "malformed" if data.endswith(b"\n") else "cut"
    return record if isinstance(record, dict) else "not an object"


def _spans(path: Path, start_at: int = 0) -> Iterator[tuple[int, int, bytes, int, int]]:
    """Yield each line as number, offset and a span of a buffer: long lines are not copied."""
    number, offset = 0, start_at
    begun: list[bytes] = []  # parts of a line that continues in the next buffer
    with open_regular(path, buffering=0) as file:
        file.seek(start_at)
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
    """Return the record type of a line that need not be parsed; None: it must be parsed."""
    if first := _TYPE_FIRST.match(data, start, end):
        name = first[1].decode()
        if name == "tool_result":  # written by other tools: a line of its own
            return None if _tells_more(data, start, end) else name
        return name if name in _SILENT else None
    head = min(start + _HEAD, end)
    found = _ENVELOPE.search(data, start, head)
    if found is None or data.count(b"{", start, found.start()) != 1:
        return None
    if found[0] == b'"attachment":{':
        return "attachment"
    name = _RESULTS.get(found[0], "")
    if not name or _tells_more(data, start, end):
        return None
    if not own_file and data.find(b'"isSidechain":true', start, head) >= 0:
        return None
    return name


def _tells_more(data: bytes, start: int, end: int) -> bool:
    """Whether a user line matters: it is a compaction summary or a subagent's result."""
    tail = max(start, end - _HEAD)
    if data.find(_SUMMARY, start, start + _HEAD) >= 0 or data.find(_SUMMARY, tail, end) >= 0:
        return True
    if end - start > _LONGEST_REPORT:
        return False
    named = data.find(b"agentId", start, end)
    if named < 0:
        return False
    if data.find(b"agentId: ", named, end) >= 0:  # in the text of a result
        return True
    result = data.find(b'"toolUseResult":{', start, end)
    return result >= 0 and data.find(b'"agentId":"', result, end) >= 0
