"""Check observed structure against a baseline. Pure.

A capture rarely contains everything in a baseline, so a missing field is not drift, unless it had
been in every object before and enough objects were seen without it.
"""

from collections.abc import Callable, Iterable, Mapping

from ccwire.wire.versions import parse_version
from correlate.schema.compare.change import SURE, SchemaChange
from correlate.schema.compare.diff import diff
from correlate.schema.snapshot.snapshot import Field, Snapshot

_GONE = ("removed", "became-optional")
# Headers depend on the user's connection and plan, files on the features in use.
_ONLY_WHAT_COMES = ("wire/header/",)
_NOT_CHECKED = ("layout", "wire/header/response/")
# Other API responses (settings, feature flags) depend on the account and are not a format.
_ANSWERS = ("messages", "count_tokens", "error", "block/")


def drift(
    by_version: Mapping[str | None, Snapshot], baseline_of: Callable[[str | None], Snapshot]
) -> list[SchemaChange]:
    """Return the drift of each version from its baseline, most severe first."""
    found = [
        change
        for version, snapshot in by_version.items()
        for change in drift_from(baseline_of(version or newest(by_version)), snapshot)
    ]
    return sorted(found, key=lambda change: change.rank)


def newest(versions: Iterable[str | None]) -> str | None:
    """Return the newest version, used for data without a version."""
    return max((version for version in versions if version), key=parse_version, default=None)


def drift_from(baseline: Snapshot, observed: Snapshot) -> list[SchemaChange]:
    seen_in_both: dict[str, Field] = {n: baseline[n] for n in observed if n in baseline}
    return [change for change in diff(seen_in_both, observed) if _is_drift(change)]


def _is_drift(change: SchemaChange) -> bool:
    if change.severity == "informational" or not _is_checked(change.bucket):
        return False
    if change.kind in _GONE:
        known = change.always and change.sure >= SURE
        return known and not change.bucket.startswith(_ONLY_WHAT_COMES)
    return True


def _is_checked(bucket: str) -> bool:
    if bucket.startswith("wire/answer/"):
        return bucket.removeprefix("wire/answer/").startswith(_ANSWERS)
    return not bucket.startswith(_NOT_CHECKED)
