"""A snapshot: the observed structure of a format, and how to merge snapshots.

A bucket is a tree of fields. A step from a field to its child is a key, `[]` (an item of a list),
`{}` (a value of an object whose keys are names or ids) or `?` (a value under an unlisted key).
Merging adds counts and does not depend on order. Pure.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import NamedTuple

ITEM = "[]"
MAP = "{}"
UNLISTED = "?"

# A type that starts with this names the bucket in which the object is described.
REFERENCE = "@"
# A string that contains JSON; the parsed content is described in its place.
JSON_STRING = "json"

MAX_KEYS = 80
MAX_VALUES = 32
# Buckets that are lists of names, not records: their number of values is not limited.
NAME_LISTS = ("wire/beta", "wire/endpoint", "layout")


class ExamplePlace(NamedTuple):
    """Where something was seen: a file and, for line-based files, a line."""

    source: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source


@dataclass(frozen=True, slots=True)
class Seen:
    """How often something was seen, and the first place."""

    count: int
    at: ExamplePlace | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """Everything seen at one path."""

    types: Mapping[str, Seen] = field(default_factory=dict)
    values: Mapping[str, Seen] = field(default_factory=dict)
    open: bool = False  # its values are too many, or not words of the format
    sealed: bool = False  # its content belongs to a user or a tool and is not examined
    versions: frozenset[str] = frozenset()
    absent: ExamplePlace | None = None  # an object that lacks this field
    children: Mapping[str, "Field"] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(seen.count for seen in self.types.values())

    @property
    def objects(self) -> int:
        """How often the value was an object, or JSON in a string."""
        return sum(self.types[name].count for name in ("object", JSON_STRING) if name in self.types)

    @property
    def at(self) -> ExamplePlace | None:
        return first(seen.at for seen in self.types.values())

    @property
    def keys(self) -> dict[str, "Field"]:
        """The named children."""
        return {step: child for step, child in self.children.items() if is_key(step)}


Snapshot = Mapping[str, Field]


def is_key(step: str) -> bool:
    return step not in (ITEM, MAP, UNLISTED)


def versions(snapshot: Snapshot) -> frozenset[str]:
    """Return every client version in the snapshot."""
    return frozenset().union(*(root.versions for root in snapshot.values()))


def paths(root: Field, prefix: str = "") -> Iterator[tuple[str, Field]]:
    """Yield every field with its path, sorted: `message.content[].type`, `tools.{}.name`."""
    yield prefix, root
    for step, child in sorted(root.children.items()):
        yield from paths(child, join(prefix, step))


def join(path: str, step: str) -> str:
    return path + step if step == ITEM or not path else f"{path}.{step}"


def split(path: str) -> list[str]:
    """Return the steps of a path; the inverse of `join`."""
    if not path:
        return []
    return [step for step in path.replace(ITEM, f".{ITEM}").split(".") if step]


def merge(snapshots: Iterable[Snapshot]) -> dict[str, Field]:
    """Merge snapshots into one."""
    merged: dict[str, Field] = {}
    for snapshot in snapshots:
        for name, root in snapshot.items():
            root, known = normal(name, root), merged.get(name)
            merged[name] = root if known is None else _merge(known, root, name)
    return merged


def normal(bucket: str, root: Field) -> Field:
    """Return a field in normal form: maps folded, value sets limited in size."""
    children = {step: normal(bucket, child) for step, child in root.children.items()}
    values, is_open = _bounded(root.values, root.open, bucket)
    kept = {} if root.sealed else _folded(children, bucket)
    return replace(root, children=kept, values=values, open=is_open)


def as_map(bucket: str, root: Field) -> Field:
    """Return the field with its keys folded into a map."""
    marked = {**root.children, MAP: root.children.get(MAP, Field())}
    return replace(root, children=_folded(marked, bucket))


def _merge(a: Field, b: Field, bucket: str) -> Field:
    values, is_open = _bounded(_sum(a.values, b.values), a.open or b.open, bucket)
    sealed = a.sealed or b.sealed
    children: dict[str, Field] = {}
    for step in () if sealed else a.children.keys() | b.children.keys():
        ours, theirs = a.children.get(step), b.children.get(step)
        if ours is None or theirs is None:
            children[step] = _alone(ours or theirs, step, b if theirs is None else a)
        else:
            children[step] = _merge(ours, theirs, bucket)
    return Field(
        types=_sum(a.types, b.types),
        values=values,
        open=is_open,
        sealed=sealed,
        versions=a.versions | b.versions,
        absent=first((a.absent, b.absent)),
        children=_folded(children, bucket),
    )


def _alone(child: Field | None, step: str, other: Field) -> Field:
    """Return a child that only one side has, with an object of the other side as `absent`."""
    assert child is not None
    if not is_key(step) or not other.objects:
        return child
    place = first(other.types[name].at for name in ("object", JSON_STRING) if name in other.types)
    return replace(child, absent=first((child.absent, place)))


def _folded(children: dict[str, Field], bucket: str) -> dict[str, Field]:
    """Replace keys that turned out to be names or ids by one map entry with their values."""
    keys = [step for step in children if is_key(step)]
    too_many = len(keys) > MAX_KEYS and not bucket.startswith("wire/header/")
    if not keys or not (MAP in children or too_many):
        return children
    under = [child for step, child in children.items() if is_key(step) or step == MAP]
    folded = reduce(lambda a, b: _merge(a, b, bucket), under)
    rest = {step: child for step, child in children.items() if step in (ITEM, UNLISTED)}
    return {**rest, MAP: replace(folded, absent=None, values={}, open=False)}


def _bounded(
    values: Mapping[str, Seen], is_open: bool, bucket: str
) -> tuple[Mapping[str, Seen], bool]:
    if is_open or (len(values) > MAX_VALUES and bucket not in NAME_LISTS):
        return {}, True
    return values, False


def _sum(a: Mapping[str, Seen], b: Mapping[str, Seen]) -> dict[str, Seen]:
    total = dict(a)
    for name, seen in b.items():
        known = total.get(name)
        total[name] = (
            seen if known is None else Seen(known.count + seen.count, first((known.at, seen.at)))
        )
    return total


def first(places: Iterable[ExamplePlace | None]) -> ExamplePlace | None:
    return min((place for place in places if place is not None), default=None)
