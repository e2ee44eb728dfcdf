"""What defines a token class: where it is counted, what prices it, how it is labelled.

The classes themselves are the fields of `ccwire.wire.usage.Tokens`, one line per class. Reading,
sums, prices, tables and the report's page are all derived from those lines.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal

RawUsage = Mapping[str, Any]

# prompt: tokens of the context; output: generated tokens; requests: counted and billed apiece.
Kind = Literal["prompt", "output", "requests"]
_KINDS: tuple[Kind, ...] = ("prompt", "output", "requests")


@dataclass(frozen=True, slots=True)
class TokenClass:
    """One class of what is counted and billed; no two classes overlap.

    `path` names its count in the API's usage object (`name`, or `object.name`), `client` in the
    client's own sums (None: the client does not count it). `prices` are fields of genai-prices, of
    which the first that a model has applies; a class without any has no known price.
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
        """The name in a terminal."""
        return self.name.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Group:
    """Classes that charts and the rows of calls show as one; most classes are one by themselves.

    `path` and `client` name the sum of several classes, as `TokenClass` names a count. `level` is
    the place in a stack of its kind, from the bottom.
    """

    key: str
    label: str
    column: str = ""  # the heading in a terminal, where it is not the label
    heading: str = ""  # the same on the page
    path: str = ""
    client: str | None = None
    level: int = 3
    kind: Kind = "prompt"
    members: tuple[str, ...] = ()

    @property
    def stacking(self) -> tuple[int, int]:
        """The sort key of a stack: the prompt below the output."""
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
    """A field of `Tokens`: a count that is 0 unless given, and the definition of its class."""
    given = {"path": path, "kind": kind, "client": client, "prices": prices}
    return field(default=0, metadata={**given, "page_label": page_label, "group": group})


def defined(fields: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[TokenClass, ...]:
    """The classes of the fields that `token_class` made."""
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
    """The group with this class in it."""
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


def value_at(usage: RawUsage, path: str) -> Any:
    """What is at a path of a usage object; None where there is nothing."""
    value: Any = usage
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


class Names:
    """One side's names of the counts: reads them out of an object, and writes them.

    What the sum of a group has beyond its classes counts as the first of them: older objects do not
    break the sum down.
    """

    def __init__(self, names: Mapping[str, str | None], sums: Mapping[str, Sequence[str]]) -> None:
        """`names` by class, in their order; `sums` give the classes that each adds up."""
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
        counts = self._empty.copy()
        for name, place in self._flat:
            value = usage.get(name)
            if type(value) is int:  # and no bool
                counts[place] = value
        for outer, names in self._nested:
            inner = usage.get(outer)
            if isinstance(inner, dict):
                for name, place in names:
                    value = inner.get(name)
                    if type(value) is int:
                        counts[place] = value
        for name, first, others in self._sums:
            value = usage.get(name)
            if type(value) is int:
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
