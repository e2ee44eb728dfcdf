from typing import Any

import pytest

from correlate.show.answer import ShownEvent, events_of, shown_answer, shown_event


def test_an_answer_has_its_blocks_and_its_usage_by_class() -> None:
    message = {
        "content": [{"type": "text", "text": "Hello."}],
        "stop_reason": "end_turn",
        "usage": {
            "input_tokens": 5,
            "output_tokens": 7,
            "cache_creation_input_tokens": 3,
            "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 0},
        },
    }
    shown = shown_answer({"message": message, "body": {"type": "sse", "size": 12}})
    assert [(block.title, block.text) for block in shown.blocks] == [("text", "Hello.")]
    assert shown.usage == (("input", 5), ("output", 7), ("cache write 5m", 3))
    assert (shown.stop_reason, shown.size, shown.body) == ("end_turn", 12, None)
    assert not shown.is_truncated


def test_a_response_without_a_message_is_a_text() -> None:
    page = {"type": "text", "size": 20, "data": "<html>Bad gateway"}
    shown = shown_answer({"message": None, "body": page, "headers": {"server": "x"}})
    assert shown.body is not None and shown.body.text == "<html>Bad gateway"
    assert (shown.blocks, shown.usage, shown.headers) == ((), (), {"server": "x"})


def test_an_answer_too_large_to_be_assembled_says_so() -> None:
    shown = shown_answer({"message": {"content": [], "content_truncated": True}})
    assert shown.is_truncated


def test_an_odd_message_is_no_error() -> None:
    odd: dict[str, Any] = {"message": {"content": {"a": 1}, "usage": [], "stop_reason": 7}}
    shown = shown_answer(odd)
    assert (shown.blocks, shown.usage, shown.stop_reason) == ((), (), None)


def test_events_are_those_of_the_file() -> None:
    events = [
        {"event": "ping", "at_ms": 0.5, "data": {"type": "ping"}},
        {"event": "", "raw": "data: half"},
        {"event": "odd", "at_ms": "soon", "data": "plain"},
        {"event": "none", "data": None},
    ]
    found = events_of({"body": {"events": [*events, 7]}})
    assert found == events
    assert [shown_event(event) for event in found] == [
        ShownEvent("ping", 0.5, ""),
        ShownEvent("-", None, "data: half"),
        ShownEvent("odd", None, "plain"),
        ShownEvent("none", None, ""),
    ]


def delta(**fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 2, "delta": fields}


@pytest.mark.parametrize(
    ("name", "data", "shown"),
    [
        ("content_block_delta", delta(type="text_delta", text="Hi\n"), '2 "Hi\\n" text_delta'),
        (
            "content_block_delta",
            delta(type="input_json_delta", partial_json="", more=1),
            '2 "" input_json_delta {"delta":{"more":1}}',
        ),
        (
            "chunk",
            delta(type="thinking_delta", thinking="So"),
            '2 "So" thinking_delta {"type":"content_block_delta"}',
        ),
        (
            "content_block_delta",
            delta(type="citations_delta", citation={}),
            '{"index":2,"delta":{"type":"citations_delta","citation":{}}}',
        ),
        (
            "message_delta",
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            '{"delta":{"stop_reason":"end_turn"}}',
        ),
        ("odd", [1], "[1]"),
    ],
)
def test_the_data_of_an_event_begins_with_what_differs(name: str, data: Any, shown: str) -> None:
    assert shown_event({"event": name, "data": data}).data == shown
