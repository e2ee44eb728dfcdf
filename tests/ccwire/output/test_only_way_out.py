"""No module but `ccwire.output.terminal` prints, so that a new command cannot forget it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# What prints by itself, and why that is safe.
ALLOWED = {
    "ccwire/output/terminal.py": "the way out itself",
    "ccwire/options.py": "an error, whose message the command group has made safe",
    "ccwire/reference.py": "prints our own help texts, for the documentation",
    "ccwire/demo/client/cli.py": "stands in for the client",
    "ccwire/demo/stand_in/server.py": "stands in for the API",
    "addon/launch/client.py": "prints one safe line while the client owns the terminal",
}
_PRINTING = {"print", "click.echo", "click.secho", "click.echo_via_pager", "Console"}
_STREAMS = {"sys.stdout.write", "sys.stderr.write"}


def sources() -> list[str]:
    found = [
        path for name in ("ccwire", "addon", "correlate") for path in (ROOT / name).rglob("*.py")
    ]
    return sorted(str(path.relative_to(ROOT)) for path in found)


@pytest.mark.parametrize("source", sources())
def test_no_other_module_prints(source: str) -> None:
    calls = called_in(ast.parse((ROOT / source).read_text(encoding="utf-8")))
    printing = calls & (_PRINTING | _STREAMS)
    assert not printing or source in ALLOWED, f"{source} calls {printing}"


def test_every_exception_is_still_one() -> None:
    for source in ALLOWED:
        calls = called_in(ast.parse((ROOT / source).read_text(encoding="utf-8")))
        assert calls & (_PRINTING | _STREAMS | {"SafeConsole"}), source


def called_in(tree: ast.AST) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
