"""A parser for JSON with comments and trailing commas that records the position of every value.

The positions make it possible to edit a user's file in one place and preserve the rest.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_SPACE = " \t\r\n"
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"[-+.\w]+")
_LITERALS = {"true": True, "false": False, "null": None}
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?", re.ASCII)
_COMMENT = re.compile(r"//[^\n\r]*|/\*.*?\*/", re.DOTALL)


class JsoncError(ValueError):
    """A syntax error with its line and column, both counted from 1."""

    def __init__(self, message: str, text: str, offset: int) -> None:
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - (text.rfind("\n", 0, offset) + 1) + 1
        super().__init__(f"line {self.line}, column {self.column}: {message}")


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value and its position; `parts` are the members of an object or the items of a list."""

    start: int
    end: int
    value: Any
    parts: tuple["JsonPart", ...] = ()

    def member(self, key: str) -> "JsonPart | None":
        """Return the member of that name; of duplicates the last, as in JSON.parse."""
        return next((part for part in reversed(self.parts) if part.key == key), None)


@dataclass(frozen=True, slots=True)
class JsonPart:
    """A member of an object (with its key) or an item of a list, and the comma after it."""

    start: int
    key: str | None
    node: JsonNode
    comma: int | None

    @property
    def end(self) -> int:
        return self.node.end


@dataclass(frozen=True, slots=True)
class Document:
    text: str
    root: JsonNode
    comments: tuple[tuple[int, int], ...]

    def has_comment(self, start: int, end: int) -> bool:
        return any(start <= comment[0] < end for comment in self.comments)


def parse(text: str) -> Document:
    """Parse `text`; raise JsoncError."""
    reader = _Parser(text)
    try:
        return reader.document()
    except RecursionError:
        raise JsoncError("nested too deeply", text, reader.at) from None


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0
        self.comments: list[tuple[int, int]] = []

    def document(self) -> Document:
        self._skip()
        root = self._value()
        self._skip()
        if self.at < len(self.text):
            raise self._error("expected the end of the file")
        return Document(self.text, root, tuple(self.comments))

    def _error(self, message: str) -> JsoncError:
        return JsoncError(message, self.text, self.at)

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _skip(self) -> None:
        """Skip white space and comments."""
        while (character := self._next()) and character in _SPACE + "/":
            if character != "/":
                self.at += 1
                continue
            found = _COMMENT.match(self.text, self.at)
            if found is None:
                raise self._error("expected a value or a complete comment")
            self.comments.append(found.span())
            self.at = found.end()

    def _value(self) -> JsonNode:
        start = self.at
        character = self._next()
        if character == "{":
            parts = tuple(self._parts("}", keyed=True))
            return JsonNode(start, self.at, {part.key: part.node.value for part in parts}, parts)
        if character == "[":
            parts = tuple(self._parts("]", keyed=False))
            return JsonNode(start, self.at, [part.node.value for part in parts], parts)
        if character == '"':
            value = self._string()
            return JsonNode(start, self.at, value)
        return self._word()

    def _parts(self, closing: str, keyed: bool) -> Iterator[JsonPart]:
        """Yield the parts between the brackets, with the position of each comma."""
        self.at += 1
        self._skip()
        while self._next() != closing:
            start, key = self.at, self._key() if keyed else None
            node = self._value()
            self._skip()
            comma = self.at if self._next() == "," else None
            if comma is not None:
                self.at += 1
                self._skip()
            elif self._next() != closing:
                raise self._error(f"expected `,` or `{closing}`")
            yield JsonPart(start, key, node, comma)
        self.at += 1

    def _key(self) -> str:
        if self._next() != '"':
            raise self._error("expected a name in double quotes or `}`")
        key = self._string()
        self._skip()
        if self._next() != ":":
            raise self._error("expected `:`")
        self.at += 1
        self._skip()
        return key

    def _string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise self._error("unterminated string")
        try:
            value = json.loads(found[0])
        except ValueError:
            raise self._error("unknown escape in string") from None
        self.at = found.end()
        return str(value)

    def _word(self) -> JsonNode:
        found = _WORD.match(self.text, self.at)
        word = found[0] if found else ""
        if word in _LITERALS:
            value: Any = _LITERALS[word]
        elif _NUMBER.fullmatch(word):
            # A number with thousands of digits is valid JSON, but `int` refuses it.
            value = float(word)
        else:
            raise self._error("expected a value")
        start, self.at = self.at, self.at + len(word)
        return JsonNode(start, self.at, value)
