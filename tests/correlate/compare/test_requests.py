from typing import Any

import pytest

from correlate.compare.requests import RequestChange, parting, preview, request_changes

ONE: dict[str, Any] = {
    "model": "claude-opus-5-5",
    "max_tokens": 100,
    "system": [{"type": "text", "text": "Be brief."}],
    "tools": [{"name": "Bash", "description": "runs"}, {"name": "Read"}],
    "messages": [{"role": "user", "content": "hello"}],
}


def changes(**more: Any) -> list[RequestChange]:
    return request_changes(ONE, {**ONE, **more}, ["a", "b"], ["a", "b"])


def test_the_same_request_has_no_changes() -> None:
    assert changes() == []


def test_moved_cache_markers_are_no_changes() -> None:
    marker = {"cache_control": {"type": "ephemeral"}}
    assert (
        changes(
            system=[{"type": "text", "text": "Be brief.", **marker}],
            tools=[{"name": "Bash", "description": "runs"}, {"name": "Read", **marker}],
            messages=[{"role": "user", "content": [{"type": "text", "text": "hello", **marker}]}],
        )
        == []
    )


def test_what_the_conversation_grew_by_is_added() -> None:
    said = {"role": "assistant", "content": "hi"}
    assert changes(messages=[*ONE["messages"], said]) == [
        RequestChange("messages[1]", "added", after=said)
    ]


def test_a_changed_block_is_named_by_its_place() -> None:
    blocks = [{"type": "text", "text": "hello"}, {"type": "text", "text": "again"}]
    assert changes(messages=[{"role": "user", "content": blocks}]) == [
        RequestChange("messages[0].content[1]", "added", after=blocks[1])
    ]


def test_a_conversation_that_was_summed_up_loses_messages() -> None:
    long = {**ONE, "messages": [*ONE["messages"], {"role": "assistant", "content": "hi"}]}
    summary = [{"role": "user", "content": "summary"}]
    found = request_changes(long, {**ONE, "messages": summary}, [], [])
    assert [(change.place, change.change) for change in found] == [
        ("messages[0].content[0]", "changed"),
        ("messages[1]", "removed"),
    ]


def test_another_speaker_is_another_message() -> None:
    found = changes(messages=[{"role": "system", "content": "hello"}])
    assert [(change.place, change.change) for change in found] == [("messages[0]", "changed")]


def test_tools_are_compared_by_name_not_order() -> None:
    assert changes(tools=list(reversed(ONE["tools"]))) == []
    found = changes(tools=[{"name": "Bash", "description": "runs more"}, {"name": "Write"}])
    assert [(change.place, change.change) for change in found] == [
        ("tools.Bash", "changed"),
        ("tools.Read", "removed"),
        ("tools.Write", "added"),
    ]


def test_betas_come_and_go() -> None:
    assert request_changes(ONE, ONE, ["a", "b"], ["b", "c"]) == [
        RequestChange("betas", "added", after="c"),
        RequestChange("betas", "removed", before="a"),
    ]


def test_parameters_are_compared_one_by_one() -> None:
    found = changes(max_tokens=200, stream=True, metadata={"user_id": "x"})
    assert found == [
        RequestChange("max_tokens", "changed", 100, 200),
        RequestChange("stream", "added", after=True),
    ]


def test_a_first_request_is_all_added() -> None:
    found = request_changes(None, ONE, [], ["a"])
    assert {change.change for change in found} == {"added"}
    assert len(found) == 1 + 1 + 2 + 1 + 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\n  b", "a b"),
        ("x" * 200, "x" * 120 + "… (200 characters)"),
        ({"role": "user", "content": [{"type": "text", "text": "hi"}]}, "user: hi"),
        ({"type": "tool_use", "name": "Bash", "input": {}}, "tool_use Bash {}"),
        ({"type": "tool_result", "content": "done"}, "tool_result done"),
        ({"type": "thinking", "thinking": "hm"}, "thinking hm"),
        (7, "7"),
    ],
)
def test_values_are_shown_in_a_few_words(value: Any, text: str) -> None:
    assert preview(value) == text


def test_two_long_texts_are_shown_from_where_they_part() -> None:
    same = "the same beginning of both texts, and then "
    before, after = parting({"type": "text", "text": same + "one"}, {"type": "text", "text": same})
    assert before == "…of both texts, and then one"
    assert after == "…of both texts, and then"


def test_messages_that_are_no_objects_are_changes_too() -> None:
    found = request_changes({"messages": [1, {"role": "user"}]}, {"messages": [2, "x"]}, [], [])
    assert [(change.place, change.change) for change in found] == [
        ("messages[0]", "changed"),
        ("messages[1]", "changed"),
    ]
