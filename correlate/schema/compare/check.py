"""Whether what was observed fits a baseline. Pure; only what a reader must know is drift.

A capture rarely shows everything a baseline knows, so what is merely missing is no drift, unless
it had always been there and the object it belongs to was seen often enough without it.
"""

from collections.abc import Callable, Iterable, Mapping

from ccwire.wire.versions import parse_version
from correlate.schema.compare.change import INFORMATIONAL, SURE, SchemaChange
from correlate.schema.compare.diff import diff
from correlate.schema.snapshot.snapshot import Field, Snapshot

_GONE = ("removed", "became-optional")
# Which headers go along depends on how a user is connected and pays; which files, on what is used.
_ONLY_WHAT_COMES = ("wire/header/",)
_NOT_CHECKED = ("layout", "wire/header/response/")
# What the API answers elsewhere (settings, feature flags) is an account's own, not a format.
_ANSWERS = ("messages", "count_tokens", "error", "block/")


def drift(
    by_version: Mapping[str | None, Snapshot], baseline_of: Callable[[str | None], Snapshot]
) -> list[SchemaChange]:
    """What does not fit, gravest first; each version against the baseline that holds for it."""
    found = [
        change
        for version, snapshot in by_version.items()
        for change in drift_from(baseline_of(version or newest(by_version)), snapshot)
    ]
    return sorted(found, key=lambda change: change.rank)


def newest(versions: Iterable[str | None]) -> str | None:
    """The newest of them: it stands in for what does not tell its version."""
    return max((version for version in versions if version), key=parse_version, default=None)


def drift_from(baseline: Snapshot, observed: Snapshot) -> list[SchemaChange]:
    seen_in_both: dict[str, Field] = {n: baseline[n] for n in observed if n in baseline}
    return [change for change in diff(seen_in_both, observed) if _is_drift(change)]


def _is_drift(change: SchemaChange) -> bool:
    if change.severity == INFORMATIONAL or not _is_checked(change.bucket):
        return False
    if change.kind in _GONE:
        known = change.always and change.sure >= SURE
        return known and not change.bucket.startswith(_ONLY_WHAT_COMES)
    return True


def _is_checked(bucket: str) -> bool:
    if bucket.startswith("wire/answer/"):
        return bucket.removeprefix("wire/answer/").startswith(_ANSWERS)
    return not bucket.startswith(_NOT_CHECKED)
