from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccwire.wire.usage import Tokens, differences
from correlate.transcript.records import (
    AgentResult,
    ApiError,
    ApiRequest,
    AssistantLine,
    Compaction,
    CostState,
    PromptLine,
    Record,
    typed,
)
from tests.correlate.folding import fold

PATH = Path("t.jsonl")


def read(record: dict[str, Any]) -> Record:
    return typed(record, PATH, 7, 0)


def test_an_empty_assistant_line_has_none_everywhere_not_zero() -> None:
    found = read({"type": "assistant"})
    assert isinstance(found, AssistantLine)
    assert (found.usage, found.message_id, found.timestamp, found.stop_reason) == (None,) * 4
    assert found.blocks == ()
    assert not found.synthetic


def test_content_may_be_a_string() -> None:
    found = read({"type": "assistant", "message": {"content": "said"}})
    assert isinstance(found, AssistantLine)
    assert [block.type for block in found.blocks] == ["text"]


def test_a_tool_call_keeps_its_agent_and_file_fields() -> None:
    given = {"subagent_type": "Explore", "prompt": "look", "file_path": "/x"}
    content = [{"type": "tool_use", "id": "toolu_1", "name": "Task", "input": given}]
    found = read({"type": "assistant", "message": {"content": content}})
    assert isinstance(found, AssistantLine)
    (block,) = found.blocks
    assert (block.tool, block.tool_use_id) == ("Task", "toolu_1")
    assert (block.subagent_type, block.prompt, block.file_path) == ("Explore", "look", "/x")


def test_an_api_error_contains_the_retry_plan() -> None:
    record = {
        "type": "system",
        "subtype": "api_error",
        "error": {"status": 529, "requestId": "req_1"},
        "retryAttempt": 2,
    }
    assert read(record) == ApiError(7, None, "req_1", 529, 2)


def test_a_compaction_keeps_its_place() -> None:
    record = {
        "type": "system",
        "subtype": "compact_boundary",
        "timestamp": "2026-11-16T00:00:00.000Z",
        "uuid": "b0b0",
    }
    assert read(record) == Compaction(7, 1794787200.0, "b0b0")


def test_the_cost_record_is_read() -> None:
    record = {"type": "cost-state", "totalCostUSD": 0.5, "modelUsage": {"m": {"inputTokens": 1}}}
    assert read(record) == CostState(7, 0.5, {"m": {"inputTokens": 1}}, PATH)
    assert read({"type": "cost-state"}) == CostState(7, None, {}, PATH)


def test_an_api_request_contains_its_query_source() -> None:
    record = {"type": "api-request", "id": "r1", "querySource": "compact", "agentId": "a1"}
    assert read(record) == ApiRequest("r1", "compact", None, "a1")
    assert read({"type": "api-request"}) is None


def test_a_subagents_report_ties_it_to_its_tool_call() -> None:
    record = {
        "type": "user",
        "message": {"content": [{"type": "tool_result", "tool_use_id": "toolu_1"}]},
        "toolUseResult": {"agentId": "a1"},
    }
    assert read(record) == AgentResult("toolu_1", "a1")


def test_a_sidechains_prompt_is_kept() -> None:
    record = {"type": "user", "isSidechain": True, "uuid": "u1", "message": {"content": "look"}}
    assert read(record) == PromptLine("u1", None, "look")


@pytest.mark.parametrize("kind", ["summary", "attachment", "never-heard-of", None, 7])
def test_other_records_are_only_counted(kind: object) -> None:
    assert read({"type": kind}) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = (
    "message", "usage", "content", "toolUseResult", "error", "compactMetadata", "modelUsage",
    "timestamp", "agentId", "isSidechain", "requestId", "id", "subtype", "uuid", "iterations",
)  # fmt: skip


@given(
    st.sampled_from(["assistant", "system", "user", "cost-state", "api-request"]),
    st.dictionaries(st.sampled_from(FIELDS), JSON | st.dictionaries(st.sampled_from(FIELDS), JSON)),
    st.sampled_from(["api_error", "compact_boundary", "other"]),
)
def test_no_record_is_too_odd_to_read(kind: str, fields: dict[str, Any], subtype: str) -> None:
    found = read({**fields, "type": kind, "subtype": subtype})
    if isinstance(found, AssistantLine):
        (turn,) = fold([found])
        assert Tokens.of(turn.usage) + Tokens() == Tokens.of(turn.usage)
        assert differences(turn.usage, turn.usage) == ()
