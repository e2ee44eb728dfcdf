from typing import Any

import pytest

from correlate.show.request import ShownTool, ToolGroup, message_of, shown_message, shown_request


def request(body: Any, **more: Any) -> dict[str, Any]:
    headers = {"anthropic-beta": "one, two", "x-app": "cli"}
    return {"headers": headers, "body": {"type": "json", "size": 99, "data": body}, **more}


def test_the_parts_of_a_call_are_apart() -> None:
    shown = shown_request(
        request(
            {
                "model": "claude-x",
                "max_tokens": 100,
                "thinking": {"type": "enabled"},
                "system": [{"type": "text", "text": "You are."}],
                "tools": [],
                "messages": [{"role": "user", "content": "hi"}],
            }
        )
    )
    assert shown.size == 99
    assert shown.betas == ("one", "two")
    assert shown.parameters == (
        ("model", "claude-x"),
        ("max_tokens", "100"),
        ("thinking", '{"type":"enabled"}'),
    )
    assert [block.text for block in shown.system] == ["You are."]
    assert [(m.number, m.role, m.blocks[0].text) for m in shown.messages] == [(1, "user", "hi")]
    assert shown.body is None


def test_tools_are_grouped_by_server() -> None:
    marker = {"type": "ephemeral"}
    tools = [
        {"name": "mcp__lamp__on"},
        {"name": "Bash", "cache_control": marker},
        {"name": "mcp__door__open"},
        {"name": "mcp__lamp__off"},
        {"type": "web_search_20250305"},
        "odd",
    ]
    groups = shown_request(request({"messages": [], "tools": tools})).tools
    assert groups == (
        ToolGroup(
            None,
            (
                ShownTool("Bash", 52, "ephemeral"),
                ShownTool("web_search_20250305", 30),
                ShownTool("unnamed", 5, text='"odd"'),
            ),
        ),
        ToolGroup("lamp", (ShownTool("on", 24), ShownTool("off", 25))),
        ToolGroup("door", (ShownTool("open", 26),)),
    )
    assert groups[1].size == 49
    assert groups[1].sent_name(groups[1].tools[0]) == "mcp__lamp__on"
    assert groups[0].sent_name(groups[0].tools[0]) == "Bash"


def test_a_tool_has_all_that_the_request_says_of_it() -> None:
    schema = {"type": "object", "required": ["command"]}
    tools = [
        {"name": "Bash", "input_schema": schema, "description": "Run it.\nNow.", "strict": True},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 8},
        {"name": "odd", "description": 7},
    ]
    (group,) = shown_request(request({"messages": [], "tools": tools})).tools
    assert [tool.text for tool in group.tools] == [
        "Run it.\nNow.\n"
        'input_schema {\n  "type": "object",\n  "required": [\n    "command"\n  ]\n}\n'
        "strict true",
        'type "web_search_20250305"\nmax_uses 8',
        "description 7",
    ]


def test_a_request_without_messages_is_a_text() -> None:
    shown = shown_request(request({"events": [1]}))
    assert shown.parameters == ()
    assert shown.body is not None and shown.body.text == '{\n  "events": [\n    1\n  ]\n}'


def test_a_body_that_could_not_be_decoded_has_its_reason() -> None:
    file = request({})
    file["body"]["decode_error"] = "cut off"
    assert shown_request(file).decode_error == "cut off"


@pytest.mark.parametrize("odd", [{}, {"body": 7, "headers": []}, {"body": {"data": {}}}])
def test_a_damaged_file_has_no_parts(odd: dict[str, Any]) -> None:
    shown = shown_request(odd)
    assert (shown.size, shown.headers, shown.messages) == (0, {}, ())


def test_messages_are_numbered_as_they_are_in_the_request() -> None:
    file = request({"messages": ["odd", {"role": "user", "content": [{"type": "text"}]}, 7]})
    shown = shown_request(file).messages
    assert [(message.number, message.role) for message in shown] == [
        (1, "-"),
        (2, "user"),
        (3, "-"),
    ]
    assert message_of(file, 2) == {"role": "user", "content": [{"type": "text"}]}
    assert shown_message(3, message_of(file, 3)).blocks[0].text == "7"


@pytest.mark.parametrize("number", [0, -1, 2])
def test_a_message_that_is_not_there(number: int) -> None:
    with pytest.raises(IndexError) as raised:
        message_of(request({"messages": [{}]}), number)
    assert raised.value.args == (1,)
