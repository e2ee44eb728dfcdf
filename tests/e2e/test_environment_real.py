"""The variables of `ccwire run` for other programs change nothing in what the real client sends."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from addon.launch.child import child_environment
from ccwire.demo.real.run import run_once
from ccwire.demo.stand_in.scenarios import named
from correlate.captures.folder import read_request
from tests.e2e.real_rig import RealRig, real_rig

pytestmark = pytest.mark.real

# Ids, durations, fingerprints of the key, and hashes differ from run to run.
_VARYING = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(msg|req|toolu)_\w+|[0-9a-f]{32,64}"
    r"|<redacted:[^>]*>|Bash=\d+|cch=\w+"
)


@pytest.mark.parametrize("version", ["2.0.73", "2.1.168", "2.1.325"])
def test_the_calls_are_the_same_with_and_without_them(version: str, tmp_path: Path) -> None:
    with real_rig(version, tmp_path) as rig:
        bare = calls(rig, {})
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        more = child_environment(
            {"PATH": "/usr/bin:/bin"},
            ["a-program-that-starts-the-client"],
            port=rig.proxy.port,
            ca_cert=rig.proxy.ca_cert,
            hosts=["api.anthropic.com"],
            scratch=scratch,
        )
        assert {"NODE_OPTIONS", "NODE_USE_ENV_PROXY", "SSL_CERT_FILE"} <= more.keys()
        assert calls(rig, more) == bare


def calls(rig: RealRig, variables: dict[str, str]) -> list[str]:
    """Run one prompt with these variables, and return its calls without what always varies."""
    scenario = named("bash")
    rig.api.scenario = scenario
    before = len(rig.api.ledger.messages())
    run = run_once(
        rig.client,
        scenario.prompt,
        home=rig.home,
        cwd=rig.cwd,
        proxy_port=rig.proxy.port,
        ca_cert=rig.proxy.ca_cert,
        tools=scenario.tools,
        extra_env=variables,
    )
    assert run.returncode == 0, run.stderr
    rig.api.ledger.wait()
    served = rig.api.ledger.messages()[before:]
    rig.wait_for(served)
    wanted = {call.request_id for call in served}
    found = [
        request_of(rig.proxy.captures / name, exchange.sequence)
        for name, exchange in rig.captured()
        if exchange.request_id in wanted
    ]
    assert len(found) == len(served) > 0
    return sorted(_VARYING.sub("…", json.dumps(request, sort_keys=True)) for request in found)


def request_of(folder: Path, sequence: int) -> list[Any]:
    request = read_request(folder, sequence)
    headers = {name.lower(): value for name, value in request["headers"].items()}
    headers.pop("content-length", None)
    return [request["url"], headers, request["body"]["data"]]
