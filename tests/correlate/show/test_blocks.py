import pytest

from correlate.show.blocks import (
    Excerpt,
    ShownBlock,
    cache_marker,
    excerpt,
    shown_blocks,
    shown_body,
)


def test_a_content_is_a_text_or_blocks() -> None:
    assert shown_blocks("hello") == (ShownBlock("text", "hello", 7),)
    assert shown_blocks(None) == ()
    (text, use) = shown_blocks(
        [
            {"type": "text", "text": "hello", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
            {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
        ]
    )
    assert (text.title, text.text, text.cache) == ("text", "hello", "ephemeral 1h")
    assert (use.title, use.text, use.cache) == ("tool_use Bash", '{\n  "command": "ls"\n}', None)


def test_a_marker_in_the_content_of_a_result_is_found() -> None:
    inner = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    assert cache_marker({"type": "tool_result", "content": [inner]}) == "ephemeral"
    assert cache_marker({"type": "tool_result", "content": "x"}) is None
    assert cache_marker("x") is None


@pytest.mark.parametrize(
    ("body", "title", "text"),
    [
        ({"type": "json", "size": 7, "data": {"a": 1}}, "json", '{\n  "a": 1\n}'),
        ({"type": "json", "size": 4, "data": None}, "json", "null"),
        ({"type": "text", "size": 7, "data": "<html>"}, "text", "<html>"),
        ({"type": "form", "size": 3, "data": {"a": "1"}}, "form", '{\n  "a": "1"\n}'),
        ({"type": "binary", "size": 9, "sha256": "00"}, "binary", "not stored"),
        ({"type": "sse", "size": 9, "events": [{}, {}]}, "sse", "2 events"),
        ({"type": "eventstream", "size": 9, "events": []}, "eventstream", "0 events"),
    ],
)
def test_every_form_of_a_body_has_a_text(body: dict[str, object], title: str, text: str) -> None:
    assert shown_body({"body": body}) == ShownBlock(title, text, int(str(body["size"])))


def test_an_empty_body_has_none() -> None:
    assert shown_body({"body": {"type": "empty", "size": 0}}) is None
    assert shown_body({"body": 7}) is None


def test_a_short_text_is_whole() -> None:
    assert excerpt("one\ntwo\n\n", 2, 100) == Excerpt("one\ntwo")


def test_a_text_a_little_longer_than_its_limits_is_whole() -> None:
    assert excerpt("1\n2\n3", 2, 100) == Excerpt("1\n2\n3")
    assert excerpt("x" * 150, 2, 100) == Excerpt("x" * 150)


def test_a_long_text_is_cut_by_lines_and_by_characters() -> None:
    assert excerpt("1\n2\n3\n4", 2, 100) == Excerpt("1\n2", 4)
    assert excerpt("x" * 1000, 2, 100) == Excerpt("x" * 100, 900)


def test_what_is_shown_and_left_out_is_the_whole_text() -> None:
    text = "".join(f"line {number}\n" for number in range(100)).rstrip()
    shown = excerpt(text, 3, 240)
    assert text.startswith(shown.text)
    assert len(shown.text) + shown.left_out == len(text)
