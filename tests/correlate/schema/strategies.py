"""Random records of the kinds that ccwire reads, for property tests."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from correlate.schema.observe.freeze import snapshot_of
from correlate.schema.observe.shapes import Shapes
from correlate.schema.snapshot.snapshot import ExamplePlace, Field

few = settings(max_examples=30, deadline=None)

KEYS = ["type", "role", "content", "usage", "user_id", "input", "toolUseResult", "a", "b", "c"]
MAP_KEYS = ["modelUsage", "/home/x.py", "toolu_01AbCdEfGh12"]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.just(1.5)
    | st.sampled_from(["text", "end_turn", "a sentence of a user", '{"device_id": "x"}', ""])
)


def _sightings(keys: list[str]) -> st.SearchStrategy[list[tuple[str, Any, int, str]]]:
    names = st.sampled_from(keys)
    values = st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
        max_leaves=6,
    )
    return st.lists(
        st.tuples(
            st.sampled_from(["transcript/user", "wire/request/messages", "wire/sse/odd"]),
            st.dictionaries(names, values, max_size=5),
            st.integers(1, 9),
            st.sampled_from(["2.1.39", "2.1.168", "1.0.0"]),
        ),
        max_size=4,
    )


SIGHTINGS = _sightings(KEYS + MAP_KEYS)
SIGHTINGS_WITHOUT_MAPS = _sightings(KEYS)


def observed(sightings: list[tuple[str, Any, int, str]], source: str = "a.jsonl") -> Any:
    """Snapshots of such records, one per version."""
    by_version: dict[str, Shapes] = {}
    for bucket, record, line, version in sightings:
        shapes = by_version.setdefault(version, Shapes())
        shapes.place = ExamplePlace(source, line)
        shapes.see(bucket, record)
    snapshots: list[dict[str, Field]] = [snapshot_of(s, v) for v, s in by_version.items()]
    return snapshots
