"""Answers as bytes."""

import json
from typing import Any

from ccwire.demo.stand_in.scenario import (
    Answer,
    Filler,
    Raw,
    ServerToolUse,
    Text,
    Thinking,
    Usage,
    WebSearchResult,
    agent,
)
from ccwire.demo.stand_in.stream import Call, events, message, usage_of

CALL = Call(seed=1, order=1, model="claude-lab", offered=frozenset({"Bash", "Task"}))
USAGE = Usage(
    input_tokens=10,
    output_tokens=99,
    cache_read_input_tokens=7,
    ephemeral_5m_input_tokens=3,
    ephemeral_1h_input_tokens=4,
)


def parsed(answer: Answer, usage: Usage = USAGE) -> list[dict[str, Any]]:
    values = []
    for event in events(answer, CALL, usage):
        name, data = event.decode().removesuffix("\n\n").split("\n")
        values.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {values[-1]['type']}"
    return values


def deltas(answer: Answer) -> list[dict[str, Any]]:
    return [e["delta"] for e in parsed(answer) if e["type"] == "content_block_delta"]


def test_the_start_has_a_placeholder_and_the_end_the_true_usage() -> None:
    stream = parsed(Answer((Text("Hi."),)))
    assert [e["type"] for e in stream] == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert stream[0]["message"]["usage"]["output_tokens"] == 2
    assert stream[-2]["usage"] == {
        "input_tokens": 10,
        "cache_creation_input_tokens": 7,
        "cache_read_input_tokens": 7,
        "output_tokens": 99,
    }
    assert USAGE.final()["cache_creation"] == {
        "ephemeral_5m_input_tokens": 3,
        "ephemeral_1h_input_tokens": 4,
    }


def test_text_comes_word_by_word_and_adds_up() -> None:
    text = "  Three small\n words. "
    pieces = [delta["text"] for delta in deltas(Answer((Text(text),)))]
    assert len(pieces) == 4
    assert "".join(pieces) == text


def test_a_filler_has_the_exact_number_of_equal_deltas() -> None:
    pieces = [delta["text"] for delta in deltas(Answer((Filler(300, size=6),)))]
    assert len(pieces) == 300
    assert {len(piece) for piece in pieces} == {6}
    whole = message(Answer((Filler(300, size=6),)), CALL, USAGE)
    assert whole["content"] == [{"type": "text", "text": "".join(pieces)}]


def test_a_tool_call_takes_the_name_the_request_offers() -> None:
    answer = Answer((agent("Go."),))
    stream = parsed(answer)
    assert stream[1]["content_block"]["name"] == "Task"
    assert stream[-2]["delta"]["stop_reason"] == "tool_use"
    given = "".join(delta["partial_json"] for delta in deltas(answer))
    assert json.loads(given)["prompt"] == "Go."


def test_thinking_ends_with_its_signature() -> None:
    answer = Answer((Thinking("Well then.", "c2ln"),))
    assert deltas(answer)[-1] == {"type": "signature_delta", "signature": "c2ln"}
    assert message(answer, CALL, USAGE)["content"] == [
        {"type": "thinking", "thinking": "Well then.", "signature": "c2ln"}
    ]


def test_a_server_tools_result_names_its_call_and_is_counted() -> None:
    answer = Answer((ServerToolUse("web_search", {"query": "q"}), WebSearchResult((("T", "u"),))))
    usage = Usage(input_tokens=50, start_input_tokens=20, output_tokens=5, web_search_requests=1)
    stream = parsed(answer, usage)
    blocks = [e["content_block"] for e in stream if e["type"] == "content_block_start"]
    assert blocks[1]["tool_use_id"] == blocks[0]["id"]
    assert stream[0]["message"]["usage"]["input_tokens"] == 20
    assert stream[-2]["usage"]["input_tokens"] == 50
    assert stream[-2]["usage"]["server_tool_use"] == {"web_search_requests": 1}
    assert stream[-2]["delta"]["stop_reason"] == "end_turn"


def test_unknown_blocks_and_events_are_sent_unchanged() -> None:
    answer = Answer(
        (Raw({"type": "hologram", "depth": 3}),),
        inserted=(b'event: new\ndata: {"type":"new"}\n\n',),
    )
    stream = parsed(answer)
    assert stream[1] == {"type": "new"}
    assert stream[2]["content_block"] == {"type": "hologram", "depth": 3}


def test_no_two_calls_have_the_same_numbers_or_ids() -> None:
    calls = [Call(1, order, "m", frozenset()) for order in range(1, 3000)]
    numbers = {tuple(usage_of(Answer(), call).delta().values()) for call in calls}
    assert len(numbers) == len(calls)
    assert len({call.request_id for call in calls}) == len(calls)
    assert usage_of(Answer(), calls[0]) == usage_of(Answer(), Call(1, 1, "m", frozenset()))


def test_cache_writes_have_the_answers_lifetimes() -> None:
    usage = usage_of(Answer(cache_writes=("1h",)), CALL)
    assert usage.ephemeral_5m_input_tokens == 0
    assert usage.ephemeral_1h_input_tokens > 2_000
