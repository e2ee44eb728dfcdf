"""The code in docs/api.md prints what the page shows; `correlate` exports what the page lists."""

import ast
import io
import re
import subprocess
import sys
from contextlib import redirect_stdout
from itertools import zip_longest
from pathlib import Path

import pytest

import correlate
from tests.recorded import Recorded

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_every_block_prints_what_is_shown_behind_it(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(recorded.root)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(recorded.claude_dir))
    names: dict[str, object] = {"__name__": "docs_api"}
    blocks = [(found[1], found[2]) for found in _BLOCK.finditer(PAGE)]
    ran = 0
    for (language, code), (after, shown) in zip_longest(blocks, blocks[1:], fillvalue=("", "")):
        if language == "python":
            assert after == "output", f"no output is shown for:\n{code}"
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile(code, "docs/api.md", "exec"), names)
            assert printed.getvalue() == shown
            ran += 1
    assert ran == len(re.findall(r"^```python$", PAGE, re.MULTILINE)) > 0


def test_every_exported_name_is_documented() -> None:
    missing = [name for name in correlate.__all__ if not re.search(rf"`{name}\b", PAGE)]
    assert missing == []


def test_the_page_documents_every_public_method() -> None:
    for kind in (correlate.Captures, correlate.Session):
        public = [name for name in vars(kind) if name[0] != "_"]
        assert [name for name in public if not re.search(rf"`{name}[`(]", PAGE)] == []


def test_every_exported_name_is_what_a_type_checker_sees() -> None:
    tree = ast.parse((ROOT / "correlate" / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == correlate._MODULES
    assert sorted(seen) == sorted(correlate.__all__)
    for name in correlate.__all__:
        assert getattr(correlate, name).__module__ == seen[name]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        correlate.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_importing_the_package_alone_loads_nothing_of_it() -> None:
    program = "import sys, correlate; print(*(name for name in sys.modules if '.' in name))"
    command = [sys.executable, "-S", "-c", program]
    loaded = subprocess.check_output(command, cwd=ROOT, text=True).split()
    assert [name for name in loaded if name.startswith(("correlate", "ccwire"))] == []
