"""The title and text of a content block."""

from typing import Any

import pytest

from correlate.report.blocks import ReadableBlock, content_text, readable


@pytest.mark.parametrize(
    ("block", "title", "text"),
    [
        ({"type": "text", "text": "hi"}, "text", "hi"),
        ({"type": "thinking", "thinking": "hm", "signature": "s"}, "thinking", "hm"),
        (
            {"type": "tool_use", "name": "Bash", "input": {"a": 1}},
            "tool_use Bash",
            '{\n  "a": 1\n}',
        ),
        ({"type": "tool_use", "name": "Bash", "partial_input": '{"a'}, "tool_use Bash", '{"a'),
        ({"type": "tool_result", "content": "out"}, "tool_result", "out"),
        ({"type": "tool_result", "content": "x", "is_error": True}, "tool_result (error)", "x"),
        (
            {"type": "tool_result", "content": [{"type": "text", "text": "a"}, {"type": "text"}]},
            "tool_result",
            'a\n{\n  "type": "text"\n}',
        ),
        ({"type": "tool_result"}, "tool_result", ""),
        ({"type": "hologram", "mm": 3}, "hologram", '{\n  "type": "hologram",\n  "mm": 3\n}'),
        ({"no": "type"}, "unknown", '{\n  "no": "type"\n}'),
        ("bare words", "text", "bare words"),
        (None, "text", ""),
    ],
)
def test_a_block_has_a_title_and_a_text(block: Any, title: str, text: str) -> None:
    found = readable(block)
    assert (found.title, found.text) == (title, text)


def test_a_document_that_is_a_text_is_shown() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "all of it"}
    block = {"type": "document", "title": "Notes", "source": source}
    assert readable(block).text == "Notes\nall of it"


def test_an_image_is_named_and_not_shown() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "x" * 1000}
    block = {"type": "image", "source": source}
    assert readable(block) == ReadableBlock("image", "image", "image/png, 1,002 bytes, not shown")


def test_content_may_be_a_string_or_blocks() -> None:
    assert content_text("words") == "words"
    assert content_text([{"type": "text", "text": "a"}, "b"]) == "a\nb"
    assert content_text(None) == ""
