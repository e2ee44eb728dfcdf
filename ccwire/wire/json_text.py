"""JSON text: parsed leniently, checked before it is embedded byte for byte, and written always."""

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

_AROUND = 8  # levels of nesting that a capture file puts around what it embeds
_DEEPEST = 300
_DEEPEST_EMBEDDED = 1024  # levels, as orjson allows
DEEPEST_PARSED = _DEEPEST_EMBEDDED + _AROUND
_TOO_DEEP = "<nested too deeply>"
_LARGEST_DOUBLE = 1.7e308
LARGEST_WHOLE = 10**12
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_NAME = re.compile(r'[ \t\r\n]*("(?:[^"\\]|\\.)*")[ \t\r\n]*:[ \t\r\n]*')


def embeddable(data: bytes) -> Any:
    """The value of JSON that may be embedded in a file byte for byte; raises ValueError.

    Stricter than `parse_json`: plain UTF-8, no NaN, and never so deep that the file cannot be read.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:  # it refuses lone surrogates, which JavaScript writes
        text = data.decode()
    try:
        value = json.loads("[" * _AROUND + text + "]" * _AROUND, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    for _ in range(_AROUND):
        if len(value) != 1:
            raise ValueError("not one value")
        (value,) = value
    if not _is_flat(value, _DEEPEST_EMBEDDED):
        raise ValueError("nested too deeply")
    return value


def dump(value: Any, *, for_people: bool = False) -> bytes:
    """JSON of any value that was parsed from JSON, lone surrogates and huge numbers included."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if for_people else None)
    except TypeError:
        indent, separators = (2, (",", ": ")) if for_people else (None, (",", ":"))
        plain = _plain(value, 0)
        return json.dumps(plain, indent=indent, separators=separators, allow_nan=False).encode()


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _plain(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        return _TOO_DEEP
    if isinstance(value, dict):
        return {name: _plain(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def parse_json(data: bytes | str) -> Any:
    """JSON as any client may write it; raises ValueError.

    orjson refuses lone surrogates, which JavaScript writes; the standard library reads them. The
    result is nested at most `DEEPEST_PARSED` levels.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            value = json.loads(data)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
    if not _is_flat(value, DEEPEST_PARSED):
        raise ValueError("nested too deeply")
    return value


def text_at(data: str, *names: str) -> str | None:
    """The exact text of the value at a path of field names in a JSON object; None if there is none.

    Raises ValueError if the data is not JSON up to that value.
    """
    start = 0
    for name in names:
        places = _fields(data, start)
        found = next((place for field, place in places if field == name), None)
        if found is None:
            return None
        start = found
    return data[start : _value_end(data, start)]


def _fields(data: str, start: int) -> Iterator[tuple[str, int]]:
    """Yield the fields of the object that starts there, each with the place of its value."""
    at = _SPACE.match(data, start).end()  # type: ignore[union-attr]  # it matches nothing, too
    if data[at : at + 1] != "{":
        return
    while found := _NAME.match(data, at + 1):
        yield json.loads(found[1]), found.end()
        at = _value_end(data, found.end())
        at = _SPACE.match(data, at).end()  # type: ignore[union-attr]
        if data[at : at + 1] != ",":
            return


def _value_end(data: str, start: int) -> int:
    try:
        return _DECODER.raw_decode(data, start)[1]
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _is_flat(value: Any, deepest: int) -> bool:
    """Return whether a value has at most so many levels; not recursive."""
    level = [value]
    for _ in range(deepest):
        level = [
            item for holder in level for item in _items(holder) if isinstance(item, dict | list)
        ]
        if not level:
            return True
    return False


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def parse_object(data: bytes | str) -> dict[str, Any]:
    """The JSON object in `data`; an empty one where it is anything else."""
    try:
        return as_dict(parse_json(data))
    except ValueError:
        return {}


def as_dict(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def dicts(value: object) -> list[dict[str, Any]]:
    """The objects in an array."""
    return [item for item in as_list(value) if isinstance(item, dict)]


def text(value: object) -> str | None:
    """The value if it is a string."""
    return value if isinstance(value, str) else None


def number(value: object) -> float | None:
    """The value if it is a finite number that a double can hold; true and false are none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if abs(value) <= _LARGEST_DOUBLE else None


def whole(value: object) -> int | None:
    """The value if it is a whole number of a size that counts have."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if abs(value) <= LARGEST_WHOLE else None
