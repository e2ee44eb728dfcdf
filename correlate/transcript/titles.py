"""The title of a session, else its first prompt.

Reads only the start and end of a transcript. `sessions-index.json` is used for titles only.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ccwire.wire.json_text import parse_json
from ccwire.wire.regular_file import open_regular, read_regular
from ccwire.wire.safe_text import one_line
from correlate.transcript.records import first_text, message_of

_END_BYTES = 1 << 18
_LONGEST = 200
_TITLE_FIELDS = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
CLIENT_TAG = re.compile(
    r"<(command-name|command-message|local-command|system-reminder|bash-|user-memory-input)"
)


def title_of(transcript: Path, clean: Callable[[str], str] = str) -> str | None:
    """Return the newest title in the file, else the one in the index, else the first prompt.

    `clean` redacts a text; it is called before a long title is cut.
    """
    found = _title_in(transcript)
    return clean(found)[:_LONGEST] if found else None


def _title_in(transcript: Path) -> str | None:
    try:
        size = transcript.stat().st_size
        with open_regular(transcript) as file:
            head = file.read(_END_BYTES)
            file.seek(max(0, size - _END_BYTES))
            tail = file.read(_END_BYTES)
    except OSError:
        return None
    records = _records(head)
    titles = [t for r in [*records, *_records(tail)] if (t := _title(r))]
    if titles:
        return titles[-1]
    indexed = _indexed(transcript)
    return indexed or next((p for r in records if (p := _prompt(r))), None)


def _records(data: bytes) -> list[dict[str, Any]]:
    found = []
    for line in data.split(b"\n"):
        if b'"user"' not in line and b"itle" not in line and b'"summary"' not in line:
            continue
        try:
            value = parse_json(line)
        except ValueError:
            continue  # a line cut at the edge of the part read
        if isinstance(value, dict):
            found.append(value)
    return found


def _title(record: dict[str, Any]) -> str | None:
    kind = record.get("type")
    field = _TITLE_FIELDS.get(kind) if isinstance(kind, str) else None
    value = record.get(field) if field else None
    return _one_line(value) if isinstance(value, str) and value else None


def _prompt(record: dict[str, Any]) -> str | None:
    if record.get("type") != "user" or record.get("isMeta") or record.get("isSidechain"):
        return None
    if record.get("isCompactSummary") is True:
        return None
    content = first_text(message_of(record).get("content"))
    if content is None or CLIENT_TAG.match(content.lstrip()):
        return None
    return _one_line(content)


def _indexed(transcript: Path) -> str | None:
    try:
        index = parse_json(read_regular(transcript.parent / "sessions-index.json"))
    except (OSError, ValueError):
        return None
    entries = index.get("entries") if isinstance(index, dict) else index
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("sessionId") == transcript.stem:
            for name in ("customTitle", "summary", "firstPrompt"):
                if isinstance(entry.get(name), str) and entry[name]:
                    return _one_line(entry[name])
    return None


def _one_line(text: str) -> str | None:
    line = " ".join(one_line(text).split())
    return line or None
