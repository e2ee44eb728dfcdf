"""Compare two snapshots. Pure: two snapshots in, changes out, most severe first."""

from collections.abc import Iterator
from dataclasses import replace

from correlate.schema.compare.change import (
    SURE,
    SchemaChange,
    Severity,
    sureness,
)
from correlate.schema.compare.renames import with_renames
from correlate.schema.snapshot.snapshot import (
    ITEM,
    JSON_STRING,
    MAP,
    REFERENCE,
    Field,
    Snapshot,
    as_map,
    is_key,
    join,
)

_NUMERIC = {"integer", "number"}


def diff(old: Snapshot, new: Snapshot) -> list[SchemaChange]:
    changes = [
        replace(
            change,
            versions_before=change.versions_before or _versions(old, change.bucket),
            versions_after=change.versions_after or _versions(new, change.bucket),
        )
        for change in _changes(old, new)
    ]
    return sorted(changes, key=lambda change: change.rank)


def _changes(old: Snapshot, new: Snapshot) -> Iterator[SchemaChange]:
    for bucket in old.keys() | new.keys():
        if bucket not in old:
            yield _bucket_added(bucket, old, new)
        elif bucket not in new:
            yield _bucket_removed(bucket, old, new)
        else:
            yield from _Comparison(bucket, frozenset(old)).fields("", old[bucket], new[bucket])


def _bucket_added(bucket: str, old: Snapshot, new: Snapshot) -> SchemaChange:
    root = new[bucket]
    sure = sureness(root.count, *_siblings(bucket, new, old))
    return SchemaChange(
        kind="bucket-added",
        bucket=bucket,
        path="",
        severity="additive",
        sure=sure,
        count=root.count,
        at=root.at,
        versions_after=root.versions,
    )


def _bucket_removed(bucket: str, old: Snapshot, new: Snapshot) -> SchemaChange:
    root = old[bucket]
    sure = sureness(root.count, *_siblings(bucket, old, new))
    return SchemaChange(
        kind="bucket-removed",
        bucket=bucket,
        path="",
        severity="breaking" if sure >= SURE else "informational",
        sure=sure,
        count=root.count,
        at=root.at,
        versions_before=root.versions,
    )


def _siblings(bucket: str, snapshot: Snapshot, other: Snapshot) -> tuple[int, int]:
    """Count each side's values under the nearest parent bucket that both sides have seen."""
    sort = bucket
    counts = (0, 0)
    while "/" in sort and not all(counts):
        sort = sort.rpartition("/")[0]
        counts = (_below(sort, snapshot), _below(sort, other))
    return counts


def _below(sort: str, snapshot: Snapshot) -> int:
    return sum(root.count for name, root in snapshot.items() if f"{name}/".startswith(f"{sort}/"))


def _versions(snapshot: Snapshot, bucket: str) -> frozenset[str]:
    if bucket in snapshot:
        return snapshot[bucket].versions
    return frozenset().union(*(root.versions for root in snapshot.values()))


