"""The script that makes Node's fetch() use the proxy, in Node itself."""

import base64
import os
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from addon.launch import environment

PRINTS_POOL = """
console.log(globalThis[Symbol.for("undici.globalDispatcher.1")] ? "replaced" : "as it was");
"""


def ran(main: Path, proxy: str = "http://127.0.0.1:1") -> str:
    """Run a program with the script, as if this Node had no support for proxies of its own."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("NOT RUN: node is not installed")
    pretend = 'Object.defineProperty(process.versions, "node", { value: "20.0.0" });'
    older = main.parent / "older.cjs"
    older.write_text(pretend)
    options = ["--require", str(older), "--require", str(environment._NODE_FETCH)]
    variables = {"PATH": os.environ["PATH"], "HTTPS_PROXY": proxy}
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


def test_the_password_in_the_variable_is_sent_to_the_proxy(tmp_path: Path) -> None:
    got: list[bytes] = []

    def refuse() -> None:
        connection, _ = listening.accept()
        with connection:
            got.append(connection.recv(65536))
            connection.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")

    main = tmp_path / "app.cjs"
    main.write_text('fetch("https://host.test/").catch(() => console.log("refused"));')
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=refuse, daemon=True)
        thread.start()
        port = listening.getsockname()[1]
        assert ran(main, f"http://ccwire:made-up%2Bsecret@127.0.0.1:{port}") == "refused"
        thread.join(10)
    secret = base64.b64encode(b"ccwire:made-up+secret")
    assert b"proxy-authorization: basic " + secret.lower() in got[0].lower()
