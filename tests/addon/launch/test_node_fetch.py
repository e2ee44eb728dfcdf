"""The script that makes Node's fetch() use the proxy, in Node itself."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from addon.launch import environment

PRINTS_POOL = """
console.log(globalThis[Symbol.for("undici.globalDispatcher.1")] ? "replaced" : "as it was");
"""


def ran(main: Path) -> str:
    """Run a program with the script, as if this Node had no support for proxies of its own."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("NOT RUN: node is not installed")
    pretend = 'Object.defineProperty(process.versions, "node", { value: "20.0.0" });'
    older = main.parent / "older.cjs"
    older.write_text(pretend)
    options = ["--require", str(older), "--require", str(environment._NODE_FETCH)]
    variables = {"PATH": os.environ["PATH"], "HTTPS_PROXY": "http://127.0.0.1:1"}
    return subprocess.run(
        [node, *options, str(main)], env=variables, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_program_gets_a_pool_that_uses_the_proxy(tmp_path: Path) -> None:
    main = tmp_path / "app.cjs"
    main.write_text(PRINTS_POOL)
    assert ran(main) == "replaced"


def test_the_client_keeps_its_own_also_when_started_by_a_link(tmp_path: Path) -> None:
    package = tmp_path / "node_modules" / "@anthropic-ai" / "claude-code"
    package.mkdir(parents=True)
    (package / "cli.js").write_text(PRINTS_POOL)
    (tmp_path / "claude").symlink_to(package / "cli.js")
    assert ran(tmp_path / "claude") == ran(package / "cli.js") == "as it was"
