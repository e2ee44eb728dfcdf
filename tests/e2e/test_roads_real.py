"""`ccwire run` with the real client, whose environment or settings name a gateway."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from addon.launch.client_settings import read_settings_env
from addon.launch.road import BASE_URL, find_road
from ccwire.demo.real.npm import InstalledClient
from ccwire.demo.real.run import MADE_UP_KEY, lab_home
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.server import StandIn
from ccwire.wire.endpoints import CALL_KINDS
from ccwire.wire.format import Exchange
from ccwire.wire.hosts import API_HOST, STATSIG_HOST
from correlate.captures.folder import read_exchanges, session_folders
from correlate.reconcile.result import label
from correlate.reconcile.session import SessionReconciler
from correlate.transcript.locate import ClaudeDir
from lab.settings_order import LEVELS, measure
from tests.company import SECRETS, CompanyCA, CompanyProxy
from tests.e2e.real_rig import client_or_skip

pytestmark = pytest.mark.real

VERSIONS = ("2.0.73", "2.1.168", "2.1.325")
PROJECT = Path(__file__).parents[2]
NAME = "gateway.corp.test"
PREFIX = "/some/prefix"
TOKEN = "made-up-gateway-token-4711"


@dataclass
class Road:
    """A home, a project and a gateway; telemetry passes a proxy that refuses other hosts."""

    client: InstalledClient
    api: StandIn
    company: CompanyProxy
    ca: CompanyCA
    folder: Path

    @property
    def cwd(self) -> Path:
        return self.folder / "project"

    @property
    def captures(self) -> Path:
        return self.folder / "captures"

    def run(self, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        ccwire = [sys.executable, "-m", "ccwire", "run", "--captures", str(self.captures)]
        client = [*self.client.command, "-p", self.api.scenario.prompt, "--output-format", "json"]
        return subprocess.run(
            [*ccwire, *options, "--", *client, "--allowedTools", "Bash"],
            env={
                "HOME": str(self.folder / "home"),
                "PATH": "/usr/bin:/bin",
                "SHELL": "/bin/bash",
                "TERM": "dumb",
                "LANG": "C.UTF-8",
                "PYTHONPATH": str(PROJECT),
                "CCWIRE_SESSIONS": str(self.folder / "sessions.json"),
                "ANTHROPIC_AUTH_TOKEN": TOKEN,
                "DISABLE_AUTOUPDATER": "1",
                "HTTPS_PROXY": self.company.url,
                "HTTP_PROXY": self.company.url,
                "NODE_EXTRA_CA_CERTS": str(self.ca.file),
                **environment,
            },
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def settings(self, path: Path, **env: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"env": env}))

    def check(self, ran: subprocess.CompletedProcess[str]) -> list[Exchange]:
        """Check that every call is captured in its session and explained, and no secret is kept."""
        assert ran.returncode == 0, (ran.stdout, ran.stderr)
        session = json.loads(ran.stdout)["session_id"]
        self.api.ledger.wait()
        served = self.api.ledger.messages()
        assert {call.status for call in served} == {200}
        assert [folder.name for folder in session_folders(self.captures)] == [session]
        exchanges = read_exchanges(self.captures / session)
        calls = [exchange for exchange in exchanges if exchange.kind in CALL_KINDS]
        messages = [str(call.request_id) for call in calls if call.kind == "messages"]
        assert sorted(messages) == sorted(call.request_id for call in served)
        assert {call.path.startswith(f"{PREFIX}/v1/messages") for call in calls} == {True}
        reconciler = SessionReconciler(self.captures, ClaudeDir(self.folder / "home" / ".claude"))
        account = reconciler.reconcile(self.captures / session)
        assert [label(f) for f in account.findings if not f.explained] == []
        assert account.unexplained == 0
        for file in self.captures.rglob("*"):
            text = file.read_bytes() if file.is_file() else b""
            assert [s for s in (TOKEN, MADE_UP_KEY, *SECRETS) if s.encode() in text] == [], file
        return calls


@pytest.fixture(params=VERSIONS)
def road(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Road]:
    client = client_or_skip(request.param)
    (tmp_path / "project").mkdir()
    lab_home(tmp_path / "home", tmp_path / "project")
    ca = CompanyCA(tmp_path / "company")
    with StandIn(named("bash")) as api, CompanyProxy(routes(api), ca) as company:
        yield Road(client, api, company, ca, tmp_path)


def routes(api: StandIn, *hosts: str) -> dict[str, int]:
    return {f"{host}:443": api.port for host in (API_HOST, STATSIG_HOST, *hosts)}


def test_a_gateway_on_loopback_with_a_prefix(road: Road) -> None:
    ran = road.run(ANTHROPIC_BASE_URL=f"{road.api.url}{PREFIX}")
    calls = road.check(ran)
    assert {call.host for call in calls} == {"127.0.0.1"}
    where = f"127.0.0.1:{road.api.port} (ANTHROPIC_BASE_URL in the environment)"
    assert ran.stderr.startswith(f"ccwire: capturing {where}\n")


def test_a_gateway_in_the_projects_settings(road: Road) -> None:
    settings = road.cwd / ".claude" / "settings.json"
    road.settings(settings, ANTHROPIC_BASE_URL=f"{road.api.url}{PREFIX}")
    ran = road.run(NO_PROXY="127.0.0.1")
    road.check(ran)
    where = f"127.0.0.1:{road.api.port} (ANTHROPIC_BASE_URL in .claude/settings.json)"
    assert ran.stderr.startswith(f"ccwire: capturing {where}\n")


def test_a_gateway_on_another_name_behind_the_proxy_in_the_settings(road: Road) -> None:
    with CompanyProxy(routes(road.api, NAME), road.ca) as other:
        road.settings(
            road.folder / "home" / ".claude" / "settings.json",
            https_proxy=other.url,
            HTTPS_PROXY=other.url,
            NODE_EXTRA_CA_CERTS=str(road.ca.file),
        )
        ran = road.run(
            ANTHROPIC_BASE_URL=f"https://{NAME}{PREFIX}", NODE_EXTRA_CA_CERTS="/missing.pem"
        )
        calls = road.check(ran)
    assert {call.host for call in calls} == {NAME}
    assert f"CONNECT {NAME}:443" in other.seen
    assert (road.company.seen, road.company.refused) == ([], [])


@pytest.mark.parametrize("road", VERSIONS[-1:], indirect=True)
def test_a_proxy_that_is_stopped_is_named_and_the_exit_code_is_the_clients(road: Road) -> None:
    with socket.socket() as taken:  # bound, but nothing listens
        taken.bind(("127.0.0.1", 0))
        name = f"127.0.0.1:{taken.getsockname()[1]}"
        url = f"http://{name}"
        ran = road.run(HTTPS_PROXY=url, HTTP_PROXY=url, CLAUDE_CODE_MAX_RETRIES="1")
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["is_error"] is True
    assert f"calls failed: upstream proxy {name} refused the connection\n" in ran.stderr
    assert "nothing was captured" not in ran.stderr


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_the_client_sends_where_its_settings_predict(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    for found in measure(client_or_skip(version), tmp_path):
        monkeypatch.setenv("HOME", str(found.home))
        arguments = ["--settings", found.settings] if found.settings else []
        levels = read_settings_env(found.home / ".claude", found.project, arguments)
        predicted = find_road(found.environment, levels)
        assert (predicted.source,) == tuple(f"{BASE_URL} in {level}" for level in found.called)
        order += found.called
    assert order == list(LEVELS)
