"""Merging adds counts in any order and grouping, and folds the keys of maps."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from correlate.schema.snapshot.snapshot import (
    MAX_KEYS,
    MAX_VALUES,
    ExamplePlace,
    Field,
    Seen,
    join,
    merge,
    paths,
    split,
    versions,
)
from tests.correlate.schema.strategies import SIGHTINGS, SIGHTINGS_WITHOUT_MAPS, few, observed


def counted(count: int, place: ExamplePlace | None = None, **children: Field) -> Field:
    return Field({"object": Seen(count, place)}, children=children)


def text(count: int, *values: str) -> Field:
    return Field({"string": Seen(count)}, {value: Seen(1) for value in values})


@few
@given(SIGHTINGS, SIGHTINGS, SIGHTINGS)
def test_merging_is_associative_and_commutative(a: list[Any], b: list[Any], c: list[Any]) -> None:
    one, two, three = (merge(observed(s, n)) for s, n in ((a, "a"), (b, "b"), (c, "c")))
    assert merge([merge([one, two]), three]) == merge([one, merge([two, three])])
    assert merge([one, two]) == merge([two, one])


@few
@given(SIGHTINGS_WITHOUT_MAPS)
def test_merging_snapshots_equals_observing_everything_at_once(sightings: list[Any]) -> None:
    one_version = [(*s[:2], line, "2.1.39") for line, s in enumerate(sightings, 1)]
    each_apart = [snapshot for s in one_version for snapshot in observed([s])]
    assert merge(each_apart) == merge(observed(one_version))


@few
@given(SIGHTINGS)
def test_merging_with_nothing_changes_nothing(sightings: list[Any]) -> None:
    snapshot = merge(observed(sightings))
    assert merge([snapshot, {}]) == snapshot


def test_counts_add_up_and_the_first_place_is_kept() -> None:
    a = {"x": Field({"string": Seen(2, ExamplePlace("b", 3))}, versions=frozenset({"1.0.0"}))}
    b = {"x": Field({"string": Seen(3, ExamplePlace("a", 9))}, versions=frozenset({"2.0.0"}))}
    merged = merge([a, b])
    assert merged["x"].types == {"string": Seen(5, ExamplePlace("a", 9))}
    assert versions(merged) == {"1.0.0", "2.0.0"}


def test_a_field_that_one_side_lacks_knows_where_it_was_absent() -> None:
    merged = merge(
        [{"x": counted(2, ExamplePlace("a"), k=text(2))}, {"x": counted(1, ExamplePlace("b", 7))}]
    )
    assert merged["x"].children["k"].absent == ExamplePlace("b", 7)


def test_keys_of_a_map_are_forgotten_when_the_other_side_knows_it_is_one() -> None:
    named = {"x": counted(1, files=counted(1, alice=counted(1, n=text(1))))}
    mapped = {"x": counted(1, files=counted(1, None, **{"{}": counted(4, n=text(3))}))}
    files = merge([named, mapped])["x"].children["files"]
    assert list(files.children) == ["{}"]
    assert files.children["{}"].count == 5
    assert files.children["{}"].children["n"].count == 4


def test_too_many_keys_make_a_map() -> None:
    many = counted(
        1, None, **{f"key{chr(97 + i // 26)}{chr(97 + i % 26)}": text(1) for i in range(81)}
    )
    assert len(many.children) > MAX_KEYS
    assert merge([{"x": many}])["x"].children == {"{}": text(MAX_KEYS + 1)}


def test_too_many_values_are_no_enum() -> None:
    half = [f"value{i}" for i in range(MAX_VALUES // 2 + 1)]
    a, b = {"x": text(1, *half)}, {"x": text(1, *(f"{value}x" for value in half))}
    assert merge([a])["x"].values
    merged = merge([a, b])["x"]
    assert (merged.values, merged.open) == ({}, True)
    assert merge([{"x": merged}, a])["x"].open


@given(st.lists(st.sampled_from(["a", "type", "[]", "{}", "?", "x-app"]), max_size=6))
def test_a_path_can_be_taken_apart_again(steps: list[str]) -> None:
    path = ""
    for step in steps:
        path = join(path, step)
    assert split(path) == steps


def test_paths_are_sorted() -> None:
    root = counted(1, b=text(1), a=Field({"array": Seen(1)}, children={"[]": text(2)}))
    assert [path for path, _ in paths(root)] == ["", "a", "a[]", "b"]
