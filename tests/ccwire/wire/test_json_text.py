import json
import math
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccwire.wire.json_text import (
    as_dict,
    as_list,
    dicts,
    dump,
    embeddable,
    parse_json,
    parse_object,
    text_at,
)
from tests.properties import property_test


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a": [1, 2.5, null, true]}', {"a": [1, 2.5, None, True]}),
        (b' "x" ', "x"),
        (rb'"\ud800"', "\ud800"),
        (b'"\xc3\xbc"', "ü"),
        (b'{"a":1,"a":2}', {"a": 2}),
    ],
)
def test_json_may_be_embedded(data: bytes, value: Any) -> None:
    assert embeddable(data) == value


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"1],[2",
        rb'"\ud800"],["x"',
        rb'"\ud800","x"',
        rb'"\ud800"]',
        b"]" * 8 + b"[" * 8,
        b"]" * 8 + b"," + b"[" * 8,
        b"],[",
        b" ",
        b"NaN",
        b"-Infinity",
        b'\xef\xbb\xbf"mark"',
        '"utf-16"'.encode("utf-16"),
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'"line\nend"',
        b"[" * 100_000 + b"]" * 100_000,
    ],
)
def test_json_that_would_break_the_file_may_not_be_embedded(data: bytes) -> None:
    with pytest.raises(ValueError):
        embeddable(data)


@pytest.mark.parametrize("depth", [1_000, 1_024, 5_000, 9_000, 9_999, 10_000])
def test_whatever_is_embedded_can_be_read_back_from_its_file(depth: int) -> None:
    data = b"[" * depth + rb'"\ud800"' + b"]" * depth
    try:
        embeddable(data)
    except ValueError:
        return
    parse_json(b'{"body":{"events":[{"data":' + data + b"}]}}")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("ü", '"ü"'.encode()),
        ("\ud800", rb'"\ud800"'),
        ({"a": 10**30}, b'{"a":1000000000000000000000000000000}'),
        ({"\udfff": [math.inf, -math.inf, math.nan]}, rb'{"\udfff":[null,null,null]}'),
        (math.nan, b"null"),
    ],
)
def test_what_orjson_refuses_is_written_all_the_same(value: Any, written: bytes) -> None:
    assert dump(value) == written


def test_a_value_that_is_too_deep_is_cut_there() -> None:
    value: Any = "bottom"
    for _ in range(400):
        value = [value]
    assert b"<nested too deeply>" in dump(value)
    assert b"bottom" not in dump(value)


def test_what_cannot_be_json_is_loud() -> None:
    with pytest.raises(TypeError):
        dump(object())


text = st.text(st.characters(codec=None), max_size=5) | st.just("\ud800")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@property_test
@given(value=values)
def test_what_is_written_reads_the_same(value: Any) -> None:
    assert json.loads(dump(value)) == value


@property_test
@given(value=values)
def test_any_json_text_is_embeddable(value: Any) -> None:
    assert embeddable(json.dumps(value).encode()) == orjson_value(value)


def orjson_value(value: Any) -> Any:
    """Convert a value as orjson does, which parses integers beyond 64 bits as floats."""
    try:
        return orjson.loads(json.dumps(value))
    except orjson.JSONDecodeError:
        return value


@pytest.mark.parametrize("data", [b"", b"[1]", b"3", b"{", b'"x"'])
def test_what_is_no_object_is_an_empty_one(data: bytes) -> None:
    assert parse_object(data) == {}


def test_only_the_objects_of_a_list_are_taken() -> None:
    assert dicts([{"a": 1}, 2, None, {}]) == [{"a": 1}, {}]
    assert dicts({"a": 1}) == as_list("abc") == []
    assert as_dict([]) == {}


@pytest.mark.parametrize(
    ("data", "names", "found"),
    [
        ('{"a": 1.0e2}', ("a",), "1.0e2"),
        (' {\n"x" : [1, {"a": 0}] ,\t"a"\n:\r{ "b":"\\u00e9}"  } }', ("a", "b"), '"\\u00e9}"'),
        ('{"x": {"a": 1}, "a": {"b": [ 1,2 ]}}', ("a",), '{"b": [ 1,2 ]}'),
        ('{"\\u0061": 7}', ("a",), "7"),
        ('{"a": 1}', ("b",), None),
        ('{"a": 1}', ("a", "b"), None),
        ('["a", 1]', ("a",), None),
        ("{}", ("a",), None),
        ("7", (), "7"),
    ],
)
def test_the_text_of_a_value_is_exact(data: str, names: tuple[str, ...], found: str | None) -> None:
    assert text_at(data, *names) == found


@pytest.mark.parametrize("data", ['{"a": ', '{"a": {"b', '{"x": {]}, "a": 1}'])
def test_a_value_that_is_cut_off_has_no_text(data: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        text_at(data, "a")


def test_a_value_that_is_nested_too_deeply_has_no_text() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        text_at('{"a": ' + "[" * 200_000, "a")


@property_test
@given(st.dictionaries(st.text(), st.recursive(st.integers() | st.text(), st.lists)))
def test_the_text_of_each_value_reads_as_that_value(value: dict[str, Any]) -> None:
    for indent in (None, 1):
        data = json.dumps(value, indent=indent)
        for name, item in value.items():
            found = text_at(data, name)
            assert found is not None and json.loads(found) == item
