"""Puts a Markdown text of a model or a user into a larger document, so that it ends where it ends.

An open code block or comment would swallow what follows, and a heading would be one of the
document: the first are closed, the second made ordinary text, the third lowered. Pure.
"""

import re
from collections.abc import Iterator

_FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})(.*)$")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=\s|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*$")
_OPEN_ENDED = re.compile(r" {0,3}<(!|\?|(script|pre|style|textarea)(?=[\s>]|$))", re.IGNORECASE)
_LOWERED, _LOWEST = 3, 6  # the document's own headings are of levels 1 to 3


def contained(text: str) -> str:
    """Return the text as Markdown that does not change the document around it."""
    return "\n".join(_lines(text))


def _lines(text: str) -> Iterator[str]:
    fence = ""  # of the code block that is open
    before = ""
    for line in text.split("\n"):
        marked = _FENCE.match(line)
        if fence:
            closes = marked is not None and marked[1].startswith(fence) and not marked[2].strip()
            fence = "" if closes else fence
            yield line
            before = ""
        elif marked is not None:
            fence = marked[1]
            yield line
        else:
            yield _plain(line, before)
            before = line.strip()
    if fence:
        yield fence


def _plain(line: str, before: str) -> str:
    if heading := _HEADING.match(line):
        level = min(len(heading[1]) + _LOWERED, _LOWEST)
        return "#" * level + line[heading.end() :]
    if before and _UNDERLINE.match(line):
        return f"\n{line}" if line.strip().startswith("---") else f"\\{line.strip()}"
    return line.replace("<", r"\<", 1) if _OPEN_ENDED.match(line) else line
