"""`ccwire run` finds the gateway that a program will use, and says what it captured or why not."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.server import StandIn
from ccwire.wire.format import Exchange
from correlate.captures.folder import read_exchanges, session_folders
from tests.rig import messages_body

# Post the first argument to each of the URLs after it.
CALL = """
import sys, urllib.request
for url in sys.argv[2:]:
    request = urllib.request.Request(
        url, sys.argv[1].encode(), {"content-type": "application/json", "x-api-key": "made-up"})
    urllib.request.urlopen(request, timeout=30).read()
"""
# The same, with trust in nothing but public certificates.
DISTRUSTFUL = """
import ssl, sys, urllib.error, urllib.request
import certifi
public = ssl.create_default_context(cafile=certifi.where())
try:
    urllib.request.urlopen(sys.argv[2], timeout=30, context=public)
except urllib.error.URLError as error:
    assert "CERTIFICATE_VERIFY_FAILED" in str(error), error
    sys.exit(3)
"""


@pytest.fixture
def api() -> Iterator[StandIn]:
    with StandIn(named("plain")) as running:
        yield running


@pytest.fixture
def other() -> Iterator[StandIn]:
    """Another server on loopback, which is no API."""
    with StandIn(named("plain"), seed=2) as running:
        yield running


def run(
    home: Path, *urls: str, options: tuple[str, ...] = (), program: str = CALL, **given: str
) -> tuple[subprocess.CompletedProcess[str], list[Exchange]]:
    """Post to these URLs behind `ccwire run`; return the run and what it captured."""
    command = [sys.executable, "-m", "ccwire", "run", *options, "--", sys.executable, "-c", program]
    ran = subprocess.run(
        [*command, messages_body("hello").decode(), *urls],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "TERM": "dumb", **given},
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    folders = session_folders(home / ".ccwire" / "captures")
    return ran, [exchange for folder in folders for exchange in read_exchanges(folder)]


def test_a_gateway_on_loopback_is_captured_and_other_servers_there_are_not(
    tmp_path: Path, api: StandIn, other: StandIn
) -> None:
    settings = tmp_path / ".claude" / "settings.local.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": f"{api.url}/prefix"}}))
    urls = [f"{api.url}/prefix/v1/messages", f"{other.url}/v1/messages"]
    ran, captured = run(tmp_path, *urls, NO_PROXY="127.0.0.1")
    assert ran.returncode == 0, ran.stderr
    assert [exchange.path for exchange in captured] == ["/prefix/v1/messages"]
    assert [exchange.kind for exchange in captured] == ["messages"]
    assert (len(api.ledger.messages()), len(other.ledger.messages())) == (1, 1)
    where = f"127.0.0.1:{api.port} (ANTHROPIC_BASE_URL in .claude/settings.local.json)"
    assert f"ccwire: capturing {where}\n" in ran.stderr
    assert "not captured" not in ran.stderr


def test_hosts_that_were_not_captured_are_named_and_captured_on_request(
    tmp_path: Path, api: StandIn, other: StandIn
) -> None:
    url, name = f"{other.url}/v1/messages", f"127.0.0.1:{other.port}"
    ran, captured = run(tmp_path, url, ANTHROPIC_BASE_URL=api.url)
    assert captured == []
    assert f"ccwire: nothing was captured: the command connected to {name}, not" in ran.stderr
    ran, captured = run(tmp_path, url, options=("--host", name), ANTHROPIC_BASE_URL=api.url)
    assert [exchange.kind for exchange in captured] == ["messages"]
    assert f" and {name} (--host)\n" in ran.stderr


def test_a_program_that_does_not_trust_the_proxy_is_named(tmp_path: Path, api: StandIn) -> None:
    url, options = "https://api.anthropic.com/v1/messages", ("--upstream", api.url)
    ran, captured = run(tmp_path, url, options=options, program=DISTRUSTFUL)
    assert (ran.returncode, captured) == (3, [])
    why = "the command does not trust the proxy's certificate for api.anthropic.com"
    assert f"ccwire: nothing was captured: {why}\n" in ran.stderr


def test_a_quiet_run_prints_nothing(tmp_path: Path, api: StandIn) -> None:
    url = f"{api.url}/v1/messages"
    ran, captured = run(tmp_path, url, options=("--quiet",), ANTHROPIC_BASE_URL=api.url)
    assert (ran.returncode, ran.stderr, len(captured)) == (0, "", 1)


def test_a_quiet_run_still_reports_failed_calls(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        gone = f"127.0.0.1:{server.getsockname()[1]}"
    url = f"http://{gone}"
    options = ("--quiet",)
    ran, captured = run(tmp_path, f"{url}/v1/messages", options=options, ANTHROPIC_BASE_URL=url)
    assert ran.returncode == 1  # the program's own
    assert [exchange.ended_by for exchange in captured] == ["server_disconnect"]
    assert f"ccwire: 1 call failed: {gone} refused the connection\n" in ran.stderr


@pytest.mark.parametrize("host", ["https://gateway.example", "a,b", ""])
def test_a_host_that_is_none_is_one_sentence(tmp_path: Path, host: str) -> None:
    ran, _ = run(tmp_path, options=("--host", host))
    assert ran.returncode == 2
    assert ran.stderr == f"ccwire: --host {host!r}: expected a host such as gateway.example.\n"
