"""`ccwire proxy`: what it starts, that it captures, and that it ends as mitmproxy does."""

import os
import shlex
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from addon.launch.proxy import ADD_ON, free_port, is_written
from ccwire.cli import main
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.server import StandIn
from ccwire.wire.format import EXCHANGES
from ccwire.wire.hosts import DEFAULT_HOSTS
from tests.rig import until


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def printed(*arguments: str) -> list[str]:
    ran = CliRunner().invoke(main, ["proxy", "--print", *arguments])
    assert ran.exit_code == 0, ran.output
    return shlex.split(ran.stdout)


def after(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]


def test_it_prints_a_command_for_loopback_with_the_add_on() -> None:
    words = printed("--captures", "my captures")
    assert words[0] == sys.executable
    assert "import mitmdump" in after(words, "-c")
    assert (after(words, "--listen-host"), after(words, "-p")) == ("127.0.0.1", "8080")
    assert after(words, "-s") == str(ADD_ON)
    assert after(words, "--set") == f"capture_dir={Path('my captures').absolute()}"


def test_web_and_console_start_the_other_programs() -> None:
    assert "import mitmweb" in after(printed("--web"), "-c")
    assert "import mitmproxy" in after(printed("--console"), "-c")


def test_unknown_options_are_passed_on() -> None:
    words = printed("--set", "flow_detail=0", "--ssl-insecure", "-w", "flows", "-p", "9000")
    assert words[-5:] == ["--set", "flow_detail=0", "--ssl-insecure", "-w", "flows"]
    assert words.count("-p") == 1
    assert after(words, "-p") == "9000"


def test_another_address_replaces_loopback() -> None:
    words = printed("--listen-host", "192.0.2.1")
    assert words.count("--listen-host") == 1
    assert after(words, "--listen-host") == "192.0.2.1"
    assert "127.0.0.1" not in printed("--listen-host=192.0.2.1")


def test_more_hosts_are_added_to_the_known_ones() -> None:
    words = printed("--host", "gateway.test", "--host", "*.corp.test")
    assert f"capture_hosts={','.join((*DEFAULT_HOSTS, 'gateway.test', '*.corp.test'))}" in words


def test_another_claude_dir_is_passed_on(tmp_path: Path) -> None:
    assert f"capture_claude_dir={tmp_path}" in printed("--claude-dir", str(tmp_path))
    assert "capture_claude_dir" not in " ".join(printed())


def test_a_company_proxy_is_chained_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:secret@proxy.corp.test:3128")
    words = printed()
    assert "capture_proxy=env" in words
    assert after(words, "--mode") == "upstream:http://proxy.corp.test:3128"
    assert "secret" not in " ".join(words)
    assert "capture_proxy=env" not in printed("--set", "capture_upstream=http://127.0.0.1:1")
    assert "capture_proxy=env" not in printed("--mode", "regular")


def test_a_variable_that_names_this_proxy_is_not_chained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:8080")
    assert "--mode" not in printed()
    assert after(printed("-p", "8081"), "--mode") == "upstream:http://127.0.0.1:8080"


def test_a_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = CliRunner().invoke(main, ["proxy", "-p", str(port), "--captures", str(tmp_path)])
    assert ran.exit_code == 2
    assert ran.stderr.startswith(f"ccwire: cannot listen on 127.0.0.1:{port} (Address already in")
    assert "proxy -p PORT`" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_an_address_of_another_machine_is_one_sentence(tmp_path: Path) -> None:
    arguments = ["proxy", "--captures", str(tmp_path), "--listen-host", "192.0.2.1"]
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == 2
    assert ran.stderr.endswith("; give an address of this machine with --listen-host.\n")


def test_an_ipv6_address_can_be_listened_on(tmp_path: Path) -> None:
    try:
        free_port("::1")
    except OSError:
        pytest.skip("NOT RUN: this machine has no IPv6")
    with running(tmp_path, "--listen-host", "::1"):
        text = (tmp_path / "log").read_text()
    port = text.partition("HTTPS_PROXY=http://[::1]:")[2].partition(" ")[0]
    assert f"listening at [::1]:{port}" in text


