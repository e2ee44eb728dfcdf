"""Every exported schema validates the values that it was made from."""

from typing import Any

from hypothesis import given
from inline_snapshot import snapshot
from jsonschema import Draft202012Validator

from correlate.schema.observe.freeze import snapshot_of
from correlate.schema.observe.shapes import Shapes
from correlate.schema.snapshot.json_schema import json_schemas
from tests.correlate.schema.strategies import SIGHTINGS, few


def schemas_of(*values: tuple[str, Any]) -> dict[str, dict[str, Any]]:
    shapes = Shapes()
    for bucket, value in values:
        shapes.see(bucket, value)
    return json_schemas(snapshot_of(shapes, "2.1.39"))


@few
@given(SIGHTINGS)
def test_a_schema_validates_what_it_came_from(sightings: list[Any]) -> None:
    values = [(bucket, record) for bucket, record, _, _ in sightings]
    schemas = schemas_of(*values)
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
    for bucket, record in values:
        Draft202012Validator(schemas[f"{bucket.replace('/', '.')}.json"]).validate(record)


def test_a_schema_is_self_contained_and_rejects_unseen_values() -> None:
    block = {"type": "text", "text": "x"}
    schema = schemas_of(
        ("wire/request/messages", {"messages": [{"role": "user", "content": [block]}]}),
        ("wire/request/messages", {"messages": [{"role": "user", "content": "x"}], "n": 1}),
    )["wire.request.messages.json"]
    assert schema == snapshot(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "wire/request/messages",
            "description": "Seen 2 times in 2.1.39.",
            "type": "object",
            "properties": {
                "messages": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": {
                                "anyOf": [
                                    {
                                        "type": "array",
                                        "items": {"$ref": "#/$defs/wire.request.block.text"},
                                    },
                                    {"type": "string"},
                                ]
                            },
                            "role": {"enum": ["user"]},
                        },
                        "required": ["content", "role"],
                        "additionalProperties": False,
                    },
                },
                "n": {"type": "integer"},
            },
            "required": ["messages"],
            "additionalProperties": False,
            "$defs": {
                "wire.request.block.text": {
                    "type": "object",
                    "properties": {"text": {"type": "string"}, "type": {"enum": ["text"]}},
                    "required": ["text", "type"],
                    "additionalProperties": False,
                }
            },
        }
    )
    errors = list(Draft202012Validator(schema).iter_errors({"messages": [], "unheard_of": 1}))
    assert [error.validator for error in errors] == ["additionalProperties"]


def test_blocks_may_hold_blocks() -> None:
    inner = {"type": "tool_result", "content": [{"type": "text", "text": "x"}]}
    record = {"content": [{"type": "tool_result", "content": [inner]}]}
    schema = schemas_of(("transcript/user", record))["transcript.user.json"]
    Draft202012Validator(schema).validate(record)
    assert sorted(schema["$defs"]) == ["transcript.block.text", "transcript.block.tool_result"]


def test_a_string_that_holds_json_stays_a_string() -> None:
    record = {"metadata": {"user_id": '{"device_id": "x"}'}}
    schema = schemas_of(("wire/request/messages", record))["wire.request.messages.json"]
    Draft202012Validator(schema).validate(record)
    user_id = schema["properties"]["metadata"]["properties"]["user_id"]
    assert user_id["contentMediaType"] == "application/json"
    assert list(user_id["contentSchema"]["properties"]) == ["device_id"]


def test_a_schema_accepts_keys_next_to_a_map() -> None:
    value = {"type": [{"type": None, "role": None, "/home/x.py": []}, {"/home/x.py": None}]}
    schema = schemas_of(("transcript/user", value))["transcript.user.json"]
    Draft202012Validator(schema).validate(value)
