import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addon.hooks.fast_json import dumps, loads

_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=50, deadline=None)
@given(_VALUES)
def test_it_writes_and_reads_what_the_json_package_does(value: Any) -> None:
    assert dumps(value) == json.dumps(value)
    assert loads(json.dumps(value, indent=2)) == value


def test_space_around_a_value_is_no_part_of_it() -> None:
    assert loads(' \r\n\t{"a": [1, 2.5, "\\ud800"]}\n ') == {"a": [1, 2.5, "\ud800"]}


@pytest.mark.parametrize("text", ["", "  ", "{", '{"a"}', "[1,]", "1 2", "secret", '"secret'])
def test_what_is_not_json_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        loads(text)
    assert "secret" not in str(caught.value)


def test_a_value_that_is_not_json_is_refused() -> None:
    with pytest.raises(TypeError, match="Path is not JSON"):
        dumps({"a": Path()})


def test_an_interpreter_without_the_c_code_uses_the_package() -> None:
    program = (
        "import sys; sys.modules['_json'] = None\n"
        "from addon.hooks.fast_json import dumps, loads\n"
        "print(dumps(loads(' {\"a\": [1, null]} ')))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert run.stdout == b'{"a": [1, null]}\n'
