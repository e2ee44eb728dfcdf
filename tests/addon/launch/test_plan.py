"""The plan of a run: what is captured, what is printed, and what cannot be planned."""

from pathlib import Path
from typing import Any

import pytest

from addon.launch.plan import Plan, PlanError, plan_run
from ccwire.wire.hosts import DEFAULT_HOSTS


def plan(
    folder: Path, environment: dict[str, str], command: str = "claude", **options: Any
) -> Plan:
    return plan_run(environment, folder / "claude", folder / "project", [command], **options)


def test_the_default_hosts_are_captured_and_those_that_are_named(tmp_path: Path) -> None:
    environment = {"ANTHROPIC_BASE_URL": "https://gateway.test/prefix"}
    found = plan(tmp_path, environment, more_hosts=["*.More.test", "api.anthropic.com"])
    assert found.hosts == (*DEFAULT_HOSTS, "gateway.test", "*.more.test")
    assert [*found.lines()] == [
        "capturing gateway.test (ANTHROPIC_BASE_URL in the environment)"
        " and *.more.test, api.anthropic.com (--host)"
    ]


def test_a_company_proxy_is_announced_without_its_password(tmp_path: Path) -> None:
    environment = {"HTTPS_PROXY": "http://me:secret@proxy.test:3128"}
    assert [*plan(tmp_path, environment).lines()] == [
        "capturing api.anthropic.com",
        "connecting through the proxy proxy.test:3128",
    ]
    assert plan(tmp_path, environment, upstream="http://127.0.0.1:1").company is None


def test_a_base_url_leads_to_the_server_of_the_road(tmp_path: Path) -> None:
    environment = {"ANTHROPIC_BASE_URL": "https://gateway.test/prefix"}
    found = plan(tmp_path, environment, with_base_url=True)
    assert found.detour is not None
    assert (found.detour.server, found.detour.path) == ("https://gateway.test", "/prefix")


def test_a_base_url_in_the_clients_settings_is_not_that_of_another_program(tmp_path: Path) -> None:
    settings = tmp_path / "claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"env": {"ANTHROPIC_BASE_URL": "https://gateway.test"}}')

    def server(command: str) -> str:
        detour = plan(tmp_path, {}, command, with_base_url=True).detour
        assert detour is not None
        return detour.server

    assert server("claude") == "https://gateway.test"
    assert server("python") == "https://api.anthropic.com"
    assert "gateway.test" in plan(tmp_path, {}, "python").hosts


@pytest.mark.parametrize(
    ("environment", "options", "problem"),
    [
        ({}, {"upstream": "localhost"}, "--upstream: 'localhost' is not a base URL"),
        ({}, {"more_hosts": ["https://x.test"]}, "--host 'https://x.test': expected a host"),
        ({"HTTPS_PROXY": "socks5://127.0.0.1:1"}, {}, "HTTPS_PROXY names a SOCKS proxy"),
        ({"ANTHROPIC_BASE_URL": "x.test"}, {"with_base_url": True}, "--via base-url: "),
    ],
)
def test_what_cannot_be_planned_is_one_sentence(
    tmp_path: Path, environment: dict[str, str], options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(PlanError, match="^" + problem.replace(".", r"\.")):
        plan(tmp_path, environment, **options)
