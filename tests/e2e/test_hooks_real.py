"""Hooks installed in the real client's settings, from the oldest client to the newest."""

import json
from pathlib import Path

import pytest

from addon.claude_settings.hooks_text import hook_command
from addon.claude_settings.install import make_change, plan_install, plan_uninstall
from addon.claude_settings.refused import flaw_of
from addon.launch.client_settings import settings_text
from addon.launch.overlay import with_overlay
from ccwire.demo.stand_in.scenarios import named
from lab.settings_files import FLAWS, measure
from tests.e2e.real_rig import VERSIONS, client_or_skip, numbers, real_rig, sessions_in_map

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


@pytest.mark.parametrize("version", (VERSIONS[0], VERSIONS[-1]))
def test_the_client_ignores_the_files_that_we_say_it_ignores(tmp_path: Path, version: str) -> None:
    flaws = ("none", "comment", "trailing comma", "byte order mark")
    hooks = json.dumps({"hooks": {"SessionStart": []}})
    for found in measure(client_or_skip(version), tmp_path, flaws, ("user",)):
        is_refused = flaw_of(FLAWS[found.flaw](hooks), numbers(version)) is not None
        others = ("project", "local", "overlay")
        assert found.ran == (others if is_refused else ("user", *others)), found


@pytest.mark.parametrize("version", (VERSIONS[0], VERSIONS[-1]))
def test_a_run_brings_its_hooks_if_the_client_ignores_the_installed_ones(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with real_rig(version, tmp_path) as real:
        monkeypatch.setenv("HOME", str(real.home))  # `claude --version` writes to it
        settings = real.claude_dir / "settings.json"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text("{\n  // a comment\n}\n")
        make_change(plan_install(settings, hook_command(tmp_path / "ignored.json")))
        command = with_overlay([*real.client.command], real.claude_dir, real.cwd, tmp_path)
        own = settings_text(command[-1])
        real.hooks = json.loads(
            own.replace("hook.py", f"hook.py --sessions {tmp_path / 'own.json'}")
        )
        outcome = real.run(named("plain"))
    assert not (tmp_path / "ignored.json").exists()
    [entry] = json.loads((tmp_path / "own.json").read_text())["sessions"]
    assert entry["session_id"] == outcome.session_id
