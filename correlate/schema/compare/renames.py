"""Detect renamed fields among removed and added ones."""

from collections.abc import Iterator
from dataclasses import replace
from difflib import SequenceMatcher

from correlate.schema.compare.change import SchemaChange
from correlate.schema.snapshot.snapshot import Field

_ALIKE = 0.6
# Headers are many and optional: only a nearly identical name counts as a rename.
_CROWDS = ("wire/header/",)
_NEARLY_THE_SAME = 0.85


def with_renames(
    changes: list[SchemaChange], path: str, old: Field, new: Field
) -> Iterator[SchemaChange]:
    """Yield the changes of one object's keys, with matching removals and additions paired."""
    lost = [change for change in changes if _is_loss(change)]
    gained = [change for change in changes if change.kind == "added" and _name(change, path)]
    pairs = sorted(
        (
            (_likeness(_name(a, path), _name(b, path)), a, b)
            for a in lost
            for b in gained
            if _fits(_name(a, path), _name(b, path), old, new)
        ),
        key=lambda pair: (-pair[0], pair[1].rank, pair[2].rank),
    )
    paired: set[str] = set()
    for likeness, a, b in pairs:
        if not _is_rename(likeness, a, alone=len(pairs) == 1) or {a.path, b.path} & paired:
            continue
        paired |= {a.path, b.path}
        yield replace(
            b,
            kind="renamed",
            path=a.path,
            before=_name(a, path),
            after=_name(b, path),
            severity="breaking",
            sure=min(a.sure, b.sure),
            versions_before=a.versions_before,
        )
    yield from (change for change in changes if change.path not in paired)


def _is_rename(likeness: float, loss: SchemaChange, *, alone: bool) -> bool:
    if loss.bucket.startswith(_CROWDS):
        return loss.kind == "removed" and likeness >= _NEARLY_THE_SAME
    return alone or likeness >= _ALIKE


def _is_loss(change: SchemaChange) -> bool:
    return change.kind == "removed" or change.kind == "became-optional"


def _name(change: SchemaChange, path: str) -> str:
    """Return the key below the object at `path`; empty if it is not a key."""
    name = change.path.removeprefix(path).removeprefix(".")
    return "" if name in ("[]", "{}", "?") else name


def _fits(lost: str, gained: str, old: Field, new: Field) -> bool:
    """Whether the types are equal and the gained key replaces the lost one in every object."""
    before, after = old.children.get(lost), new.children.get(gained)
    if before is None or after is None or set(before.types) != set(after.types):
        return False
    left = new.children[lost].count if lost in new.children else 0
    if before.count >= old.objects:
        return left + after.count == new.objects
    return (
        left == 0
        and set(before.children) == set(after.children)
        and _as_often(before.count / old.objects, after.count / new.objects)
    )


def _as_often(before: float, after: float) -> bool:
    return abs(before - after) < 0.25


def _likeness(a: str, b: str) -> float:
    a, b = a.lower().replace("-", "_"), b.lower().replace("-", "_")
    return SequenceMatcher(None, a, b, autojunk=False).ratio()
