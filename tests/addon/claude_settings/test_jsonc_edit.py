from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addon.claude_settings.jsonc import JsonNode, parse
from addon.claude_settings.jsonc_edit import insert, remove, replace
from tests.addon.claude_settings.texts import settings_texts


def _inserted(text: str, value: Any = 9) -> str:
    document = parse(text)
    return insert(document, document.root, "new" if text.lstrip()[0] == "{" else None, value)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "new": 9\n}'),
        ("{}\n", '{\n  "new": 9\n}\n'),
        ("{\r\n}", '{\r\n  "new": 9\r\n}'),
        ("{ // none yet\n}", '{ // none yet\n  "new": 9\n}'),
        ('{"a": 1}', '{"a": 1, "new": 9}'),
        ('{"a": 1,}', '{"a": 1, "new": 9,}'),
        ('{"a": 1 // one\n}', '{"a": 1, "new": 9 // one\n}'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"new": 9\n}'),
        ('{\n    "a": 1, // one\n}', '{\n    "a": 1, // one\n    "new": 9,\n}'),
        ('{\n  "a": 1 // one\n  // end\n}', '{\n  "a": 1, // one\n  "new": 9\n  // end\n}'),
        ("[\n1 /* one */ // uno\n]", "[\n1, /* one */ // uno\n9\n]"),
    ],
)
def test_a_part_is_put_in_as_the_ones_before_it_are_laid_out(before: str, after: str) -> None:
    assert _inserted(before) == after


def test_a_value_of_many_lines_has_the_indentation_of_the_document() -> None:
    assert _inserted('{\n\t"a": 1\n}', {"b": [1]}) == (
        '{\n\t"a": 1,\n\t"new": {\n\t\t"b": [\n\t\t\t1\n\t\t]\n\t}\n}'
    )


def test_on_one_line_it_stays_on_one_line() -> None:
    document = parse('{"a": []}')
    assert insert(document, document.root.parts[0].node, None, {"b": 1}) == '{"a": [{"b": 1}]}'


@pytest.mark.parametrize(
    ("before", "part", "after"),
    [
        ("[1, 2, 3]", 0, "[2, 3]"),
        ("[1, 2, 3]", 1, "[1, 3]"),
        ("[1, 2, 3]", 2, "[1, 2]"),
        ("[1]", 0, "[]"),
        ("[\n  1,\n]", 0, "[]"),
        ("[ /* a */ 1 ]", 0, "[ /* a */ ]"),
        ("[ // [\n1\n]", 0, "[ // [\n]"),
        ("[1 /* a */ , 2]", 0, "[/* a */ 2]"),
        ("[1 // one\n,2]", 1, "[1 // one\n]"),
        ("[1 // one\n, 2, 3]", 1, "[1 // one\n, 3]"),
        ("[1, // one\n 2]", 1, "[1 // one\n ]"),
        ("[1, // one\n 2, 3]", 1, "[1, // one\n 3]"),
        ("[1, // one\n 2, // two\n 3]", 1, "[1, // one\n // two\n 3]"),
    ],
)
def test_a_part_is_taken_out_and_comments_stay(before: str, part: int, after: str) -> None:
    document = parse(before)
    assert remove(document, document.root, document.root.parts[part]) == after
    kept = [value for at, value in enumerate(document.root.value) if at != part]
    assert parse(after).root.value == kept


def test_a_value_is_replaced_in_its_place() -> None:
    document = parse('{"a": /* x */ "b" }')
    assert replace(document, document.root.parts[0].node, "c") == '{"a": /* x */ "c" }'


def _containers(node: JsonNode) -> list[JsonNode]:
    here = [node] if isinstance(node.value, dict | list) else []
    return here + [found for part in node.parts for found in _containers(part.node)]


@settings(max_examples=100, deadline=None)
@given(settings_texts(), st.data())
def test_what_is_put_in_comes_out_again_and_all_else_stays(text: str, data: st.DataObject) -> None:
    document = parse(text)
    containers = _containers(document.root)
    number = data.draw(st.integers(0, len(containers) - 1))
    container = containers[number]
    key = "a new one" if isinstance(container.value, dict) else None
    more = insert(document, container, key, {"x": [1]})
    changed = parse(more)
    grown = _containers(changed.root)[number]
    assert grown.parts[-1].node.value == {"x": [1]}
    assert len(changed.comments) == len(document.comments)
    again = remove(changed, grown, grown.parts[-1])
    if container.parts:
        assert again == text
    else:
        assert parse(again).root.value == document.root.value


@settings(max_examples=100, deadline=None)
@given(settings_texts(), st.data())
def test_any_part_can_be_taken_out_and_what_is_left_is_whole(
    text: str, data: st.DataObject
) -> None:
    document = parse(text)
    held = [container for container in _containers(document.root) if container.parts]
    if not held:
        return
    container = data.draw(st.sampled_from(held))
    part = data.draw(st.sampled_from(container.parts))
    left = parse(remove(document, container, part))
    lost = [c for c in document.comments if part.start <= c[0] < part.end]
    assert len(left.comments) >= len(document.comments) - len(lost)
    number = _containers(document.root).index(container)
    same = _containers(left.root)[number]
    values = [p.node.value for p in container.parts if p is not part]
    assert [p.node.value for p in same.parts] == values
