from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccwire.wire.json_text import dump
from ccwire.wire.stream.message import AssembledMessage, MessageAssembler, merge_known
from tests.properties import property_test

START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "model": "claude-sonnet-4-5",
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 7},
    },
}
STOP = {"type": "message_stop"}


def block(index: int, **start: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": start}


def delta(index: int, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def assemble(*events: Any) -> AssembledMessage:
    assembler = MessageAssembler()
    for event in events:
        assembler.feed(event)
    return assembler.result()


def content(*events: Any) -> list[dict[str, Any]]:
    message = assemble(START, *events).message
    assert message is not None
    found: list[dict[str, Any]] = message["content"]
    return found


def test_a_whole_answer() -> None:
    result = assemble(
        START,
        block(0, type="text", text=""),
        delta(0, type="text_delta", text="Hel"),
        {"type": "ping"},
        delta(0, type="text_delta", text="lo"),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 33},
        },
        STOP,
    )
    assert result.to_json() == {
        "id": "msg_1",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "Hello"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 33, "cache_read_input_tokens": 7},
        "usage_at_start": {"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 7},
    }
    assert (result.complete, result.error) == (True, None)


def test_a_null_never_overwrites_a_count() -> None:
    result = assemble(
        START,
        {"type": "message_delta", "usage": {"output_tokens": 5, "input_tokens": None}},
        {"type": "message_delta", "usage": {"output_tokens": None, "new": None}},
    )
    assert result.usage == {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_input_tokens": 7,
        "new": None,
    }


def test_counts_are_cumulative_the_last_one_counts() -> None:
    deltas = [{"type": "message_delta", "usage": {"output_tokens": n}} for n in (3, 20, 50)]
    usage = assemble(START, *deltas).usage
    assert usage is not None
    assert usage["output_tokens"] == 50


def test_a_null_within_nested_counts_does_not_overwrite_either() -> None:
    old = {"cache_creation": {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 0}}
    new = {"cache_creation": {"ephemeral_5m_input_tokens": None, "ephemeral_1h_input_tokens": 9}}
    assert merge_known(old, new) == {
        "cache_creation": {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 9}
    }


def test_the_start_usage_does_not_follow_the_deltas() -> None:
    result = assemble(START, {"type": "message_delta", "usage": {"output_tokens": 99}})
    assert result.usage_at_start is not None
    assert result.usage_at_start["output_tokens"] == 2


def test_tool_input_is_joined_for_each_block() -> None:
    assert content(
        block(0, type="tool_use", id="a", name="Bash", input={}),
        block(1, type="tool_use", id="b", name="Read", input={}),
        delta(0, type="input_json_delta", partial_json=""),
        delta(0, type="input_json_delta", partial_json='{"command": "l'),
        delta(1, type="input_json_delta", partial_json='{"path":'),
        delta(0, type="input_json_delta", partial_json='s"}'),
        delta(1, type="input_json_delta", partial_json='"/x"}'),
    ) == [
        {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}},
        {"type": "tool_use", "id": "b", "name": "Read", "input": {"path": "/x"}},
    ]


def test_tool_input_that_was_cut_off_is_kept_as_text() -> None:
    (tool,) = content(
        block(0, type="tool_use", id="a", name="Bash", input={}),
        delta(0, type="input_json_delta", partial_json='{"command": "rm'),
    )
    assert tool == {
        "type": "tool_use",
        "id": "a",
        "name": "Bash",
        "input": {},
        "partial_input": '{"command": "rm',
    }


def test_a_tool_without_input_keeps_its_empty_one() -> None:
    start = {"type": "tool_use", "id": "a", "name": "Now", "input": {}}
    assert content(block(0, **start), delta(0, type="input_json_delta", partial_json="")) == [start]


def test_thinking_has_its_signature() -> None:
    assert content(
        block(0, type="thinking", thinking="", signature=""),
        delta(0, type="thinking_delta", thinking="Let me "),
        delta(0, type="thinking_delta", thinking="see."),
        delta(0, type="signature_delta", signature="c2ln"),
    ) == [{"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"}]


