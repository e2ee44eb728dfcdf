"""The definition of a token class: where it is counted, its price, its labels.

The classes themselves are the fields of `ccwire.wire.usage.Tokens`, one line per class. Parsing,
sums, prices, tables and the report are derived from those lines.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal, TypeGuard

from ccwire.wire.json_text import LARGEST_WHOLE

RawUsage = Mapping[str, Any]

# prompt: tokens of the context; output: generated tokens; requests: billed per request.
Kind = Literal["prompt", "output", "requests"]
_KINDS: tuple[Kind, ...] = ("prompt", "output", "requests")


@dataclass(frozen=True, slots=True)
class TokenClass:
    """A class of tokens or requests that is billed separately; classes do not overlap.

    `path` is its field in the API's usage object (`name`, or `object.name`), `client` its field in
    the client's own totals (None if the client does not count it). `prices` are fields of
    genai-prices, of which the first that a model has applies; without any, the price is unknown.
    """

    name: str
    path: str
    kind: Kind
    client: str | None
    prices: tuple[str, ...]
    page_label: str
    group: "Group"

    @property
    def label(self) -> str:
        """The label in a terminal."""
        return self.name.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Group:
    """Classes that charts and rows of calls show as one; most groups have a single class.

    `path` and `client` are the fields with the sum of several classes. `level` is the position in
    a stacked chart, from the bottom.
    """

    key: str
    label: str
    column: str = ""  # the column heading in a terminal, if it is not the label
    heading: str = ""  # the column heading on the page, if it is not the label
    path: str = ""
    client: str | None = None
    level: int = 3
    kind: Kind = "prompt"
    members: tuple[str, ...] = ()

    @property
    def stacking(self) -> tuple[int, int]:
        """The sort key in a stacked chart: the prompt is below the output."""
        return _KINDS.index(self.kind), self.level


def token_class(
    path: str,
    kind: Kind,
    *,
    client: str | None = None,
    prices: tuple[str, ...] = (),
    page_label: str | None = None,
    group: Group | None = None,
) -> int:
    """Return a field of `Tokens`: a count with default 0, and the definition of its class."""
    given = {"path": path, "kind": kind, "client": client, "prices": prices}
    return field(default=0, metadata={**given, "page_label": page_label, "group": group})


def defined(fields: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[TokenClass, ...]:
    """Return the classes of fields made with `token_class`."""
    given = {name: dict(metadata) for name, metadata in fields}
    groups: dict[str, Group] = {}
    for name, made in given.items():
        label = name.replace("_", " ")
        made["page_label"] = made["page_label"] or label
        made["group"] = made["group"] or Group(name, label)
        key = made["group"].key
        groups[key] = _joined(groups.get(key), name, made)
    return tuple(
        TokenClass(name=name, **{**made, "group": groups[made["group"].key]})
        for name, made in given.items()
    )


def _joined(before: Group | None, name: str, made: Mapping[str, Any]) -> Group:
    """Return the group with this class added."""
    group: Group = made["group"]
    if before is not None:
        if not group.path:
            raise ValueError(f"{name}: a group of several classes needs the path of their sum")
        return replace(before, members=(*before.members, name))
    return replace(
        group,
        column=group.column or group.label,
        heading=group.heading or group.label.capitalize(),
        path=group.path or made["path"],
        client=group.client or made["client"],
        kind=made["kind"],
        members=(name,),
    )


def is_count(value: Any) -> TypeGuard[int]:
    """Whether it is a number of tokens that may be added up: neither negative nor absurd."""
    return type(value) is int and 0 <= value <= LARGEST_WHOLE


def value_at(usage: RawUsage, path: str) -> Any:
    """Return the value at a path of a usage object; None if there is none."""
    value: Any = usage
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


class CountFields:
    """The field names that one side uses for the counts; reads and writes objects with them.

    If the sum of a group exceeds its classes, the rest counts as the first class: older objects
    have no breakdown.
    """

    def __init__(self, names: Mapping[str, str | None], sums: Mapping[str, Sequence[str]]) -> None:
        """`names` maps classes to fields, in order; `sums` maps fields to the classes they sum."""
        self._empty = [0] * len(names)
        self._names = tuple(names.values())
        places = {made: place for place, made in enumerate(names)}
        self._sums = tuple(
            (name, places[first], tuple(places[other] for other in others))
            for name, (first, *others) in sums.items()
        )
        placed = [(*_split(name), place) for place, name in enumerate(self._names) if name]
        self._flat = tuple((inner, place) for outer, inner, place in placed if not outer)
        nested = sorted((one for one in placed if one[0]), key=lambda one: one[0])
        self._nested = tuple(
            (outer, tuple((inner, place) for _, inner, place in found))
            for outer, found in groupby(nested, key=lambda one: one[0])
        )

    def read(self, usage: RawUsage) -> list[int]:
        """Return the counts; what is no count is 0."""
        counts = self._empty.copy()
        for name, place in self._flat:
            value = usage.get(name)
            if type(value) is int and 0 <= value <= LARGEST_WHOLE:  # `is_count`, in a hot loop
                counts[place] = value
        for outer, names in self._nested:
            inner = usage.get(outer)
            if isinstance(inner, dict):
                for name, place in names:
                    value = inner.get(name)
                    if type(value) is int and 0 <= value <= LARGEST_WHOLE:
                        counts[place] = value
        for name, first, others in self._sums:
            value = usage.get(name)
            if is_count(value):
                for place in others:
                    value -= counts[place]
                if value > counts[first]:
                    counts[first] = value
        return counts

    def write(self, counts: Sequence[int]) -> dict[str, Any]:
        sums = {
            first: (name, sum(counts[place] for place in (first, *others)))
            for name, first, others in self._sums
        }
        written: dict[str, Any] = {}
        for place, name in enumerate(self._names):
            if place in sums:
                sum_name, total = sums[place]
                written[sum_name] = total
            if name:
                outer, inner = _split(name)
                (written.setdefault(outer, {}) if outer else written)[inner] = counts[place]
        return written


def _split(name: str) -> tuple[str, str]:
    outer, _, inner = name.rpartition(".")
    return outer, inner
