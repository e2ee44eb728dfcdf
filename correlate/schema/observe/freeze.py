"""Convert the counts of `shapes` into a snapshot."""

from collections.abc import Mapping

from correlate.schema.observe.shapes import ShapeNode, Shapes, Tally
from correlate.schema.snapshot.snapshot import (
    JSON_STRING,
    REFERENCE,
    ExamplePlace,
    Field,
    Seen,
    first,
    is_key,
    normal,
)

Types = dict[str, Seen]


def snapshot_of(shapes: Shapes, version: str | None = None) -> dict[str, Field]:
    """Return a snapshot of everything seen, labelled with this client version."""
    versions = frozenset([version] if version else [])
    return {
        name: normal(name, _field(node, _own_types(node), versions))
        for name, node in shapes.roots.items()
    }


def _field(
    node: ShapeNode,
    types: Types,
    versions: frozenset[str],
    absent: ExamplePlace | None = None,
    sealed: bool = False,
) -> Field:
    types_by_step: dict[str, Types] = {}
    for shape in node.shapes.values():
        for step, kind in shape.flat:
            _add(types_by_step.setdefault(step, {}), kind, shape.count, shape.at)
    children = {}
    for step in types_by_step.keys() | node.children.keys():
        child = node.children.get(step)
        found = types_by_step.get(step, {})
        for kind, seen in (_own_types(child) if child else {}).items():
            _add(found, kind, seen.count, seen.at)
        if found:
            children[step] = _child_field(node, step, found, versions)
    return Field(
        types,
        _seen(node.values),
        open=node.open,
        sealed=sealed or node.is_sealed,
        versions=versions,
        absent=absent,
        children=children,
    )


def _child_field(node: ShapeNode, step: str, types: Types, versions: frozenset[str]) -> Field:
    absent = _absent(node, step)
    sealed = step in node.sealed
    if step in node.tags:
        seen = Seen(sum(each.count for each in types.values()), first(t.at for t in types.values()))
        return Field(types, {node.tags[step]: seen}, versions=versions, absent=absent)
    child = node.children.get(step)
    if child is None:
        return Field(types, sealed=sealed, versions=versions, absent=absent)
    return _field(child, types, versions, absent, sealed)


def _own_types(node: ShapeNode) -> Types:
    """Return the types that the node itself has counted."""
    types = _seen(node.tallies)
    held = types[JSON_STRING].count if JSON_STRING in types else 0
    objects = sum(shape.count for shape in node.shapes.values()) - held
    if objects:
        _add(types, "object", objects, first(shape.at for shape in node.shapes.values()))
    for bucket, referred in node.referred.items():
        _add(types, REFERENCE + bucket, referred.count, referred.at)
    return types


def _absent(node: ShapeNode, step: str) -> ExamplePlace | None:
    if not is_key(step):
        return None
    return first(shape.at for shape in node.shapes.values() if step not in shape.steps)


def _add(types: Types, kind: str, count: int, at: ExamplePlace | None) -> None:
    known = types.get(kind)
    types[kind] = Seen(count + known.count, first((known.at, at))) if known else Seen(count, at)


def _seen(tallies: Mapping[str, Tally]) -> Types:
    return {name: Seen(tally.count, tally.at) for name, tally in tallies.items()}
