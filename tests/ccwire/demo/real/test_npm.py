"""Fetching clients, with a fake npm that behaves like the real one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ccwire.demo.real import npm

FAKE_NPM = """#!{python}
import json, os, pathlib, sys
arguments = sys.argv[1:]
with open(os.environ["FAKE_NPM_LOG"], "a") as log:
    log.write(" ".join(a for a in arguments if not a.startswith("--fetch")) + "\\n")
failure = os.environ.get("FAKE_NPM_FAILURE")
if failure:
    sys.exit(f"npm error code {{failure}}\\nnpm error more on that\\n")
if arguments[0] == "view":
    print(json.dumps({{"version": "9.0.2", "versions": ["9.0.1", "9.0.2"]}}[arguments[2]]))
    sys.exit()
package = arguments[-1].rpartition("@")[0]
folder = pathlib.Path(arguments[arguments.index("--prefix") + 1], "node_modules", package)
folder.mkdir(parents=True, exist_ok=True)
native = package != "@anthropic-ai/claude-code"
if native or os.environ.get("FAKE_NPM_SCRIPT"):
    (folder / ("claude" if native else "cli.js")).write_text("the client")
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "npm"
    program.parent.mkdir()
    program.write_text(FAKE_NPM.format(python=sys.executable))
    program.chmod(0o755)
    (program.parent / "node").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("CCWIRE_LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FAKE_NPM_LOG", str(tmp_path / "npm.log"))
    return tmp_path / "npm.log"


def test_a_script_is_run_by_node_and_fetched_once(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NPM_SCRIPT", "1")
    client = npm.fetch("1.0.0")
    assert npm.fetch("1.0.0") == client
    assert client.command[0] == shutil.which("node")
    assert client.command[1].endswith("1.0.0/node_modules/@anthropic-ai/claude-code/cli.js")
    (line,) = log.read_text().splitlines()
    assert "--ignore-scripts" in line


def test_a_missing_native_client_is_installed_separately(log: Path) -> None:
    client = npm.fetch("2.1.325")
    assert len(client.command) == 1
    assert Path(client.command[0]).name == "claude"
    assert len(log.read_text().splitlines()) == 2


def test_the_newest_version_is_looked_up(log: Path) -> None:
    assert npm.newest_version() == "9.0.2"
    assert npm.versions() == ["9.0.1", "9.0.2"]
    assert npm.fetch("newest").version == "9.0.2"


def test_a_version_can_be_removed_and_fetched_again(log: Path) -> None:
    npm.fetch("2.1.325")
    npm.remove("2.1.325")
    npm.remove("2.1.325")
    assert not (npm.cache() / "2.1.325").exists()
    npm.fetch("2.1.325")
    assert (npm.cache() / "2.1.325").is_dir()


@pytest.mark.parametrize("code", ["ENOTFOUND", "ECONNREFUSED", "E503", "ERR_SOCKET_TIMEOUT"])
def test_an_unreachable_registry_is_an_error_with_its_code(
    log: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setenv("FAKE_NPM_FAILURE", code)
    with pytest.raises(npm.NpmUnreachable, match=code):
        npm.fetch("1.0.0")
    assert not (npm.cache() / "1.0.0").exists()


@pytest.mark.parametrize(
    ("code", "said"),
    [("ETARGET", r"npm has no .*@9\.9\.9"), ("ENOSPC", "npm install failed with ENOSPC")],
)
def test_other_failures_are_not_network_failures(
    log: Path, monkeypatch: pytest.MonkeyPatch, code: str, said: str
) -> None:
    monkeypatch.setenv("FAKE_NPM_FAILURE", code)
    with pytest.raises(npm.NpmFailed, match=said) as caught:
        npm.fetch("9.9.9")
    assert not isinstance(caught.value, npm.NpmUnreachable)


def test_no_npm_at_all_is_unreachable(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(npm.NpmUnreachable, match="not installed"):
        npm.newest_version()


def test_two_processes_fetch_it_once(log: Path) -> None:
    program = "from ccwire.demo.real.npm import fetch; fetch('2.1.325')"
    started = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [process.wait(20) for process in started] == [0, 0]
    assert len(log.read_text().splitlines()) == 2  # the package and its native binary
