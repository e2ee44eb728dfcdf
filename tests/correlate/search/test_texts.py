"""The texts of requests, answers and transcript records, each with its role."""

from typing import Any

import pytest

from correlate.search.texts import (
    OTHER,
    FoundText,
    answer_texts,
    note_tools,
    record_texts,
    request_texts,
)

CALL = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a", "more": ["b", 3]}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "out"}
PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}


def found(texts: Any) -> list[tuple[str, str | None, str]]:
    return [(one.role, one.tool, one.text) for one in texts]


def of_record(*records: dict[str, Any]) -> list[tuple[str, str | None, str]]:
    names: dict[str, str] = {}
    texts: list[FoundText] = []
    for record in records:
        note_tools(record, names)
        texts += record_texts(record, names)
    return found(texts)


def test_a_request_has_texts_of_every_role() -> None:
    said = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, CALL]
    body = {
        "system": [{"type": "text", "text": "be brief"}],
        "tools": [{"name": "Read", "description": "reads"}],
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [*said, {"type": "text", "text": "ok"}]},
            {"role": "user", "content": [RESULT, {"type": "text", "text": "on"}]},
            {"role": "system", "content": "later"},
        ],
    }
    texts = list(request_texts(body))
    assert found(texts) == [
        ("system", None, "be brief"),
        ("tool-definition", "Read", "Read"),
        ("tool-definition", "Read", "reads"),
        ("user", None, "go"),
        ("thinking", None, "hm"),
        ("tool-call", "Read", "a"),
        ("tool-call", "Read", "b"),
        ("assistant", None, "ok"),
        ("tool-result", "Read", "out"),
        ("user", None, "on"),
        ("system", None, "later"),
    ]
    assert [one.message for one in texts] == [None] * 3 + [1, 2, 2, 2, 2, 3, 3, 4]


def test_an_answer_has_its_blocks_and_input_that_was_cut_off() -> None:
    cut = {"type": "tool_use", "id": "t2", "name": "Bash", "partial_input": '{"command": "ls'}
    message = {"content": [{"type": "text", "text": "so"}, cut]}
    assert found(answer_texts(message)) == [
        ("assistant", None, "so"),
        ("tool-call", "Bash", "ls"),
    ]
    assert found(answer_texts(None)) == []


def test_a_result_may_have_several_blocks() -> None:
    content = [
        {"type": "text", "text": "one"},
        {"type": "image", "source": {"type": "base64", "data": "aW1hZ2U="}},
        {"type": "document", "title": "two", "source": PDF},
        {"type": "document", "source": {"type": "text", "data": "three"}},
    ]
    record = {"type": "user", "message": {"content": [RESULT | {"content": content}]}}
    texts = [text for _, _, text in of_record(record)]
    assert [text for text in texts if text not in ("document", "text")] == ["one", "two", "three"]


@pytest.mark.parametrize("kind", ["user", "assistant"])
def test_a_message_may_be_a_bare_string(kind: str) -> None:
    assert of_record({"type": kind, "message": "words"}) == [(kind, None, "words")]


def test_a_line_with_a_result_has_no_second_copy_of_it() -> None:
    record = {"type": "user", "message": {"content": [RESULT]}, "toolUseResult": {"stdout": "out"}}
    call = {"type": "assistant", "message": {"content": [CALL]}}
    assert of_record(call, record)[-1:] == [("tool-result", "Read", "out")]


def test_a_tool_call_or_result_may_have_a_line_of_its_own() -> None:
    assert of_record(CALL, RESULT) == [
        ("tool-call", "Read", "a"),
        ("tool-call", "Read", "b"),
        ("tool-result", "Read", "out"),
    ]


def test_a_line_of_the_client_is_not_the_system_prompt() -> None:
    record = {"type": "system", "subtype": "local_command", "uuid": "u", "content": "done"}
    assert of_record(record) == [("other", None, "done")]


def test_a_tool_input_that_was_cut_off_reads_without_escapes() -> None:
    cut = '{"command": "say \\"hello\\"\\nnext", "more": ["\\u00e9", "half \\u00'
    block = {"type": "tool_use", "id": "t2", "name": "Bash", "partial_input": cut}
    assert [one.text for one in answer_texts({"content": [block]})] == [
        'say "hello"\nnext',
        "é",
        "half \\u00",
    ]


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        (
            "bash_code_execution_tool_result",
            {"type": "bash_code_execution_result", "stdout": "numbat", "return_code": 0},
            ["bash_code_execution_result", "numbat"],
        ),
        (
            "web_fetch_tool_result",
            {"type": "web_fetch_result", "content": {"type": "document", "source": PDF}},
            ["web_fetch_result", "document"],
        ),
        (
            "web_search_tool_result",
            {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
            ["web_search_tool_result_error", "max_uses_exceeded"],
        ),
    ],
)
def test_what_a_server_tool_returned_is_text(
    kind: str, content: dict[str, Any], expected: list[str]
) -> None:
    block = {"type": kind, "tool_use_id": "t1", "content": content}
    assert [one.text for one in answer_texts({"content": [block]})] == expected


def test_an_error_without_an_answer_has_its_text() -> None:
    body = {"type": "error", "error": {"message": "prompt is too long"}}
    texts = [(one.role, one.text) for one in answer_texts(None, body)]
    assert (OTHER, "prompt is too long") in texts


def test_a_text_knows_the_value_that_it_is_in() -> None:
    (_, token) = record_texts({"type": "attachment", "x": ["a"], "attachment": {"T": "b"}}, {})
    assert (token.text, token.holder, token.leaf) == ("b", {"attachment": {"T": "b"}}, 0)
