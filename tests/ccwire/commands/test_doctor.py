"""`ccwire doctor`: a tick or a remedy per line, and an exit code."""

import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from addon.storage.registry import REGISTRY, register
from ccwire.cli import main
from ccwire.command_name import command_line

_ROAD = ("ANTHROPIC_BASE_URL", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home and an environment in which every check passes."""
    proxies = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")
    for name in (*proxies, *(proxy.lower() for proxy in proxies), *_ROAD):
        monkeypatch.delenv(name, raising=False)
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho '9.9.9 (Claude Code)'\n")
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("CCWIRE_SESSIONS", str(tmp_path / "sessions.json"))
    monkeypatch.delenv("CCWIRE_HOME")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


def checks(*arguments: str) -> tuple[int, dict[str, list[dict[str, object]]]]:
    result = CliRunner().invoke(main, ["doctor", "--json", *arguments])
    by_name: dict[str, list[dict[str, object]]] = {}
    for check in json.loads(result.stdout)["checks"]:
        by_name.setdefault(check["name"], []).append(check)
    return result.exit_code, by_name


def test_all_is_well_on_a_machine_where_nothing_interferes(alone: Path) -> None:
    code, found = checks("--port", free_port())
    assert [c for group in found.values() for c in group if not c["ok"]] == []
    assert code == 0
    assert "9.9.9" in str(found["client"][0]["found"])
    assert "newer than any known version" in str(found["client"][0]["found"])


def test_the_home_and_what_is_registered_in_it_are_listed(alone: Path) -> None:
    _, found = checks("--port", free_port())
    assert found["home"][0]["found"] == f"{alone}/.ccwire: does not exist yet"
    there = alone / "project" / "captures"
    there.mkdir(parents=True)
    register(there, alone / ".ccwire")
    listed = json.loads((alone / ".ccwire" / REGISTRY).read_text())
    away = {"path": "/no-such-mount/captures", "mount_point": "/no-such-mount", "device": 9}
    gone = {"path": str(alone / "gone"), "mount_point": "/", "device": 9}
    listed["folders"] += [away, gone]
    (alone / ".ccwire" / REGISTRY).write_text(json.dumps(listed))
    code, found = checks("--port", free_port())
    assert [check["found"] for check in found["registered"]] == [
        "/no-such-mount/captures: cannot be reached, or its disk is not mounted",
        f"{there}: 0 B in 0 sessions",
    ]
    assert (code, found["home"][0]["found"]) == (0, f"{alone}/.ccwire")


def test_a_home_that_cannot_be_written_fails_its_check(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (alone / "file").touch()
    monkeypatch.setenv("CCWIRE_HOME", str(alone / "file" / "home"))
    code, found = checks("--port", free_port(), "--captures", str(alone / "captures"))
    assert (code, found["home"][0]["todo"]) == (
        1,
        "make it writable (Not a directory), or set CCWIRE_HOME to another folder",
    )


def test_the_companys_proxy_is_tried(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as company:
        port = company.getsockname()[1]
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:pa%40ss@127.0.0.1:{port}")
        code, found = checks("--port", free_port())
    assert code == 0
    assert [c["found"] for c in found["company proxy"]] == [
        f"127.0.0.1:{port}; `{command_line('run')}` connects through it"
    ]
    code, found = checks("--port", free_port())
    assert code == 1
    (check,) = found["company proxy"]
    assert check["found"] == f"127.0.0.1:{port} cannot be reached (Connection refused)"


def test_a_socks_proxy_is_reported_with_a_remedy(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://me:secret@127.0.0.1:1080")
    code, found = checks("--port", free_port())
    assert code == 1
    (check,) = found["company proxy"]
    assert "SOCKS" in str(check["todo"]) and "unset ALL_PROXY" in str(check["todo"])
    assert "secret" not in str(found)


def test_problems_are_reported_with_a_remedy(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*.anthropic.com")
    (alone / "sessions.json").write_text("{not json")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, found = checks("--port", str(taken.getsockname()[1]))
    assert code == 1
    assert not found["port"][0]["ok"]
    assert not found["sessions map"][0]["ok"]
    assert [check["found"] for check in found["environment"]] == [
        "NO_PROXY in the environment excludes api.anthropic.com"
    ]


def test_the_road_is_reported_and_is_no_problem(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, found = checks("--port", free_port())
    assert found["road"][0]["found"] == "anthropic at api.anthropic.com"
    monkeypatch.setenv("NO_PROXY", "api.anthropic.com")
    settings = alone / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('{"env": {"ANTHROPIC_BASE_URL": "https://gw.test/key"}}')
    code, found = checks("--port", free_port())
    assert (code, found["environment"][0]["found"]) == (0, "no variable interferes")
    assert (
        found["road"][0]["found"]
        == "gateway at gw.test (ANTHROPIC_BASE_URL in .claude/settings.json)"
    )


def test_a_base_url_that_is_none_is_a_problem(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "gw.test")
    code, found = checks("--port", free_port())
    assert code == 1
    assert found["road"][0]["found"] == "ANTHROPIC_BASE_URL in the environment is not a URL"


def test_a_proxy_in_the_settings_is_reported_and_tried(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = alone / ".claude" / "settings.local.json"
    settings.parent.mkdir(exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        name = f"127.0.0.1:{proxy.getsockname()[1]}"
        settings.write_text(json.dumps({"env": {"HTTPS_PROXY": f"http://user:secret@{name}"}}))
        code, found = checks("--port", free_port())
    assert code == 0
    assert str(found["company proxy"][0]["found"]).startswith(f"{name}; ")
    (check,) = found["environment"]
    assert str(check["found"]).startswith(
        "HTTPS_PROXY in .claude/settings.local.json overrides the environment, except in `"
    )
    assert "secret" not in str(found)


def test_variables_that_ccwire_does_not_support_are_named(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_CLIENT_CERT", "/cert.pem")
    code, found = checks("--port", free_port())
    assert code == 1
    (check,) = found["environment"]
    assert check["found"] == "CLAUDE_CODE_CLIENT_CERT is set in the environment"


def test_a_missing_client_is_reported(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    _, found = checks("--port", free_port())
    assert found["client"][0]["found"] == "no `claude` on PATH"


def test_people_get_ticks(alone: Path) -> None:
    result = CliRunner().invoke(main, ["doctor", "--port", free_port()])
    assert result.stdout.count("✓") == len(result.stdout.splitlines())
