"""Counting by shape gives the same result as examining every value."""

from typing import Any

import pytest

from correlate.schema.observe.freeze import snapshot_of
from correlate.schema.observe.shapes import MAX_DEPTH, Shapes
from correlate.schema.snapshot.snapshot import Field, paths


def seen(*values: Any, bucket: str = "transcript/x") -> Field:
    shapes = Shapes()
    for value in values:
        shapes.see(bucket, value)
    return snapshot_of(shapes)[bucket]


def found(root: Field) -> dict[str, dict[str, int]]:
    return {
        path: {name: each.count for name, each in field.types.items()}
        for path, field in paths(root)
    }


def test_types_and_counts_by_path() -> None:
    values = [
        {"a": 1, "b": {"c": "x"}},
        {"a": 1.5, "b": None},
        {"a": True, "b": {"c": "y", "d": [1, "x", {"e": None}]}},
    ]
    assert found(seen(*values)) == {
        "": {"object": 3},
        "a": {"integer": 1, "number": 1, "boolean": 1},
        "b": {"object": 2, "null": 1},
        "b.c": {"string": 2},
        "b.d": {"array": 1},
        "b.d[]": {"integer": 1, "string": 1, "object": 1},
        "b.d[].e": {"null": 1},
    }


def test_the_order_of_keys_does_not_matter() -> None:
    assert found(seen({"a": 1, "b": 2}, {"b": 2, "a": 1})) == {
        "": {"object": 2},
        "a": {"integer": 2},
        "b": {"integer": 2},
    }


@pytest.mark.parametrize(
    "value",
    [
        {"src/a.py": 1},
        {"5e551011-0000-4000-8000-00000000c0de": 1},
        {"claude-opus-5-5": 1},
        {"alice": {"n": 1}, "bob": {"n": 2}, "carol": {"n": 3}},
    ],
)
def test_maps_are_recognised_by_their_keys_or_by_values_all_alike(value: dict[str, Any]) -> None:
    kept = list(found(seen({"m": value})))
    assert kept[:3] == ["", "m", "m.{}"]


def test_once_a_map_always_a_map() -> None:
    root = seen({"m": {"readme": 1}}, {"m": {"src/a.py": 1}}, {"m": {"licence": "x"}})
    assert found(root) == {
        "": {"object": 3},
        "m": {"object": 3},
        "m.{}": {"integer": 2, "string": 1},
    }


def test_an_odd_key_among_fields_makes_no_map_of_a_record() -> None:
    root = seen({"a": 1, "b": 2, "c d": {"e": 1}})
    assert found(root) == {
        "": {"object": 1},
        "?": {"object": 1},
        "a": {"integer": 1},
        "b": {"integer": 1},
    }


def test_what_belongs_to_a_tool_is_sealed() -> None:
    root = seen({"input": {"a": 1}, "toolUseResult": {"stdout": "x", "mine": {"a": 1}}})
    assert found(root) == {
        "": {"object": 1},
        "input": {"object": 1},
        "toolUseResult": {"object": 1},
        "toolUseResult.?": {"object": 1},
        "toolUseResult.stdout": {"string": 1},
    }
    assert root.children["input"].sealed


def test_words_are_kept_until_one_is_none() -> None:
    root = seen({"role": "user"}, {"role": "assistant"})
    assert {word: each.count for word, each in root.children["role"].values.items()} == {
        "user": 1,
        "assistant": 1,
    }
    open_ended = seen({"role": "user"}, {"role": "a whole sentence"}).children["role"]
    assert (open_ended.values, open_ended.open) == ({}, True)


def test_depth_has_an_end() -> None:
    value: dict[str, Any] = {}
    for _ in range(MAX_DEPTH * 3):
        value = {"a": value}
    assert len(found(seen(value))) < MAX_DEPTH + 5
