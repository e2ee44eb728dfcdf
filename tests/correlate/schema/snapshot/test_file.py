"""The file is stable, has one field per line, and round-trips."""

from typing import Any

import pytest
from hypothesis import given
from inline_snapshot import snapshot

from correlate.schema.observe.freeze import snapshot_of
from correlate.schema.observe.shapes import Shapes
from correlate.schema.snapshot.anonymous import anonymous
from correlate.schema.snapshot.file import NotASnapshot, dumps, loads
from correlate.schema.snapshot.snapshot import ExamplePlace, merge
from tests.correlate.schema.strategies import SIGHTINGS, few, observed


@few
@given(SIGHTINGS)
def test_what_is_written_is_read_back(sightings: list[Any]) -> None:
    merged = merge(observed(sightings))
    assert loads(dumps(merged)) == anonymous(merged)
    assert dumps(loads(dumps(merged))) == dumps(merged)


def test_one_field_a_line_sorted() -> None:
    shapes = Shapes()
    shapes.place = ExamplePlace("captures/7f00/0003_resp_v1_messages.json")
    shapes.see("wire/sse/ping", {"type": "ping", "n": [1, None]})
    shapes.place = ExamplePlace("projects/-home-alice/7f00.jsonl", 31)
    shapes.see("wire/sse/ping", {"type": "ping"})
    assert dumps(snapshot_of(shapes, "2.1.39")) == snapshot(
        """\
{"format": 1,
"versions": ["2.1.39"],
"buckets": {
"wire/sse/ping": {"fields": {
  "": {"types": {"object": 2}, "at": "capture 1 exchange 3 response"},
  "n": {"types": {"array": 1}, "at": "capture 1 exchange 3 response", "absent": "transcript 1:31"},
  "n[]": {"types": {"integer": 1, "null": 1}, "at": "capture 1 exchange 3 response"},
  "type": {"types": {"string": 2}, "values": {"ping": 2}, "at": "capture 1 exchange 3 response"}
}}
}}
"""
    )


def test_versions_stand_where_they_differ() -> None:
    text = dumps(
        merge(
            observed(
                [
                    ("wire/sse/odd", {"a": 1}, 1, "1.0.0"),
                    ("wire/sse/odd", {"a": 1, "b": 1}, 2, "2.1.39"),
                    ("transcript/user", {"a": 1}, 3, "2.1.39"),
                ]
            )
        )
    )
    assert '"versions": ["1.0.0", "2.1.39"],\n' in text
    assert '"transcript/user": {"versions": ["2.1.39"], "fields"' in text
    assert '"b": {"types": {"integer": 1}, "versions": ["2.1.39"]' in text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON"),
        ("[]", "no buckets"),
        ('{"format": 9, "versions": [], "buckets": {}}', "format is 9"),
        (
            '{"format": 1, "versions": [], "buckets": {"x": {"fields": {"": {}}}}}',
            "malformed bucket",
        ),
    ],
)
def test_something_else_is_refused_in_a_sentence(text: str, why: str) -> None:
    with pytest.raises(NotASnapshot, match=why):
        loads(text)
