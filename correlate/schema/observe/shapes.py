"""Record the structure of values, with one look-up for a shape that was seen before.

A shape is an object's keys and the types of its values. The first time a shape appears at a path
it is analysed; after that it is counted, and only its nested values (objects, lists, words of a
closed vocabulary) are examined.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ccwire.wire.json_text import parse_json
from correlate.schema.observe import vocabulary
from correlate.schema.observe.buckets import Split, Target, split_at, target
from correlate.schema.snapshot.snapshot import (
    ITEM,
    JSON_STRING,
    MAP,
    NAME_LISTS,
    UNLISTED,
    ExamplePlace,
    is_key,
)

TYPES: dict[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
MAX_SHAPES = 16_384
MAX_DEPTH = 40

See = Callable[[Any], None]


class Shapes:
    """The buckets observed for one client version."""

    def __init__(self) -> None:
        self.roots: dict[str, ShapeNode] = {}
        self.by_event: dict[str, ShapeNode] = {}  # roots of SSE events, by event type
        self.place: ExamplePlace | None = None  # source of the values being observed
        self.fresh = False  # set when something is seen for the first time

    def see(self, bucket: str, value: Any) -> None:
        """Observe a value of a bucket whose objects are all of one kind."""
        node = self.roots.get(bucket)
        if node is None:
            node = self.root(Target(bucket))
        node.see(value)

    def root(self, found: Target) -> "ShapeNode":
        node = self.roots.get(found.bucket)
        if node is None:
            self.fresh = True
            node = self.roots[found.bucket] = ShapeNode(self, found.bucket, "", tags=found.tags)
        return node


class Tally:
    """A count and the first place."""

    __slots__ = ("at", "count")

    def __init__(self, at: ExamplePlace | None) -> None:
        self.count = 0
        self.at = at


class Shape(Tally):
    """One combination of keys and types at one path."""

    __slots__ = ("deeper", "flat", "steps")

    def __init__(self, at: ExamplePlace | None) -> None:
        super().__init__(at)
        self.steps: set[str] = set()
        self.flat: list[tuple[str, str]] = []  # step and type of values without nested structure
        self.deeper: list[tuple[str, See]] = []


class Referred(Tally):
    """Objects that are described in another bucket."""

    __slots__ = ("node",)

    def __init__(self, at: ExamplePlace | None, node: "ShapeNode") -> None:
        super().__init__(at)
        self.node = node


class ShapeNode:
    """One path in one bucket."""

    def __init__(
        self,
        walk: Shapes,
        bucket: str,
        name: str,
        *,
        depth: int = 0,
        listed: bool = False,
        tags: Mapping[str, str] | None = None,
        split: Split | None = None,
    ) -> None:
        self.walk = walk
        self.bucket = bucket
        self.depth = depth
        self.listed = listed or name in vocabulary.LISTED
        self.is_map = name in vocabulary.MAPS
        self.tags = tags or {}
        self.split = split
        self.open = False
        self.is_sealed = False
        self.sealed: set[str] = set()  # steps whose content is not examined
        self.shapes: dict[tuple[Any, ...], Shape] = {}
        self.children: dict[str, ShapeNode] = {}
        self.items: ShapeNode | None = None
        self.tallies: dict[str, Tally] = {}  # by type: values that no shape counts
        self.values: dict[str, Tally] = {}
        self.referred: dict[str, Referred] = {}  # by bucket
        self.by_kind: dict[str | None, Referred] = {}

    def see(self, value: Any) -> None:
        """Observe a value of any type."""
        kind = type(value)
        if kind is dict:
            self.see_object(value)
            return
        self._count(TYPES[kind])
        if kind is list:
            self.see_list(value)
        elif kind is str and self.bucket in NAME_LISTS:
            self.see_word(value)

    def see_object(self, value: dict[str, Any]) -> None:
        key: tuple[Any, ...]
        # Most objects have two or three keys; unrolling these cases halves the time.
        if len(value) == 2:
            a, b = value
            key = (a, b, type(value[a]), type(value[b]))
        elif len(value) == 3:
            a, b, c = value
            key = (a, b, c, type(value[a]), type(value[b]), type(value[c]))
        else:
            key = (*value, *[type(item) for item in value.values()])
        shape = self.shapes.get(key)
        if shape is None:
            if self._is_map(value):
                self._see_map(value)
                return
            shape = self.shapes[key] = self._learn(value)
        shape.count += 1
        for name, see in shape.deeper:
            see(value[name])

    def see_list(self, value: list[Any]) -> None:
        items = self.items
        if items is None:
            if self.depth > MAX_DEPTH:
                self.is_sealed = True
                return
            items = self.items = self._child(ITEM)
        see_object = items.see_split if items.split else items.see_object
        for item in value:
            if type(item) is dict:
                see_object(item)
            else:
                items.see(item)

    def see_split(self, value: dict[str, Any]) -> None:
        """Observe an object that is described in a separate bucket."""
        split = self.split
        assert split is not None
        kind = value.get(split.by)
        try:
            known = self.by_kind.get(kind)
        except TypeError:  # unhashable: a list or an object instead of a word
            known = None
        if known is None:
            found = target(split, value)
            if found is None:
                self.see_object(value)
                return
            known = self._refer(found)
            if found.tags or kind is None:
                self.by_kind[kind] = known
        known.count += 1
        known.node.see_object(value)

    def see_word(self, value: str) -> None:
        """Observe a value of a closed vocabulary; its type is counted elsewhere."""
        tally = self.values.get(value)
        if tally is None:
            if self.open:
                return
            if self.bucket not in NAME_LISTS and not vocabulary.is_word(value):
                self.open = True
                return
            self.walk.fresh = True
            tally = self.values[value] = Tally(self.walk.place)
        tally.count += 1

    def see_embedded(self, value: str) -> None:
        """Observe a string that may contain JSON."""
        try:
            held = parse_json(value) if value.startswith("{") else None
        except ValueError:
            held = None
        if isinstance(held, dict):
            self._count(JSON_STRING)
            self.see_object(held)
        else:
            self._count("string")

    def _learn(self, value: dict[str, Any]) -> Shape:
        self.walk.fresh = True
        shape = Shape(self.walk.place)
        for key, item in value.items():
            step = self._step(key)
            kind = type(item)
            shape.steps.add(step)
            see = self._deeper(key, step, kind)
            if see is not None:
                shape.deeper.append((key, see))
            if see is None or kind is list or (kind is str and key not in vocabulary.EMBEDDED):
                shape.flat.append((step, TYPES[kind]))
        return shape

    def _deeper(self, key: str, step: str, kind: type) -> See | None:
        """Return how to observe the value under a key; None: only its type is recorded."""
        if kind is dict or kind is list:
            if step == UNLISTED or key in vocabulary.SEALED or self.depth > MAX_DEPTH:
                self.sealed.add(step)
                return None
            child = self._child(step)
            if kind is list:
                return child.see_list
            return child.see_split if child.split else child.see_object
        if kind is not str or self.listed or step == UNLISTED:
            return None
        if key in vocabulary.EMBEDDED:
            return self._child(step).see_embedded
        if key not in self.tags and vocabulary.is_closed(self.bucket, key):
            return self._child(step).see_word
        return None

    def _step(self, key: str) -> str:
        if self.listed:
            return key if key in vocabulary.RESULT_KEYS else UNLISTED
        return key if vocabulary.is_field_name(key) else UNLISTED

    def _child(self, step: str) -> "ShapeNode":
        child = self.children.get(step)
        if child is None:
            named = is_key(step)
            split = split_at(self.bucket, step) if named and not self.listed else None
            child = self.children[step] = ShapeNode(
                self.walk,
                self.bucket,
                step if named else "",
                depth=self.depth + 1,
                listed=self.listed,
                split=self.split if step == ITEM else split,
            )
        return child

    def _refer(self, found: Target) -> Referred:
        known = self.referred.get(found.bucket)
        if known is None:
            self.walk.fresh = True
            known = self.referred[found.bucket] = Referred(self.walk.place, self.walk.root(found))
        return known

    def _is_map(self, value: dict[str, Any]) -> bool:
        """Whether an object's keys are names or ids; if one is a map, all at this path are."""
        if not self.is_map and self.depth:
            odd = sum(not vocabulary.is_field_name(key) for key in value)
            self.is_map = (
                odd * 2 > len(value)
                or (len(value) >= 3 and _all_alike(value.values()))
                or len(self.shapes) >= MAX_SHAPES
            )
        return self.is_map

    def _see_map(self, value: dict[str, Any]) -> None:
        self._count("object")
        if self.depth > MAX_DEPTH:
            self.is_sealed = True
            return
        under = self._child(MAP)
        for item in value.values():
            under.see(item)

    def _count(self, kind: str) -> None:
        tally = self.tallies.get(kind)
        if tally is None:
            self.walk.fresh = True
            tally = self.tallies[kind] = Tally(self.walk.place)
        tally.count += 1


def _all_alike(values: Iterable[Any]) -> bool:
    """Whether all values are objects with the same, non-empty set of keys."""
    keys = {tuple(value) if type(value) is dict else () for value in values}
    return len(keys) == 1 and () not in keys
