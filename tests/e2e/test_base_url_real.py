"""`--via base-url` with the real client, among them releases that obey no proxy."""

import json
from pathlib import Path

import pytest

from ccwire.demo.real.run import MADE_UP_KEY, lab_home
from ccwire.wire.format import Exchange, is_run_id, is_session_id
from tests.e2e.isolated_run import (
    IsolatedRun,
    check_filed_under_the_run,
    check_no_file_has_the_key,
    isolated_run,
)
from tests.e2e.real_rig import NEWEST, client_or_skip

pytestmark = pytest.mark.real


def run_client(version: str, folder: Path) -> IsolatedRun:
    client = client_or_skip(version)
    state = lab_home(folder / "home", folder) / ".claude.json"
    # The oldest releases read the key from here, not from the environment.
    state.write_text(json.dumps({**json.loads(state.read_text()), "primaryApiKey": MADE_UP_KEY}))
    run = isolated_run(folder, *client.command, "-p", "hi", options=("--via", "base-url"))
    assert run.returncode == 0, (run.stdout, run.stderr)
    check_no_file_has_the_key(folder / "captures")
    return run


@pytest.mark.parametrize("version", ["0.2.9", "0.2.36", "0.2.60"])
def test_a_release_that_ignores_the_proxy_is_captured(version: str, tmp_path: Path) -> None:
    """These releases have no session and no transcript, so the call is filed under the run."""
    check_filed_under_the_run(run_client(version, tmp_path), 1)


def test_a_base_url_in_the_users_settings_becomes_the_server_behind_ours(tmp_path: Path) -> None:
    settings = tmp_path / "home" / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    gateway = "https://gateway.example:8443/llm"
    settings.write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": gateway}}))
    run = run_client(NEWEST, tmp_path)
    calls = [(name, e) for name, found in run.captured.items() for e in found if is_call(e)]
    assert {e.request_id for _, e in calls} == run.message_request_ids()
    assert {(e.host, e.path) for _, e in calls} == {("gateway.example", "/llm/v1/messages")}
    assert {e.identified_by for _, e in calls} == {"header"}
    assert all(is_session_id(name) and not is_run_id(name) for name, _ in calls)


def is_call(exchange: Exchange) -> bool:
    return exchange.kind == "messages"
