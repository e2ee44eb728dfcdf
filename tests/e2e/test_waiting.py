"""Calls of a process without a session are pending until it has one, then filed with it."""

import json
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from ccwire.cli import main
from ccwire.demo.client.simulated import SimulatedClient
from ccwire.demo.stand_in.scenarios import named
from tests.rig import Rig, new_session, rig, until


def unknown(wire: Rig) -> list[dict[str, object]]:
    path = wire.captures / "unknown" / "exchanges.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_calls_before_the_session_are_filed_with_it(tmp_path: Path) -> None:
    with rig(tmp_path, named("plain")) as wire:
        session = new_session()
        wire.post(b"{}", "/api/claude_code/settings")
        telemetry = json.dumps({"session_id": new_session()}).encode()
        wire.post(telemetry, "/api/eval/sdk")  # a session that never starts
        until(lambda: len(unknown(wire)) == 2)
        wire.ask(named("plain"), session)
        lines = wire.exchanges(session, 3)
        assert unknown(wire) == []
        assert {line["kind"]: line["identified_by"] for line in lines} == {
            "settings": "process",
            "eval": "process",
            "messages": "user_id",
        }
        for line in lines:
            request = wire.request(session, line["sequence"])
            response = wire.response(session, line["sequence"])
            assert request["session_id"] == response["session_id"] == session
            assert request["sequence"] == line["sequence"]
        manifest = json.loads((wire.captures / "unknown" / "manifest.json").read_text())
        assert manifest["counts"].get("exchanges", 0) == 0
        assert not list((wire.captures / "unknown").glob("[0-9]*"))


def test_telemetry_alone_identifies_the_session(tmp_path: Path) -> None:
    session = new_session()
    with rig(tmp_path, named("plain")) as wire:
        wire.post(json.dumps({"sessionId": session}).encode(), "/api/eval/sdk")
        wire.post(b"{}", "/api/claude_code/settings")
        until(lambda: len(unknown(wire)) == 2)
    lines = wire.exchanges(session, 2)
    assert [line["identified_by"] for line in lines] == ["telemetry", "telemetry"]
    assert unknown(wire) == []


def test_a_simulated_client_of_every_profile_leaves_nothing_unknown(tmp_path: Path) -> None:
    scenario = named("bash")
    with rig(tmp_path, scenario) as wire:
        for version in ("1.0.100", "2.0.73", "2.1.39", "2.1.325"):
            cwd = tmp_path / version
            cwd.mkdir()
            client = SimulatedClient(
                version,
                home=tmp_path / "home",
                cwd=cwd,
                proxy_port=wire.proxy.port,
                ca_cert=wire.proxy.ca_cert,
            )
            result = client.run(scenario.prompt)
            wire.exchanges(result["session_id"], 2)
    assert unknown(wire) == []


@pytest.mark.parametrize("ending", ["stopped", "killed"])
def test_what_waits_when_the_proxy_ends_is_filed_by_the_next_one(
    tmp_path: Path, ending: str
) -> None:
    session = new_session()
    with rig(tmp_path, named("plain")) as wire:
        wire.post(b"{}", "/api/claude_code/settings")
        until(lambda: len(unknown(wire)) == 1)
        if ending == "killed":
            for writer in psutil.Process(wire.proxy.pid).children():
                writer.kill()
            wire.proxy.kill()
    assert len(unknown(wire)) == 1
    me = psutil.Process()
    metadata = {"claude_pid": me.pid, "process_created_at": me.create_time()}
    entry = {"session_id": session, "state": "active", "metadata": metadata}
    (tmp_path / "sessions.json").write_text(json.dumps({"version": 1, "sessions": [entry]}))
    with rig(tmp_path, named("plain")) as wire:
        (line,) = wire.exchanges(session, 1)
        assert (line["kind"], line["identified_by"]) == ("settings", "process")
        assert wire.request(session, 1)["session_id"] == session
        assert unknown(wire) == []


def test_a_program_without_a_session_is_filed_under_its_run(tmp_path: Path) -> None:
    run = "run-20261116-174133-1f3a"
    with rig(tmp_path, named("plain"), run=run) as wire:
        wire.post(b"{}", "/api/hello")
        body = json.dumps({"model": "claude-sonnet-4-5", "stream": True, "messages": []})
        wire.post(body.encode())
        lines = wire.exchanges(run, 2)
        assert [line["identified_by"] for line in lines] == ["run", "run"]
        assert unknown(wire) == []
    places = ["--captures", str(wire.captures), "--claude-dir", str(tmp_path / "claude")]
    shown = CliRunner().invoke(main, ["reconcile", run, "--json", *places])
    assert shown.exit_code == 0, shown.output
    (call,) = json.loads(shown.stdout)["calls"]
    assert (call["verdict"], call["kind"], call["explained"]) == (
        "wire-only",
        "no-transcript",
        True,
    )
    text = CliRunner().invoke(main, ["reconcile", run, *places]).stdout
    assert "A program without a session has no transcript" in text
    for command in (["sessions"], ["diff", run], ["report", run, "-o", str(tmp_path / "r.html")]):
        result = CliRunner().invoke(main, [*command, *places])
        assert result.exit_code == 0, (command, result.output)
    assert "run-1f3a" in CliRunner().invoke(main, ["sessions", *places]).stdout
