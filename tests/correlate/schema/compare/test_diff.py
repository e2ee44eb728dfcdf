"""Each difference is found once, with its severity and confidence."""

from typing import Any

import pytest

from correlate.schema.compare.change import SURE, SchemaChange, sureness
from correlate.schema.compare.diff import diff
from correlate.schema.observe.freeze import snapshot_of
from correlate.schema.observe.shapes import Shapes
from correlate.schema.snapshot.snapshot import ExamplePlace, Field


def seen(*values: Any, bucket: str = "transcript/x", version: str = "2.1.39") -> dict[str, Field]:
    shapes = Shapes()
    for line, value in enumerate(values, 1):
        shapes.place = ExamplePlace("t.jsonl", line)
        shapes.see(bucket, value)
    return snapshot_of(shapes, version)


def told(changes: list[SchemaChange]) -> list[tuple[str, ...]]:
    return [(c.kind, c.path, c.before, c.after, c.severity) for c in changes]


MANY = 20


def test_nothing_changed() -> None:
    one = seen({"a": 1, "b": {"c": [1, "x"]}})
    assert diff(one, one) == []


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ({"a": 1}, {"a": 1, "b": "x"}, ("added", "b", "", "string", "additive")),
        ({"a": 1, "b": "x"}, {"a": 1}, ("removed", "b", "string", "", "breaking")),
        ({"a": 1}, {"a": "1"}, ("type-changed", "a", "integer", "string", "breaking")),
        ({"a": 1}, {"a": 1.5}, ("type-changed", "a", "integer", "number", "informational")),
        ({"a": None}, {"a": "x"}, ("type-changed", "a", "null", "string", "additive")),
        (
            {"user_id": "user_1"},
            {"user_id": '{"session_id": "x"}'},
            ("type-changed", "user_id", "string", "JSON in a string", "breaking"),
        ),
        ({"a": {"b": 1}}, {"a": [1]}, ("type-changed", "a", "object", "array", "breaking")),
        (
            {"stop_reason": 1, "n": 2},
            {"stopReason": 1, "n": 2},
            ("renamed", "stop_reason", "stop_reason", "stopReason", "breaking"),
        ),
    ],
)
def test_one_change_of_every_value(old: Any, new: Any, change: tuple[str, ...]) -> None:
    changes = diff(seen(*[old] * MANY), seen(*[new] * MANY, version="2.1.40"))
    assert told(changes) == [change]
    assert changes[0].sure > SURE
    assert changes[0].from_to == "2.1.39 → 2.1.40"


def test_a_value_of_a_closed_vocabulary_that_is_new_and_one_that_vanished() -> None:
    old = seen(*[{"role": "user"}, {"role": "assistant"}] * MANY)
    new = seen(*[{"role": "user"}, {"role": "system"}] * MANY)
    assert told(diff(old, new)) == [
        ("value-added", "role", "", "system", "additive"),
        ("value-removed", "role", "assistant", "", "informational"),
    ]


def test_required_becomes_optional_and_back() -> None:
    always, sometimes = seen(*[{"a": 1}] * MANY), seen(*[{"a": 1}, {}] * MANY)
    (change,) = diff(always, sometimes)
    assert told([change]) == [("became-optional", "a", "required", "optional", "breaking")]
    assert change.at == ExamplePlace("t.jsonl", 2)
    (back,) = diff(sometimes, always)
    assert told([back]) == [("became-required", "a", "optional", "required", "informational")]


def test_a_new_kind_of_record() -> None:
    old = seen(*[{"a": 1}] * MANY)
    new = old | seen(*[{"b": 1}] * MANY, bucket="transcript/y", version="2.1.40")
    (change,) = diff(old, new)
    assert (change.kind, change.where, change.count) == ("bucket-added", "transcript/y", MANY)
    assert change.sure > SURE
    (gone,) = diff(new, old)
    assert (gone.kind, gone.severity) == ("bucket-removed", "breaking")


def test_a_rare_field_is_not_removed_because_a_small_capture_lacks_it() -> None:
    old = seen({"a": 1, "rare": 1}, *[{"a": 1}] * 99)
    (change,) = diff(old, seen(*[{"a": 1}] * 5))
    assert told([change]) == [("removed", "rare", "integer", "", "informational")]
    assert change.sure == pytest.approx(0.0486, abs=0.001)


def test_a_kind_of_record_that_was_rare_is_not_gone_for_sure() -> None:
    old = seen(*[{"a": 1}] * 200) | seen({"b": 1}, bucket="transcript/y")
    (change,) = diff(old, seen(*[{"a": 1}] * 3))
    assert (change.kind, change.severity) == ("bucket-removed", "informational")
    assert change.sure < 0.02


def test_a_new_object_is_reported_once() -> None:
    old = seen(*[{"a": 1}] * MANY)
    new = seen(*[{"a": 1, "b": {"c": {"d": 1}}}] * MANY)
    assert told(diff(old, new)) == [("added", "b", "", "object", "additive")]


def test_keys_of_a_map_are_no_fields() -> None:
    old = seen(*[{"files": {"src/a.py": {"n": 1}}}] * MANY)
    new = seen(*[{"files": {"src/b.py": {"n": 1, "m": 2}}}] * MANY)
    assert told(diff(old, new)) == [("added", "files.{}.m", "", "integer", "additive")]


def test_an_object_found_out_to_be_a_map_is_compared_as_one() -> None:
    old = seen(*[{"files": {"readme": {"n": 1}}}] * MANY)
    new = seen(*[{"files": {"src/b.py": {"n": "x"}}}] * MANY)
    assert told(diff(old, new)) == [("type-changed", "files.{}.n", "integer", "string", "breaking")]


def test_a_list_that_was_always_empty_and_now_is_not() -> None:
    old, new = seen(*[{"a": []}] * MANY), seen(*[{"a": ["x"]}] * MANY)
    assert told(diff(old, new)) == [("added", "a[]", "", "string", "additive")]


def test_headers_that_came_and_went_are_not_one_renamed() -> None:
    bucket = "wire/header/request/messages"
    old = seen(*[{"accept-language": "*"}] * MANY, bucket=bucket)
    new = seen(*[{"x-claude-code-session-id": "1"}] * MANY, bucket=bucket)
    assert [c.kind for c in diff(old, new)] == ["removed", "added"]


def test_a_field_renamed_in_some_values_only() -> None:
    old = seen(*[{"message_id": "x", "n": 1}] * MANY)
    new = seen(*[{"message_id": "x", "n": 1}, {"messageId": "x", "n": 1}] * MANY)
    assert told(diff(old, new)) == [
        ("renamed", "message_id", "message_id", "messageId", "breaking")
    ]


def test_two_lost_and_two_gained_are_paired_by_their_names() -> None:
    old = seen(*[{"input_tokens": 1, "output_tokens": 2}] * MANY)
    new = seen(*[{"inputTokens": 1, "outputTokens": 2}] * MANY)
    assert [(c.before, c.after) for c in diff(old, new)] == [
        ("input_tokens", "inputTokens"),
        ("output_tokens", "outputTokens"),
    ]


def test_sureness_grows_with_what_was_seen() -> None:
    assert sureness(1, 1, 1) == 0.5
    assert sureness(0, 10, 5) == 0
    assert sureness(10, 10, 0) == 0
    assert sureness(10, 10, 10) > 0.999