class _Comparison:
    """Compares the old and new fields of one bucket."""

    def __init__(self, bucket: str, known_buckets: frozenset[str]) -> None:
        self._bucket = bucket
        self._known = known_buckets

    def fields(self, path: str, old: Field, new: Field) -> Iterator[SchemaChange]:
        typed = self._types(path, old, new)
        if typed:
            yield typed
        if old.values and new.values and "string" in old.types and "string" in new.types:
            yield from self._values(path, old, new)
        yield from self._children(path, old, new)

    def _types(self, path: str, old: Field, new: Field) -> SchemaChange | None:
        come = {
            name
            for name in new.types.keys() - old.types.keys()
            if not name.startswith(REFERENCE) or name.removeprefix(REFERENCE) in self._known
        }
        gone = {
            name for name in old.types.keys() - new.types.keys() if not name.startswith(REFERENCE)
        }
        if come:
            count = sum(new.types[name].count for name in come)
            at = min((p for name in come if (p := new.types[name].at)), default=None)
            sure = sureness(count, new.count, old.count)
            severity = _severity_of_types(come, set(old.types))
        elif gone and new.count:
            count = sum(old.types[name].count for name in gone)
            at = new.at
            severity = "informational"
            sure = sureness(count, old.count, new.count)
        else:
            return None
        return SchemaChange(
            kind="type-changed",
            bucket=self._bucket,
            path=path,
            before=_types_of(old),
            after=_types_of(new),
            severity=severity,
            sure=sure,
            count=count,
            at=at,
            versions_before=old.versions,
            versions_after=new.versions,
        )

    def _values(self, path: str, old: Field, new: Field) -> Iterator[SchemaChange]:
        for value in new.values.keys() - old.values.keys():
            seen = new.values[value]
            yield SchemaChange(
                kind="value-added",
                bucket=self._bucket,
                path=path,
                after=value,
                severity="additive",
                sure=sureness(seen.count, new.count, old.count),
                count=seen.count,
                at=seen.at,
                versions_before=old.versions,
                versions_after=new.versions,
            )
        for value in old.values.keys() - new.values.keys():
            seen = old.values[value]
            yield SchemaChange(
                kind="value-removed",
                bucket=self._bucket,
                path=path,
                before=value,
                severity="informational",
                sure=sureness(seen.count, old.count, new.count),
                count=seen.count,
                at=new.at,
                versions_before=old.versions,
                versions_after=new.versions,
            )

    def _children(self, path: str, old: Field, new: Field) -> Iterator[SchemaChange]:
        if (MAP in old.children) != (MAP in new.children):
            old, new = as_map(self._bucket, old), as_map(self._bucket, new)
        changes = []
        for step in old.children.keys() | new.children.keys():
            below = join(path, step)
            before, after = old.children.get(step), new.children.get(step)
            if before is not None and after is not None:
                if is_key(step):
                    changes += self._presence(below, (old, before), (new, after))
                yield from self.fields(below, before, after)
            elif before is None and after is not None:
                if _holds(old, step):
                    changes.append(self._added(below, old, new, after))
            elif before is not None and _holds(new, step):
                changes.append(self._removed(below, old, before, new))
        yield from with_renames(changes, path, old, new)

    def _presence(
        self, path: str, old: tuple[Field, Field], new: tuple[Field, Field]
    ) -> list[SchemaChange]:
        was, now = (child.count >= parent.objects for parent, child in (old, new))
        if was == now or not (old[0].objects and new[0].objects):
            return []
        if was:
            lacking = new[0].objects - new[1].count
            sure = sureness(lacking, new[0].objects, old[0].objects)
        else:
            lacking = old[0].objects - old[1].count
            sure = sureness(lacking, old[0].objects, new[0].objects)
        breaking = was and sure >= SURE
        return [
            SchemaChange(
                kind="became-optional" if was else "became-required",
                bucket=self._bucket,
                path=path,
                before="required" if was else "optional",
                after="optional" if was else "required",
                severity="breaking" if breaking else "informational",
                sure=sure,
                count=lacking,
                always=was,
                at=new[1].absent if was else new[1].at,
                versions_before=old[1].versions,
                versions_after=new[1].versions,
            )
        ]

    def _added(self, path: str, old: Field, new: Field, field: Field) -> SchemaChange:
        return SchemaChange(
            kind="added",
            bucket=self._bucket,
            path=path,
            after=_types_of(field),
            severity="additive",
            sure=sureness(field.count, new.objects or new.count, old.objects or old.count),
            count=field.count,
            at=field.at,
            versions_after=field.versions,
        )

    def _removed(self, path: str, old: Field, field: Field, new: Field) -> SchemaChange:
        sure = sureness(field.count, old.objects or old.count, new.objects or new.count)
        return SchemaChange(
            kind="removed",
            bucket=self._bucket,
            path=path,
            before=_types_of(field),
            severity="breaking" if sure >= SURE else "informational",
            sure=sure,
            count=field.count,
            always=field.count >= old.objects > 0,
            at=new.at,
            versions_before=field.versions,
        )


def _holds(field: Field, step: str) -> bool:
    """Whether a field ever had a type that can contain this child."""
    kinds = ("array",) if step == ITEM else ("object", JSON_STRING)
    return any(kind in field.types for kind in kinds)


def _severity_of_types(come: set[str], old: set[str]) -> Severity:
    if all(name.startswith(REFERENCE) for name in come) or old <= {"null"}:
        return "additive"
    if come <= _NUMERIC and old & _NUMERIC:
        return "informational"
    return "breaking"


def _types_of(field: Field) -> str:
    names = (name if name != JSON_STRING else "JSON in a string" for name in sorted(field.types))
    return " or ".join(names)
