"""Checks parsed JSON against the annotations of a dataclass, once, where it is read. Pure.

The annotations are the only definition: `str | None`, `list[int]`, `dict[str, int]`, a `TypedDict`,
or `Annotated[float, Between(…)]` for a range. NaN and infinity fit no annotation. Any string fits a
`Literal`, because a later format may have more words.
"""

import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, Literal

from ccwire.wire.json_text import LARGEST_WHOLE
from ccwire.wire.times import LATEST

type Fits = Callable[[Any], bool]

_PLAIN = (str, bool, types.NoneType)  # types whose every value fits
_MOST_COMBINATIONS = 1000


@dataclass(frozen=True, slots=True)
class Between:
    """The range of a number, both ends included."""

    least: float
    most: float


Moment = Annotated[float, Between(0, LATEST)]
Count = Annotated[int, Between(0, LARGEST_WHOLE)]
Whole = Annotated[int, Between(-LARGEST_WHOLE, LARGEST_WHOLE)]
Milliseconds = Annotated[float, Between(0, LARGEST_WHOLE)]
Signed64 = Annotated[int, Between(-(2**63), 2**63 - 1)]


class FieldChecks:
    """The checks of one dataclass: `fitting` returns its fields from a parsed object.

    Thousands of objects have the same fields with values of the same types. So what remains to be
    checked after the types is computed once per combination of types.
    """

    def __init__(self, record: Any) -> None:
        hints = typing.get_type_hints(record, include_extras=True)
        self._names = tuple(field.name for field in fields(record))
        self._hints = [hints[name] for name in self._names]
        self._checks = [(name, _fits(hints[name])) for name in self._names]
        self._needed = [
            field.name
            for field in fields(record)
            if field.default is MISSING and field.default_factory is MISSING
        ]
        self._remaining: dict[tuple[type, ...], tuple[_Ranges, _Others]] = {}

    def fitting(self, value: object) -> dict[str, Any]:
        """Return the fields of the record; raise ValueError that names the first bad one."""
        if type(value) is not dict:
            raise ValueError("not an object")
        if tuple(value) == self._names:
            # With the parser's own strings as keys, a constructor would take twice as long.
            found = dict(zip(self._names, value.values(), strict=True))
            if self._fits_quickly(found):
                return found
        for name, fits in self._checks:
            if name in value and not fits(value[name]):
                raise ValueError(f"{name} has the wrong type or range")
        for name in self._needed:
            if name not in value:
                raise ValueError(f"{name} is missing")
        return {name: value[name] for name in self._names if name in value}

    def _fits_quickly(self, value: dict[str, Any]) -> bool:
        kinds = tuple(map(type, value.values()))
        remaining = self._remaining.get(kinds)
        if remaining is None:
            remaining = _remaining(self._names, self._hints, kinds)
            if len(self._remaining) < _MOST_COMBINATIONS:
                self._remaining[kinds] = remaining
        ranges, others = remaining
        for name, least, most in ranges:
            if not least <= value[name] <= most:  # also NaN
                return False
        return all(fits(value[name]) for name, fits in others) if others else True


type _Ranges = tuple[tuple[str, float, float], ...]
type _Others = tuple[tuple[str, Fits], ...]


def _remaining(
    names: Sequence[str], hints: Sequence[Any], kinds: Sequence[type]
) -> tuple[_Ranges, _Others]:
    """Return the checks that remain for values of these types: ranges of numbers, and others."""
    ranges: list[tuple[str, float, float]] = []
    others: list[tuple[str, Fits]] = []
    for name, hint, kind in zip(names, hints, kinds, strict=True):
        alternatives = _alternatives(hint)
        if kind in _PLAIN and kind in alternatives:
            continue
        if kind is str and any(typing.get_origin(one) is Literal for one in alternatives):
            continue
        if kind is dict and dict[str, Any] in alternatives:
            continue
        ranged = [one for one in alternatives if typing.get_origin(one) is Annotated]
        if kind in (int, float) and len(ranged) == 1 and _accepts(ranged[0], kind):
            between = ranged[0].__metadata__[0]
            ranges.append((name, between.least, between.most))
        else:
            others.append((name, _fits(hint)))
    return tuple(ranges), tuple(others)


def _accepts(ranged: Any, kind: type) -> bool:
    return ranged.__origin__ is float or ranged.__origin__ is kind


def _alternatives(hint: Any) -> tuple[Any, ...]:
    is_union = typing.get_origin(hint) in (types.UnionType, typing.Union)
    return typing.get_args(hint) if is_union else (hint,)


def _fits(hint: Any) -> Fits:
    alternatives = _alternatives(hint)
    if len(alternatives) > 1:
        checks = [_fits(one) for one in alternatives]
        return lambda value: any(check(value) for check in checks)
    if typing.is_typeddict(hint):
        return _fits_typed_dict(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        inner, between = _fits(arguments[0]), arguments[1]
        return lambda value: inner(value) and between.least <= value <= between.most
    if origin is Literal:  # any word: a later format may have more of them
        return lambda value: type(value) is str
    if origin is list:
        item = _fits(arguments[0])
        return lambda value: type(value) is list and all(map(item, value))
    if origin is dict:
        item = _fits(arguments[1])
        return lambda value: type(value) is dict and all(map(item, value.values()))
    if hint is Any:
        return lambda value: True
    if hint is float:
        return lambda value: type(value) is int or (type(value) is float and math.isfinite(value))
    if hint in (int, str, bool, types.NoneType):
        return lambda value: type(value) is hint
    raise TypeError(f"no check for {hint}")


def _fits_typed_dict(hint: Any) -> Fits:
    needed = hint.__required_keys__
    hints: Mapping[str, Any] = typing.get_type_hints(hint, include_extras=True)
    checks = {name: _fits(_required(one)) for name, one in hints.items()}

    def fits(value: Any) -> bool:
        return (
            type(value) is dict
            and needed <= value.keys()
            and all(check(value[name]) for name, check in checks.items() if name in value)
        )

    return fits


def _required(hint: Any) -> Any:
    is_optional = typing.get_origin(hint) in (typing.NotRequired, typing.Required)
    return typing.get_args(hint)[0] if is_optional else hint
