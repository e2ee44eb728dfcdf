"""Convert a snapshot to JSON Schema 2020-12, one self-contained schema per bucket.

Each schema validates the values its bucket was made from. Header names are in lower case.
"""

from typing import Any

from ccwire.wire.versions import version_range
from correlate.schema.snapshot.snapshot import (
    ITEM,
    JSON_STRING,
    MAP,
    REFERENCE,
    UNLISTED,
    Field,
    Snapshot,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schemas(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    """Return the schemas by file name, e.g. `wire.request.messages.json`."""
    return {f"{_name(bucket)}.json": _whole(bucket, snapshot) for bucket in sorted(snapshot)}


def _whole(bucket: str, snapshot: Snapshot) -> dict[str, Any]:
    root = snapshot[bucket]
    schema = {
        "$schema": DIALECT,
        "title": bucket,
        "description": f"Seen {root.count} times in {version_range(root.versions)}.",
        **_schema(root),
    }
    others = sorted(_reachable(bucket, snapshot))
    if others:
        schema["$defs"] = {_name(other): _schema(snapshot[other]) for other in others}
    return schema


def _schema(field: Field) -> dict[str, Any]:
    references = [name for name in sorted(field.types) if name.startswith(REFERENCE)]
    plain = [name for name in sorted(field.types) if not name.startswith(REFERENCE)]
    ways = [{"$ref": f"#/$defs/{_name(name.removeprefix(REFERENCE))}"} for name in references]
    ways += _ways(plain, field)
    return ways[0] if len(ways) == 1 else {"anyOf": ways}


def _ways(types: list[str], field: Field) -> list[dict[str, Any]]:
    """Return one schema per type that needs its own keywords, and one for all other types."""
    ways: list[dict[str, Any]] = []
    simple = []
    for name in types:
        if name == "object":
            ways.append({"type": "object", **_keys(field)})
        elif name == JSON_STRING:
            held = {"type": "object", **_keys(field)}
            media = "application/json"
            ways.append({"type": "string", "contentMediaType": media, "contentSchema": held})
        elif name == "array":
            items = field.children.get(ITEM)
            ways.append({"type": "array", **({"items": _schema(items)} if items else {})})
        elif name == "string" and field.values and not field.open:
            ways.append({"enum": sorted(field.values)})
        elif name != "integer" or "number" not in types:
            simple.append(name)
    if simple:
        ways.append({"type": simple[0] if len(simple) == 1 else simple})
    return ways


def _keys(field: Field) -> dict[str, Any]:
    """Return the keywords for an object's keys; none if no key is known."""
    keys = field.keys
    others = [field.children[step] for step in (MAP, UNLISTED) if step in field.children]
    found: dict[str, Any] = {}
    if keys:
        found["properties"] = {name: _schema(child) for name, child in sorted(keys.items())}
        required = [name for name, child in sorted(keys.items()) if child.count >= field.objects]
        if required:
            found["required"] = required
    if others:
        schemas = [_schema(other) for other in others]
        found["additionalProperties"] = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    elif keys:
        found["additionalProperties"] = False
    return found


def _reachable(bucket: str, snapshot: Snapshot) -> set[str]:
    found: set[str] = set()
    waiting = _references(snapshot[bucket])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting |= _references(snapshot[name])
    return found


def _references(field: Field) -> set[str]:
    names = {n.removeprefix(REFERENCE) for n in field.types if n.startswith(REFERENCE)}
    return names.union(*(_references(child) for child in field.children.values()))


def _name(bucket: str) -> str:
    return bucket.replace("/", ".").replace("?", "odd")
