"""Hooks installed in the real client's settings, from the oldest client to the newest."""

import json
from pathlib import Path

import pytest

from addon.claude_settings.hooks_text import hook_command
from addon.claude_settings.install import make_change, plan_install, plan_uninstall
from ccwire.demo.stand_in.scenarios import named
from tests.e2e.real_rig import VERSIONS, real_rig, sessions_in_map

pytestmark = pytest.mark.real


@pytest.mark.parametrize("version", VERSIONS)
def test_installed_hooks_record_a_session_and_leave_other_hooks_running(
    tmp_path: Path, version: str
) -> None:
    with real_rig(version, tmp_path) as real:
        real.hooks = None
        theirs = {"type": "command", "command": f"echo theirs >> {tmp_path / 'theirs'}"}
        settings = real.claude_dir / "settings.json"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [theirs]}]}}))
        before = settings.read_bytes()
        make_change(plan_install(settings, hook_command(tmp_path / "sessions.json")))
        outcome = real.run(named("subagent"))
        real.check(outcome.session_id, outcome.served)
        real.nothing_is_unknown()
        make_change(plan_uninstall(settings))
        assert settings.read_bytes() == before

    [entry] = sessions_in_map(tmp_path)
    assert (entry["session_id"], entry["state"]) == (outcome.session_id, "exited")
    assert (entry["source"], entry["project_dir"]) == ("startup", str(real.cwd))
    assert entry["transcript_path"].endswith(f"/{outcome.session_id}.jsonl")
    assert entry["metadata"]["claude_version"] == version
    assert entry["metadata"]["end_reason"] == "other"
    pids = {exchange.pid for _, exchange in real.captured()}
    assert entry["metadata"]["claude_pid"] in pids
    assert (tmp_path / "theirs").read_text() == "theirs\n"
    assert not (tmp_path / "hook.log").exists()