@pytest.mark.parametrize(
    ("arguments", "end"),
    [
        (["--host", "https://x.test"], "expected a host such as gateway.example.\n"),
        (["--listen-host", "[::1"], "give an address of this machine with --listen-host.\n"),
    ],
)
def test_what_is_no_host_is_one_sentence(tmp_path: Path, arguments: list[str], end: str) -> None:
    ran = CliRunner().invoke(main, ["proxy", "--captures", str(tmp_path), *arguments])
    assert (ran.exit_code, len(ran.stderr.splitlines())) == (2, 1)
    assert ran.stderr.endswith(end)


def test_a_folder_that_cannot_be_written_to_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = CliRunner().invoke(main, ["proxy", "--captures", str(tmp_path / "file" / "x")])
    assert (ran.exit_code, len(ran.stderr.splitlines())) == (2, 1)
    assert "give --captures DIR" in ran.stderr


@pytest.mark.parametrize("program", [[], ["--web"], ["--console"]])
def test_an_option_that_does_not_exist_is_one_sentence(tmp_path: Path, program: list[str]) -> None:
    ran = started(tmp_path, *program, "--nosuch")
    assert (ran.exit_code, ran.stderr) == (2, "ccwire: unrecognized arguments: --nosuch\n")


@pytest.mark.parametrize(
    ("option", "start"),
    [
        ("capture_run=run-../x", "capture_run: expected run-NAME,"),
        ("capture_proxy=nonsense://x", "capture_proxy: the URL names a proxy of type 'nonsense'"),
        ("capture_upstream=x", "capture_upstream: 'x' is not a base URL"),
        ("onboarding=x", "Failed to parse option onboarding"),
    ],
)
def test_an_option_with_a_wrong_value_is_one_sentence(
    tmp_path: Path, option: str, start: str
) -> None:
    ran = started(tmp_path, "--set", option)
    assert (ran.exit_code, len(ran.stderr.splitlines())) == (2, 1)
    assert ran.stderr.startswith(f"ccwire: {start}")


def test_a_confdir_that_cannot_be_written_to_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = started(tmp_path, "--set", f"confdir={tmp_path}/file/x")
    assert (ran.exit_code, len(ran.stderr.splitlines())) == (2, 1)
    assert "file/x is not writable (Not a directory)" in ran.stderr


def started(folder: Path, *options: str) -> Result:
    """Start it with options that end it."""
    confdir = ("--set", f"confdir={folder}")
    arguments = ["proxy", "-p", "0", "--captures", str(folder), *confdir, *options]
    return CliRunner().invoke(main, arguments)


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run `ccwire proxy` in an empty folder, until it listens; its output is in `log`."""
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "ccwire", "proxy", "-p", "0", *arguments],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
    try:
        until(lambda: b"ccwire: capturing" in (folder / "log").read_bytes(), 30)
        yield process
    finally:
        process.kill()
        process.wait()


def test_it_captures_and_ends_cleanly_at_ctrl_c(tmp_path: Path) -> None:
    with (
        StandIn(named("plain")) as api,
        running(tmp_path, "--set", f"capture_upstream={api.url}") as process,
    ):
        hint = (tmp_path / "log").read_text()
        variables = next(line for line in hint.splitlines() if "HTTPS_PROXY" in line).split()
        assert variables[-1] == "claude"
        environment = dict(word.split("=") for word in variables[:-1])
        certificate = environment["NODE_EXTRA_CA_CERTS"]
        assert certificate == str(tmp_path / ".mitmproxy" / "mitmproxy-ca-cert.pem")
        until(lambda: is_written(Path(certificate)), 20)
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({"https": environment["HTTPS_PROXY"]}),
            urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=certificate)),
        )
        with opener.open("https://api.anthropic.com/v1/messages", b"{}", timeout=20) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    index = tmp_path / ".ccwire" / "captures" / "unknown" / EXCHANGES
    assert index.read_text().count('"path":"/v1/messages"') == 1
    assert "Traceback" not in (tmp_path / "log").read_text()
