"""Where a reverse proxy sends, and the base URL that the program gets for it."""

import pytest

from addon.launch.base_url import find_detour, reverse_servers
from addon.launch.road import find_road


@pytest.mark.parametrize(
    ("environment", "server", "variables"),
    [
        ({}, "https://api.anthropic.com", {"ANTHROPIC_BASE_URL": "http://127.0.0.1:42"}),
        (
            {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9000/llm/"},
            "http://127.0.0.1:9000",
            {"ANTHROPIC_BASE_URL": "http://127.0.0.1:42/llm"},
        ),
        (
            {"CLAUDE_CODE_USE_VERTEX": "1", "CLOUD_ML_REGION": "us-east5"},
            "https://us-east5-aiplatform.googleapis.com",
            {"ANTHROPIC_VERTEX_BASE_URL": "http://127.0.0.1:42/v1"},
        ),
        (
            {"CLAUDE_CODE_USE_FOUNDRY": "1", "ANTHROPIC_FOUNDRY_RESOURCE": "mine"},
            "https://mine.services.ai.azure.com",
            {"ANTHROPIC_FOUNDRY_BASE_URL": "http://127.0.0.1:42/anthropic"},
        ),
        (
            {"CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_BEDROCK_BASE_URL": "https://gw.example"},
            "https://gw.example",
            {"ANTHROPIC_BEDROCK_BASE_URL": "http://127.0.0.1:42"},
        ),
    ],
)
def test_the_base_url_on_loopback_has_the_path_of_the_clients_own(
    environment: dict[str, str], server: str, variables: dict[str, str]
) -> None:
    detour = find_detour(find_road(environment))
    assert (detour.server, detour.variables(42)) == (server, variables)


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-west-1"}, "AWS signs requests for"),
        ({"CLAUDE_CODE_USE_VERTEX": "1"}, "it needs one host"),
        (
            {
                "CLAUDE_CODE_USE_VERTEX": "1",
                "CLOUD_ML_REGION": "us-east5",
                "VERTEX_REGION_CLAUDE_HAIKU_4_5": "europe-west1",
            },
            "it needs one host",
        ),
        ({"ANTHROPIC_BASE_URL": "gateway"}, "is not a base URL"),
    ],
)
def test_a_road_that_a_base_url_cannot_replace_is_refused(
    environment: dict[str, str], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        find_detour(find_road(environment))


def test_the_servers_behind_mitmproxys_reverse_ports() -> None:
    modes = ["regular", "reverse:https://api.example@127.0.0.1:42", "reverse:http://h:1@7"]
    found = reverse_servers([*modes, "upstream:http://proxy:80"])
    assert {port: server.geturl() for port, server in found.items()} == {
        42: "https://api.example",
        7: "http://h:1",
    }
