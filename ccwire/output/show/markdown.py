"""Puts a Markdown text of a model or a user into a larger document, so that it ends where it ends.

An open code block or comment would swallow what follows, and a heading would be one of the
document: the first are closed, the second made ordinary text, the third lowered. The result is
parsed to be sure; a text that still reaches beyond its end becomes a code block as a whole, for
example a list that ends within the code of an item. Pure.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

_FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})(.*)$")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=\s|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*$")
_OPEN_ENDED = re.compile(r" {0,3}<(!|\?|(script|pre|style|textarea)(?=[\s>]|$))", re.IGNORECASE)
_HIGH = ("h1", "h2", "h3")
_AFTER = "what follows"
_NESTING = 100  # levels of lists and quotes that are parsed
_LOWERED, _LOWEST = 3, 6  # the document's own headings are of levels 1 to 3


def contained(text: str, margin: str = "") -> str:
    """Return the text as Markdown that does not change the document around it.

    `margin` is what each of its lines will begin with: the marks of block quotes.
    """
    made = "\n".join(_lines(text))
    return made if _ends_where_it_ends(made, margin) else code_block(text)


def code_block(text: str) -> str:
    """Return the text as a code block, with a fence that is longer than any in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def quoted(text: str, margin: str) -> str:
    """Return the text with a margin before each line."""
    return "\n".join(f"{margin}{line}".rstrip() for line in text.split("\n"))


def _ends_where_it_ends(text: str, margin: str) -> bool:
    """Whether a heading after the text is one, and none in it is as high as the document's own."""
    from markdown_it import MarkdownIt  # only Markdown needs it

    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING})
    parser.core.ruler.enableOnly(["normalize", "block"])
    tokens = parser.parse(quoted(f"{text}\n\n# {_AFTER}", margin))
    level = margin.count(">")
    own = [
        (token.tag, after.content)
        for token, after in pairwise(tokens)
        if token.type == "heading_open" and token.level == level
    ]
    return own[-1:] == [("h1", _AFTER)] and all(tag not in _HIGH for tag, _ in own[:-1])


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