def test_citations_are_collected() -> None:
    (text,) = content(
        block(0, type="text", text="", citations=[{"n": 0}]),
        delta(0, type="citations_delta", citation={"n": 1}),
        delta(0, type="text_delta", text="so"),
        delta(0, type="citations_delta", citation={"n": 2}),
    )
    assert text == {"type": "text", "text": "so", "citations": [{"n": 0}, {"n": 1}, {"n": 2}]}


def test_blocks_are_in_the_order_of_their_index() -> None:
    texts = [block(n, type="text", text=str(n)) for n in (2, 0, 10, 1)]
    assert [b["text"] for b in content(*texts)] == ["0", "1", "2", "10"]


def test_unknown_deltas_are_kept_in_order() -> None:
    odd: list[dict[str, Any]] = [
        {"type": "new_delta", "x": 1},
        {"type": "text_delta", "text": 5},
        {"type": ["text_delta"]},
        {},
    ]
    (text,) = content(block(0, type="text", text=""), *(delta(0, **d) for d in odd))
    assert text == {"type": "text", "text": "", "unknown_deltas": odd}


def test_a_block_whose_start_is_missing_is_there() -> None:
    assert content(delta(0, type="text_delta", text="late")) == [{"text": "late"}]


def test_other_fields_of_a_message_delta_are_kept() -> None:
    message = assemble(
        START,
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "container": {"id": "c"}},
            "context_management": {"applied_edits": []},
        },
    ).message
    assert message is not None
    assert message["container"] == {"id": "c"}
    assert message["context_management"] == {"applied_edits": []}


def test_a_cut_stream_keeps_its_start_usage() -> None:
    result = assemble(START, block(0, type="text", text=""), delta(0, type="text_delta", text="a"))
    assert not result.complete
    assert result.usage == result.usage_at_start == START["message"]["usage"]  # type: ignore[index]


def test_an_error_event_is_reported() -> None:
    error = {"type": "overloaded_error", "message": "Overloaded"}
    result = assemble(START, {"type": "error", "error": error})
    assert (result.error, result.complete) == (error, False)
    assert assemble({"type": "error", "error": "rubbish"}).error == {"type": "error"}


def test_no_event_is_no_message() -> None:
    result = assemble({"type": "ping"}, {"type": "message_delta"}, {"type": "message_start"})
    assert (result.message, result.to_json(), result.usage) == (None, None, None)


def test_content_that_came_with_the_start_stays() -> None:
    whole = [{"type": "text", "text": "at once"}]
    assert assemble({"type": "message_start", "message": {"content": whole}}).message == {
        "content": whole
    }


rubbish = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["type", "text", "citations", "usage", "input"]), inner, max_size=3
        )
    ),
    max_leaves=4,
)
event = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "message_delta",
                "message_stop",
                "error",
            ]
        )
        | rubbish,
        "index": st.integers(-1, 2) | rubbish,
        "message": rubbish,
        "content_block": rubbish,
        "delta": st.fixed_dictionaries(
            {
                "type": st.sampled_from(
                    ["text_delta", "thinking_delta", "input_json_delta", "citations_delta"]
                )
                | rubbish
            },
            optional={
                "text": rubbish,
                "thinking": rubbish,
                "partial_json": st.sampled_from(["{", "NaN", '"\\ud800"', "1" * 30]) | rubbish,
                "citation": rubbish,
            },
        )
        | rubbish,
        "usage": rubbish,
        "error": rubbish,
    },
)


@property_test
@given(events=st.lists(event | rubbish, max_size=8))
def test_no_rubbish_raises_and_the_result_can_always_be_written(events: list[Any]) -> None:
    result = assemble(*events)
    dump(result.to_json())


@pytest.mark.parametrize("kind", ["text_delta", "input_json_delta"])
def test_many_pieces_are_joined_at_once(kind: str) -> None:
    name = {"text_delta": "text", "input_json_delta": "partial_json"}[kind]
    pieces = [delta(0, type=kind, **{name: "1"}) for _ in range(20_000)]
    assert len(dump(content(*pieces))) > 10
