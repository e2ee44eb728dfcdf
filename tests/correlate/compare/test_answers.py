from typing import Any

import pytest

from correlate.compare.answers import answer_findings

TEXT = {"type": "text", "text": "All done."}
TOOL = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls -l"}}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def found(
    wire: list[dict[str, Any]], transcript: list[dict[str, Any]]
) -> list[tuple[int, str, str, str | None]]:
    return [(f.index, f.type, f.verdict, f.place) for f in answer_findings(wire, transcript)]


def test_equal_answers_are_equal_block_by_block() -> None:
    assert found([THINKING, TEXT, TOOL], [THINKING, TEXT, TOOL]) == [
        (0, "thinking", "equal", None),
        (1, "text", "equal", None),
        (2, "tool_use", "equal", None),
    ]


def test_what_the_client_adds_to_a_block_is_no_difference() -> None:
    assert found([TOOL], [{**TOOL, "caller": {"type": "direct"}}]) == [
        (0, "tool_use", "equal", None)
    ]


def test_a_changed_text_is_named_by_the_character() -> None:
    assert found([TEXT], [{"type": "text", "text": "All gone."}]) == [
        (0, "text", "changed", "text, character 4")
    ]


def test_a_changed_tool_input_is_named_by_its_field() -> None:
    changed = {**TOOL, "input": {"command": "ls -a"}}
    assert found([TOOL], [changed]) == [(0, "tool_use", "changed", "input.command, character 4")]


def test_an_input_kept_as_a_string_is_a_change() -> None:
    assert found([TOOL], [{**TOOL, "input": '{"command": "ls -l"}'}]) == [
        (0, "tool_use", "changed", "input")
    ]


def test_a_block_that_the_transcript_lacks_is_missing_and_the_rest_still_pairs() -> None:
    assert found([THINKING, TEXT, TOOL], [THINKING, TOOL]) == [
        (0, "thinking", "equal", None),
        (1, "text", "missing", None),
        (2, "tool_use", "equal", None),
    ]


def test_a_block_that_only_the_transcript_has_is_added() -> None:
    assert found([TEXT], [TEXT, TOOL]) == [
        (0, "text", "equal", None),
        (1, "tool_use", "added", None),
    ]


def test_an_empty_text_needs_no_line() -> None:
    assert found([{"type": "text", "text": "\n"}, TOOL], [TOOL]) == [(1, "tool_use", "equal", None)]


def test_what_the_capture_redacted_is_no_difference() -> None:
    wire = {"type": "text", "text": "key <redacted:key:0f0f> and <redacted:key:0a0a>."}
    assert found([wire], [{"type": "text", "text": "key sk-1 and sk-2."}])[0][2] == "equal"
    assert found([wire], [{"type": "text", "text": "word sk-1 and sk-2."}])[0][2] == "changed"


def test_an_unknown_block_is_compared_whole() -> None:
    assert found([{"type": "new", "x": [1, {"y": 2}]}], [{"type": "new", "x": [1, {"y": 3}]}]) == [
        (0, "new", "changed", "x[1].y")
    ]


@pytest.mark.parametrize(
    ("text", "is_equal"),
    [
        ("a1b2c", True),
        ("abc", True),
        ("a1b2bc", True),
        ("a1b2b", False),
        ("1b2c", False),
        ("a1c", False),
        ("ac", False),
    ],
)
def test_what_is_between_two_marks_has_to_be_there_in_order(text: str, is_equal: bool) -> None:
    wire = {"type": "text", "text": "a<redacted:key:0f>b<redacted:key:0a>c"}
    (found,) = answer_findings([wire], [{"type": "text", "text": text}])
    assert (found.verdict == "equal") is is_equal


def test_many_marks_in_one_text_are_compared_without_trying_all_places() -> None:
    wire = {"type": "text", "text": "<redacted:key:0f> " * 200 + "end"}
    (found,) = answer_findings([wire], [{"type": "text", "text": "key " * 2000 + "other"}])
    assert found.verdict == "changed"
