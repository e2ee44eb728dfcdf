"""The sizes of a request's parts: every byte counts for one part."""

from typing import Any

import orjson
import pytest

from correlate.report.request_sizes import PARTS, json_size, request_sizes

BODY: dict[str, Any] = {
    "model": "claude-opus-5-5",
    "system": [{"type": "text", "text": "You are made up."}, {"type": "text", "text": "Twice."}],
    "tools": [
        {"name": "Bash", "description": "x" * 100},
        {"name": "mcp__lamp__on", "description": "y" * 40},
        {"name": "mcp__lamp__off", "description": "y" * 40},
        {"name": "mcp__door__open", "description": "z" * 10},
        {"type": "web_search_20250305"},
    ],
    "messages": [
        {"role": "user", "content": "plain words"},
        {"role": "system", "content": [{"type": "text", "text": "A reminder."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "Yes."},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
                {"type": "hologram", "depth": 3},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "r" * 500},
                {"type": "image", "source": {"type": "base64", "data": "aGk="}},
            ],
        },
    ],
}


def test_every_byte_is_in_one_part() -> None:
    fill = request_sizes(BODY)
    assert fill.total == len(orjson.dumps(BODY))
    assert tuple(fill.sizes) == PARTS
    assert all(size >= 0 for size in fill.sizes.values())


def test_each_thing_is_counted_where_it_belongs() -> None:
    assert dict(request_sizes(BODY).counts) == {
        "system prompt": 2,
        "tools": 2,
        "MCP tools": 3,
        "system messages": 1,
        "user text": 1,
        "tool results": 1,
        "images and documents": 1,
        "assistant text": 1,
        "thinking": 1,
        "tool calls": 1,
        "other": 1,
    }


def test_sizes_are_those_of_the_json() -> None:
    sizes = request_sizes(BODY).sizes
    assert sizes["system prompt"] == sum(len(orjson.dumps(block)) for block in BODY["system"])
    assert sizes["tool results"] == len(orjson.dumps(BODY["messages"][3]["content"][0]))


def test_mcp_tools_are_summed_by_server() -> None:
    lamp = sum(len(orjson.dumps(tool)) for tool in BODY["tools"][1:3])
    assert request_sizes(BODY).servers == {
        "lamp": lamp,
        "door": len(orjson.dumps(BODY["tools"][3])),
    }


def test_the_largest_things_come_first() -> None:
    items = request_sizes(BODY).items
    assert (items[0].name, items[0].part) == ("message 4, user: tool_result", "tool results")
    assert [item.size for item in items] == sorted((i.size for i in items), reverse=True)


def test_tools_are_named_once_each() -> None:
    named = ("Bash", "mcp__lamp__on", "mcp__lamp__off", "mcp__door__open", "web_search_20250305")
    assert request_sizes(BODY).tools == named


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"system": "one string", "messages": "no list", "tools": None},
        {"messages": [None, 3, {"role": "user"}, {"role": None, "content": [1, "x", None]}]},
        {"tools": [{}, "x"]},
    ],
)
def test_any_shape_is_weighed(body: dict[str, Any]) -> None:
    assert request_sizes(body).total == len(orjson.dumps(body))


def test_what_orjson_refuses_still_has_a_size() -> None:
    assert json_size({"a": "\ud800", "n": 1 << 70}) > 20
