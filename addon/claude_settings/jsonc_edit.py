"""Inserts, removes and replaces parts of JSON text; every other byte is preserved.

Removing an inserted part restores the text, except white space inside a list or an object that was
empty.
"""

import json
from typing import Any

from addon.claude_settings.jsonc import Document, JsonNode, JsonPart

_BLANK = " \t"
_SPACE = " \t\r\n"


def insert(document: Document, container: JsonNode, key: str | None, value: Any) -> str:
    """Return the text with a part appended to `container`, formatted like the part before it."""
    text = document.text
    if not container.parts:
        return _insert_first(document, container, key, value)
    last = container.parts[-1]
    indent = _indent_on_own_line(text, last.start)
    after = last.end if last.comma is None else last.comma + 1
    if indent is None:
        part = " " + _rendered(key, value)
    else:
        part = _newline(text) + indent + _rendered(key, value, document, indent)
        after = _after_comments_on_line(document, after)
    if last.comma is None:
        return f"{text[: last.end]},{text[last.end : after]}{part}{text[after:]}"
    # The text has a trailing comma, so add one too; then `remove` has no other comma to delete.
    return f"{text[:after]}{part},{text[after:]}"


def remove(document: Document, container: JsonNode, part: JsonPart) -> str:
    """Return the text without `part` and one comma; comments around it stay."""
    text, at = document.text, container.parts.index(part)
    before, after = text[: part.start], text[part.end :]
    since = container.start
    if at > 0 and (comma := container.parts[at - 1].comma) is not None:
        since = comma
        if part.comma is None:
            since = container.parts[at - 1].end
            before = text[:comma] + text[comma + 1 : part.start]
    if part.comma is not None:
        after = text[part.end : part.comma].rstrip(_BLANK) + text[part.comma + 1 :]
    left = before.rstrip(_SPACE)
    is_bound = _ends_in_line_comment(document, since, part.start) and not _is_end_of_line(after)
    if is_bound or left == before:
        left, after = before, after.lstrip(_BLANK)
    if len(left) == container.start + 1 and after.lstrip(_SPACE)[:1] in ("}", "]"):
        after = after.lstrip(_SPACE)
    return left + after


def replace(document: Document, node: JsonNode, value: Any) -> str:
    """Return the text with `node` replaced by another value."""
    return document.text[: node.start] + _rendered(None, value) + document.text[node.end :]


def _insert_first(document: Document, container: JsonNode, key: str | None, value: Any) -> str:
    text, close = document.text, container.end - 1
    inside = [end for start, end in document.comments if container.start < start < close]
    after = max([container.start + 1, *inside])
    if "\n" not in text.strip() and container is not document.root:
        return text[:after] + _rendered(key, value) + text[after:]
    base = _indent_of_line(text, container.start)
    indent = base + _unit(document)
    part = _newline(text) + indent + _rendered(key, value, document, indent)
    rest = text[after:close]
    if "\n" not in rest:
        rest = _newline(text) + base
    return text[:after] + part + rest + text[close:]


def _rendered(
    key: str | None, value: Any, document: Document | None = None, indent: str = ""
) -> str:
    """Return the JSON on one line, or with `document`, indented like the document."""
    unit = _unit(document) if document else None
    name = "" if key is None else json.dumps(key) + ": "
    rendered = name + json.dumps(value, indent=unit, ensure_ascii=False)
    return rendered.replace("\n", _newline(document.text) + indent) if document else rendered


def _unit(document: Document) -> str:
    first = document.root.parts[0].start if document.root.parts else 0
    return _indent_on_own_line(document.text, first) or "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent_of_line(text: str, offset: int) -> str:
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip(_BLANK))]


def _indent_on_own_line(text: str, offset: int) -> str | None:
    """Return the indentation if nothing else precedes the offset on its line, else None."""
    begin = text.rfind("\n", 0, offset) + 1
    return text[begin:offset] if begin > 0 and not text[begin:offset].strip(_BLANK) else None


def _after_comments_on_line(document: Document, offset: int) -> int:
    for start, end in document.comments:
        if start >= offset and not document.text[offset:start].strip(_BLANK):
            offset = end
    return offset


def _ends_in_line_comment(document: Document, start: int, end: int) -> bool:
    """Return whether the last comment in the range is a `//` comment."""
    between = [at for at, _ in document.comments if start <= at < end]
    return bool(between) and document.text.startswith("//", between[-1])


def _is_end_of_line(text: str) -> bool:
    return text.lstrip(_BLANK)[:1] in ("", "\r", "\n")
