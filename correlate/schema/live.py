"""Report, while capturing, what the shipped baseline does not contain.

    baseline = Baseline.load("2.1.325")
    baseline.unknowns_in_request(request)      # a parsed request file
    baseline.unknowns_in_response(response)    # a parsed response file
    baseline.unknowns_in_record(record)        # a transcript line or a hook payload

Each returns one line per unknown, and reports it only once. A known shape costs one look-up.
"""

from collections.abc import Callable, Mapping
from typing import Any, Self

from correlate.schema.baseline import shipped
from correlate.schema.compare.change import SchemaChange
from correlate.schema.compare.check import drift_from
from correlate.schema.observe.freeze import snapshot_of
from correlate.schema.observe.shapes import Shapes
from correlate.schema.observe.sightings import see_record, see_request, see_response
from correlate.schema.snapshot.snapshot import Snapshot


class Baseline:
    """The known formats of a client version, and the unknowns already reported."""

    def __init__(self, known: Snapshot) -> None:
        self._known = known
        self._met = Shapes()
        self._reported: set[str] = set()

    @classmethod
    def load(cls, version: str | None) -> Self:
        """Load the baseline shipped for a client version, or the nearest older one."""
        return cls(shipped(version))

    def unknowns_in_request(self, request: Mapping[str, Any]) -> list[str]:
        return self._look(lambda shapes: see_request(shapes, request))

    def unknowns_in_response(self, response: Mapping[str, Any]) -> list[str]:
        return self._look(lambda shapes: see_response(shapes, response))

    def unknowns_in_record(self, record: dict[str, Any]) -> list[str]:
        """Return the unknowns in a transcript line or a hook payload."""
        return self._look(lambda shapes: see_record(shapes, record))

    def _look(self, see: Callable[[Shapes], None]) -> list[str]:
        if not self._known:  # without a baseline nothing can be new
            return []
        self._met.fresh = False
        see(self._met)
        if not self._met.fresh:
            return []
        alone = Shapes()
        see(alone)
        changes = drift_from(self._known, snapshot_of(alone))
        lines = [_line(change) for change in changes if _new(change)]
        new = [line for line in dict.fromkeys(lines) if line not in self._reported]
        self._reported.update(new)
        return new


def _new(change: SchemaChange) -> bool:
    return change.severity == "additive" or change.kind in ("type-changed", "renamed")


def _line(change: SchemaChange) -> str:
    if change.kind == "type-changed":
        return f"{change.where} is {change.after}, was {change.before}"
    if change.kind == "value-added":
        return f"{change.where} = {change.after}"
    if change.kind == "renamed":
        return f"{change.where} is now {change.after}"
    return change.where
