import json

import pytest
from hypothesis import given, settings

from addon.claude_settings.jsonc import JsoncError, parse
from tests.addon.claude_settings.texts import settings_texts


def test_comments_and_trailing_commas_are_read() -> None:
    text = '\ufeff// a\n{"a": [1, 2.5e3, /* b */ true,], "b\\u00e9": null, "c": {},}\n// "c"'
    document = parse(text)
    assert document.root.value == {"a": [1, 2500, True], "bé": None, "c": {}}
    assert [text[start:end] for start, end in document.comments] == ["// a", "/* b */", '// "c"']


def test_each_part_has_its_position() -> None:
    text = '{ "a" : [ 7 ] , "b": "x" }'
    first, second = parse(text).root.parts
    assert (text[first.start : first.end], first.key, first.comma) == ('"a" : [ 7 ]', "a", 14)
    assert (text[second.start : second.end], second.comma) == ('"b": "x"', None)
    assert text[first.node.start : first.node.end] == "[ 7 ]"


def test_of_two_members_of_one_name_the_last_counts() -> None:
    root = parse('{"a": 1, "a": 2}').root
    member = root.member("a")
    assert member is root.parts[1]
    assert root.value == {"a": 2}
    assert root.member("b") is None


def test_slashes_in_a_string_are_no_comment() -> None:
    document = parse('{"a": "http://x /* y */"}')
    assert document.root.value == {"a": "http://x /* y */"}
    assert document.comments == ()


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("", "line 1, column 1", "expected a value"),
        ("{", "line 1, column 2", "expected a name in double quotes or `}`"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3", "expected `,` or `}`"),
        ('{"a": [1 2]}', "line 1, column 10", "expected `,` or `]`"),
        ("{'a': 1}", "line 1, column 2", "expected a name in double quotes"),
        ('{"a" 1}', "line 1, column 6", "expected `:`"),
        ('{"a": tru}', "line 1, column 7", "expected a value"),
        ('{"a": 01}', "line 1, column 7", "expected a value"),
        ('{"a": }', "line 1, column 7", "expected a value"),
        ('{"a": "b\n"}', "line 1, column 7", "unterminated string"),
        ('{"a": "\\x"}', "line 1, column 7", "unknown escape in string"),
        ("{} /* open", "line 1, column 4", "expected a value or a complete comment"),
        ("{}\r\n{}", "line 2, column 1", "expected the end of the file"),
        ("{,}", "line 1, column 2", "expected a name in double quotes"),
        ("[" * 100_000, "line 1", "nested too deeply"),
    ],
)
def test_a_syntax_error_has_its_position(text: str, where: str, what: str) -> None:
    with pytest.raises(JsoncError) as caught:
        parse(text)
    assert where in str(caught.value)
    assert what in str(caught.value)


@settings(max_examples=50, deadline=None)
@given(settings_texts())
def test_plain_json_is_read_as_the_json_package_reads_it(text: str) -> None:
    document = parse(text)
    try:
        expected = json.loads(text)
    except ValueError:
        return  # it has comments or trailing commas
    assert document.root.value == expected


def test_a_number_of_thousands_of_digits_is_a_number() -> None:
    assert parse("[" + "9" * 5000 + "]").root.value == [float("inf")]
