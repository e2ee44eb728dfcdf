"""The real client in a company: `ccwire run` behind a proxy with a password that inspects TLS."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from addon.launch.proxy import Proxy
from ccwire.demo.real.npm import InstalledClient
from ccwire.demo.real.run import MADE_UP_KEY, RealRun, lab_home, parse_result, run_command
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.server import StandIn
from tests.company import ENCODED, SECRETS, USER, CompanyCA, CompanyProxy
from tests.e2e.company_rig import free_port, no_secret_is_in
from tests.e2e.real_rig import NEWEST, RealRig, client_or_skip

HOSTS = ("api.anthropic.com:443", "statsig.anthropic.com:443")


def run(
    client: InstalledClient, folder: Path, prompt: str, variables: Mapping[str, str], *tools: str
) -> RealRun:
    """Run `ccwire run claude -p`; its environment holds these variables and a made-up key."""
    cwd = folder / "project"
    cwd.mkdir()
    command = [sys.executable, "-m", "ccwire", "run", "--captures", str(folder / "captures"), "--"]
    command += [*client.command, "-p", prompt, "--output-format", "json"]
    if tools:
        command += ["--allowedTools", ",".join(tools)]
    environment = {
        "HOME": str(lab_home(folder / "home", cwd)),
        "PATH": "/usr/bin:/bin",
        "TERM": "dumb",
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "ANTHROPIC_API_KEY": MADE_UP_KEY,
        "DISABLE_AUTOUPDATER": "1",
        "CCWIRE_SESSIONS": str(folder / "sessions.json"),
        **variables,
    }
    code, stdout, stderr = run_command(command, environment, cwd, 150)
    return RealRun(code, stdout, stderr, parse_result(stdout))


@pytest.mark.real
@pytest.mark.parametrize("version", ["2.0.73", "2.1.168", NEWEST])
def test_every_call_passes_the_proxy_and_is_accounted_for(version: str, tmp_path: Path) -> None:
    client = client_or_skip(version)
    scenario = named("bash")
    ca = CompanyCA(tmp_path / "ca")
    with (
        StandIn(scenario) as api,
        CompanyProxy(dict.fromkeys(HOSTS, api.port), ca) as company,
    ):
        given = {"HTTPS_PROXY": company.url, "NODE_EXTRA_CA_CERTS": str(ca.file)}
        ran = run(client, tmp_path, scenario.prompt, given, *scenario.tools)
        api.ledger.wait()
        served = api.ledger.messages()
        assert ran.returncode == 0, (ran.stdout, ran.stderr)
        assert ran.session_id is not None
        assert f"connecting through the proxy {company.name}" in ran.stderr
        assert len(served) >= 2 and company.seen.count(f"CONNECT {HOSTS[0]}") >= 1
        assert [line for line in company.refused if " 407" in line] == []
        captures = Proxy(tmp_path / "captures", log=tmp_path / "log")
        home = tmp_path / "home"
        rig = RealRig(client, api, captures, home, tmp_path / "project", None)
        rig.check(ran.session_id, served)
    assert [secret for secret in SECRETS if secret in ran.stdout + ran.stderr] == []
    no_secret_is_in(tmp_path)


@pytest.mark.real
def test_a_stopped_proxy_is_one_sentence_and_the_clients_own_exit_code(tmp_path: Path) -> None:
    client = client_or_skip(NEWEST)
    port = free_port()
    given = {
        "HTTPS_PROXY": f"http://{USER}:{ENCODED}@127.0.0.1:{port}",
        "CLAUDE_CODE_MAX_RETRIES": "1",
    }
    ran = run(client, tmp_path, "hello", given)
    assert ran.returncode == 1, (ran.stdout, ran.stderr)
    assert ran.result_json is not None and ran.result_json["is_error"] is True
    (why,) = [line for line in ran.stderr.splitlines() if "upstream proxy" in line]
    assert why.endswith(f" failed: upstream proxy 127.0.0.1:{port} refused the connection")
    no_secret_is_in(tmp_path)
