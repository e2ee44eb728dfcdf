"""Read and write a snapshot as text: sorted and stable, one field per line, for readable diffs."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ccwire.wire.checked import Count, FieldChecks
from ccwire.wire.json_text import parse_json
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
_DEEPEST = 300  # steps of a path
_LONGEST_NUMBER = 12


class NotASnapshot(ValueError):
    """The text is not a snapshot; the message says why."""


@dataclass
class _File:
    """The fields of the file, as they are checked."""

    versions: list[str]
    buckets: dict[str, Any]


@dataclass
class _Bucket:
    fields: dict[str, Any]
    versions: list[str] = field(default_factory=list)


@dataclass
class _Entry:
    types: dict[str, Count]
    values: dict[str, Count] = field(default_factory=dict)
    open: bool = False
    sealed: bool = False
    versions: list[str] = field(default_factory=list)
    at: str | dict[str, str] | None = None
    absent: str | None = None


_FILE, _BUCKET, _ENTRY = FieldChecks(_File), FieldChecks(_Bucket), FieldChecks(_Entry)


def dumps(snapshot: Snapshot) -> str:
    """Return the file's text, without ids and paths: they are always removed here."""
    return "".join(_lines(anonymous(snapshot)))


def loads(text: str | bytes) -> dict[str, Field]:
    try:
        value = parse_json(text)
    except ValueError as error:
        raise NotASnapshot(f"it is not JSON ({error})") from error
    if not isinstance(value, dict) or "buckets" not in value:
        raise NotASnapshot("it has no buckets")
    if value.get("format") != FORMAT:
        raise NotASnapshot(f"its format is {value.get('format')!r:.40}, expected {FORMAT}")
    try:
        whole = frozenset(_FILE.fitting(value)["versions"])
        return {name: _bucket(bucket, whole) for name, bucket in value["buckets"].items()}
    except ValueError as error:
        raise NotASnapshot(f"it contains a malformed bucket ({error})") from error


def _lines(snapshot: Snapshot) -> Iterator[str]:
    whole = versions(snapshot)
    yield f'{{"format": {FORMAT},\n"versions": {_json(sorted(whole))},\n"buckets": {{'
    separator = "\n"
    for name, root in sorted(snapshot.items()):
        own = "" if root.versions == whole else f'"versions": {_json(sorted(root.versions))}, '
        yield f'{separator}{_json(name)}: {{{own}"fields": {{'
        separator = "\n"
        for path, found in paths(root):
            yield f"{separator}  {_json(path)}: {_json(_entry(found, root.versions))}"
            separator = ",\n"
        yield "\n}}"
        separator = ",\n"
    yield "\n}}\n"


def _entry(found: Field, inherited: frozenset[str]) -> dict[str, Any]:
    entry: dict[str, Any] = {"types": _counts(found.types)}
    if found.values:
        entry["values"] = _counts(found.values)
    if found.open:
        entry["open"] = True
    if found.sealed:
        entry["sealed"] = True
    if found.versions != inherited:
        entry["versions"] = sorted(found.versions)
    places = {name: seen.at for name, seen in found.types.items()}
    places |= {f"={value}": seen.at for value, seen in found.values.items()}
    distinct = set(places.values())
    if len(distinct) > 1:
        entry["at"] = {name: str(place) for name, place in sorted(places.items()) if place}
    elif distinct and (place := distinct.pop()):
        entry["at"] = str(place)
    if found.absent is not None:
        entry["absent"] = str(found.absent)
    return entry


def _bucket(bucket: Mapping[str, Any], whole: frozenset[str]) -> Field:
    bucket = _BUCKET.fitting(bucket)
    inherited = frozenset(bucket["versions"]) if "versions" in bucket else whole
    tree: dict[str, Any] = {"": None}
    for path, entry in bucket["fields"].items():
        node = tree
        if len(steps := split(path)) > _DEEPEST:
            raise ValueError("a path is too long")
        for step in steps:
            node = node.setdefault(step, {"": None})
        node[""] = entry
    return _field(tree, inherited)


def _field(tree: dict[str, Any], inherited: frozenset[str]) -> Field:
    entry = _ENTRY.fitting(tree[""])
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
    return (
        ExamplePlace(source, int(line))
        if source and line.isdecimal() and len(line) < _LONGEST_NUMBER
        else ExamplePlace(text)
    )


def _counts(seen: Mapping[str, Seen]) -> dict[str, int]:
    return {name: each.count for name, each in sorted(seen.items())}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
