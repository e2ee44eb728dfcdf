"""One difference between two snapshots, with its severity and confidence."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from ccwire.wire.versions import version_range
from correlate.schema.snapshot.snapshot import ExamplePlace

SchemaChangeKind = Literal[
    "bucket-added",
    "bucket-removed",
    "added",
    "removed",
    "renamed",
    "type-changed",
    "became-optional",
    "became-required",
    "value-added",
    "value-removed",
]
# breaking: a reader of the old format may fail on the new; additive: it may miss something;
# informational: nothing to do. Most serious first.
Severity = Literal["breaking", "additive", "informational"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)

# From this confidence on, a difference counts as a fact, not as a gap in the observations.
SURE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChange:
    """A change that may affect code that reads the format.

    kind      bucket-added, bucket-removed, added, removed, renamed, type-changed,
              became-optional, became-required, value-added, value-removed
    severity  breaking: a reader of the old format may fail; additive: it may miss something;
              informational: nothing to do
    sure      confidence that the difference is not a gap in the observations, 0 to 1
    count     how often it was seen (for a removal: how often it had been seen before)
    always    whether a removed field had been in every object
    """

    kind: SchemaChangeKind
    bucket: str
    path: str
    before: str = ""
    after: str = ""
    severity: Severity
    sure: float
    count: int
    always: bool = False
    at: ExamplePlace | None = None
    versions_before: frozenset[str] = frozenset()
    versions_after: frozenset[str] = frozenset()

    @property
    def where(self) -> str:
        return f"{self.bucket} {self.path}".rstrip()

    @property
    def from_to(self) -> str:
        return f"{version_range(self.versions_before)} → {version_range(self.versions_after)}"

    @property
    def rank(self) -> tuple[Any, ...]:
        return SEVERITIES.index(self.severity), self.bucket, self.path, self.kind, self.after

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "bucket": self.bucket,
            "path": self.path,
            "before": self.before,
            "after": self.after,
            "severity": self.severity,
            "sure": round(self.sure, 4),
            "count": self.count,
            "file": self.at.source if self.at else None,
            "line": self.at.line or None if self.at else None,
            "versions_before": sorted(self.versions_before),
            "versions_after": sorted(self.versions_after),
        }


def sureness(count: int, of: int, trials: int) -> float:
    """Return the probability of seeing, in `trials` trials, what occurred `count` times in `of`.

    The rate is estimated low, as `count / (of + 1)`: one of one counts as a half.
    """
    return 1 - (1 - min(count / (of + 1), 1)) ** trials
