"""Replace the strings in JSON text and keep every other byte in place. Pure.

Works on tokens, not values: whitespace, escapes, number formats, duplicate keys and truncated
lines are preserved, and each string keeps its length.
"""

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache

from ccwire.wire.json_text import parse_json
from correlate.schema.observe.vocabulary import EMBEDDED, is_field_name
from correlate.scrub.rules import Rules, Where

# Matches strings, brackets and bare words; whitespace, colons and commas are skipped.
_TOKEN = re.compile(
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'  # a string, the last one possibly truncated
    r"|[{}\[\]]"
    r'|[^{}\[\]:," \t\r\n\0\ufeff]+',  # a number, a literal, or invalid JSON
    re.DOTALL,
)
_is_field_name = lru_cache(maxsize=4096)(is_field_name)
_COLON = re.compile(r"[ \t\r\n]*:")
_LITERALS = frozenset(("true", "false", "null"))
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.", re.DOTALL
)


def scrub_json(text: str, rules: Rules, document: str) -> str:
    """Scrub a JSON document, possibly truncated; the result has the same length in bytes."""
    return _Walk(text, rules, rules.roots[document]).scrubbed()


@dataclass(slots=True)
class _OpenContainer:
    """An open container; an object's keys are decided on when it closes."""

    where: Where
    is_object: bool
    key: str = ""
    keys: list[tuple[int, int, str]] = field(default_factory=list)
    children: list[tuple[str, ...] | None] = field(default_factory=list)  # their keys, if objects


class _Walk:
    def __init__(self, text: str, rules: Rules, where: Where) -> None:
        self._text = text
        self._rules = rules
        self._edits: list[tuple[int, int, str]] = []
        self._open = [_OpenContainer(where, False)]

    def scrubbed(self) -> str:
        for token in _TOKEN.finditer(self._text):
            self._take(token[0], token.start(), token.end())
        while len(self._open) > 1:  # truncated input
            self._close()
        parts: list[str] = []
        done = 0
        for start, end, new in sorted(self._edits):
            parts += (self._text[done:start], new)
            done = end
        return "".join((*parts, self._text[done:]))

    def _take(self, token: str, start: int, end: int) -> None:
        top = self._open[-1]
        match token[0]:
            case '"':
                self._string(top, token, start, end)
            case "{" | "[":
                where = top.where.under(top.key) if top.is_object else top.where
                is_object = token == "{"
                where = where if is_object else where.items
                self._open.append(_OpenContainer(where, is_object, "" if is_object else top.key))
            case "}" | "]":
                if len(self._open) > 1:
                    self._close()
            case _:
                self._bare(top, token, start, end)

    def _string(self, top: _OpenContainer, token: str, start: int, end: int) -> None:
        raw = token[1:-1] if len(token) > 1 and token.endswith('"') else token[1:]
        inner = start + 1, start + 1 + len(raw)
        value = _decoded(raw)
        if value is None:
            self._edits.append((*inner, self._rules.names.text(raw)))
        elif top.is_object and _COLON.match(self._text, end):
            top.key = value
            top.keys.append((*inner, raw))
        else:
            top.children.append(None)
            new = self._value(top, value)
            if new != value:
                self._edits.append((*inner, _encoded(raw, new)))

    def _value(self, top: _OpenContainer, value: str) -> str:
        if top.key in EMBEDDED and not top.where.sealed and _holds_json(value):
            where = top.where.under(top.key) if top.is_object else top.where
            return _Walk(value, self._rules, where).scrubbed()
        return self._rules.value(top.where, top.key, value, item=not top.is_object)

    def _bare(self, top: _OpenContainer, token: str, start: int, end: int) -> None:
        top.children.append(None)
        if _NUMBER.fullmatch(token):
            new = self._rules.number(top.where, token)
        else:
            new = token if token in _LITERALS else self._rules.names.text(token)
        if new != token:
            self._edits.append((start, end, new))

    def _close(self) -> None:
        done = self._open.pop()
        names = tuple(key for _, _, key in done.keys)
        self._open[-1].children.append(names if done.is_object else None)
        is_map = not done.where.is_root and _is_map(names, done.children)
        for start, end, raw in done.keys:
            new = _encoded(raw, self._rules.key(done.where, _decoded(raw) or "", is_map))
            if new != raw:
                self._edits.append((start, end, new))


def _is_map(keys: tuple[str, ...], children: list[tuple[str, ...] | None]) -> bool:
    """Whether an object's keys are names or ids, by the rule of schema snapshots."""
    if len(keys) >= 3 and children[0] and len(set(children)) == 1:
        return True
    return sum(not _is_field_name(key) for key in keys) * 2 > len(keys)


def _holds_json(value: str) -> bool:
    try:
        return value.startswith("{") and isinstance(parse_json(value), dict)
    except ValueError:
        return False


def _decoded(raw: str) -> str | None:
    """Return the decoded string; None if it is invalid."""
    if "\\" not in raw:
        return raw
    try:
        value = json.loads(f'"{raw}"', strict=False)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _encoded(raw: str, new: str) -> str:
    """Return the new text with escapes in the same positions as in the old one."""
    if "\\" not in raw:
        return new
    parts: list[str] = []
    done = at = 0  # in the old text, in the new one
    for escape in _ESCAPE.finditer(raw):
        plain = escape.start() - done
        parts.append(new[at : at + plain])
        at += plain
        parts.append(_escaped(escape[0], new[at]))
        at += 1
        done = escape.end()
    return "".join((*parts, new[at:]))


def _escaped(old: str, char: str) -> str:
    if not old.startswith("\\u"):
        return old
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
