"""Read and write a snapshot as text: sorted and stable, one field per line, for readable diffs."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from correlate.schema.snapshot.anonymous import anonymous
from correlate.schema.snapshot.snapshot import (
    ExamplePlace,
    Field,
    Seen,
    Snapshot,
    paths,
    split,
    versions,
)

FORMAT = 1


class NotASnapshot(ValueError):
    """The text is not a snapshot; the message says why."""


def dumps(snapshot: Snapshot) -> str:
    """Return the file's text, without ids and paths: they are always removed here."""
    return "".join(_lines(anonymous(snapshot)))


def loads(text: str | bytes) -> dict[str, Field]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise NotASnapshot(f"it is not JSON ({error})") from error
    if not isinstance(value, dict) or "buckets" not in value:
        raise NotASnapshot("it has no buckets")
    if value.get("format") != FORMAT:
        raise NotASnapshot(f"its format is {value.get('format')!r}, expected {FORMAT}")
    whole = frozenset(value["versions"])
    try:
        return {name: _bucket(bucket, whole) for name, bucket in value["buckets"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise NotASnapshot(f"it contains a malformed bucket ({error!r})") from error


def _lines(snapshot: Snapshot) -> Iterator[str]:
    whole = versions(snapshot)
    yield f'{{"format": {FORMAT},\n"versions": {_json(sorted(whole))},\n"buckets": {{'
    separator = "\n"
    for name, root in sorted(snapshot.items()):
        own = "" if root.versions == whole else f'"versions": {_json(sorted(root.versions))}, '
        yield f'{separator}{_json(name)}: {{{own}"fields": {{'
        separator = "\n"
        for path, field in paths(root):
            yield f"{separator}  {_json(path)}: {_json(_entry(field, root.versions))}"
            separator = ",\n"
        yield "\n}}"
        separator = ",\n"
    yield "\n}}\n"


def _entry(field: Field, inherited: frozenset[str]) -> dict[str, Any]:
    entry: dict[str, Any] = {"types": _counts(field.types)}
    if field.values:
        entry["values"] = _counts(field.values)
    if field.open:
        entry["open"] = True
    if field.sealed:
        entry["sealed"] = True
    if field.versions != inherited:
        entry["versions"] = sorted(field.versions)
    places = {name: seen.at for name, seen in field.types.items()}
    places |= {f"={value}": seen.at for value, seen in field.values.items()}
    distinct = set(places.values())
    if len(distinct) > 1:
        entry["at"] = {name: str(place) for name, place in sorted(places.items()) if place}
    elif distinct and (place := distinct.pop()):
        entry["at"] = str(place)
    if field.absent is not None:
        entry["absent"] = str(field.absent)
    return entry


def _bucket(bucket: Mapping[str, Any], whole: frozenset[str]) -> Field:
    inherited = frozenset(bucket["versions"]) if "versions" in bucket else whole
    tree: dict[str, Any] = {"": None}
    for path, entry in bucket["fields"].items():
        node = tree
        for step in split(path):
            node = node.setdefault(step, {"": None})
        node[""] = entry
    return _field(tree, inherited)


def _field(tree: dict[str, Any], inherited: frozenset[str]) -> Field:
    entry = tree[""]
    at = entry.get("at")
    return Field(
        types={name: Seen(count, _at(at, name)) for name, count in entry["types"].items()},
        values={
            value: Seen(count, _at(at, f"={value}"))
            for value, count in entry.get("values", {}).items()
        },
        open=entry.get("open", False),
        sealed=entry.get("sealed", False),
        versions=frozenset(entry["versions"]) if "versions" in entry else inherited,
        absent=_place(entry.get("absent")),
        children={step: _field(child, inherited) for step, child in tree.items() if step},
    )


def _at(at: str | Mapping[str, str] | None, name: str) -> ExamplePlace | None:
    return _place(at.get(name) if isinstance(at, Mapping) else at)


def _place(text: str | None) -> ExamplePlace | None:
    if text is None:
        return None
    source, _, line = text.rpartition(":")
    return ExamplePlace(source, int(line)) if source and line.isdigit() else ExamplePlace(text)


def _counts(seen: Mapping[str, Seen]) -> dict[str, int]:
    return {name: each.count for name, each in sorted(seen.items())}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
