"""The road: which provider and host, and which setting decided it."""

import pytest

from addon.launch.road import Road, SettingsEnv, describe_road, find_road

PROJECT = ".claude/settings.json"


def road(**environment: str) -> Road:
    return find_road(environment)


def test_without_any_variable_the_road_is_the_api() -> None:
    assert road(PATH="/bin") == Road("anthropic", ("api.anthropic.com",))


@pytest.mark.parametrize(
    ("url", "provider", "host"),
    [
        ("https://gateway.corp.test/some/prefix", "gateway", "gateway.corp.test"),
        ("http://Gateway.Corp.Test:8080", "gateway", "gateway.corp.test"),
        (" http://127.0.0.1:4000/v1/ ", "gateway", "127.0.0.1:4000"),
        ("http://localhost", "gateway", "localhost:80"),
        ("https://[::1]:4000", "gateway", "[::1]:4000"),
        ("https://api.anthropic.com", "anthropic", "api.anthropic.com"),
        # As release 2.1.325 sends them, measured through a proxy.
        ("http://127.1:4000", "gateway", "127.0.0.1:4000"),
        ("http://2130706433:4000", "gateway", "127.0.0.1:4000"),
        ("http://0x7f.1:4000", "gateway", "127.0.0.1:4000"),
        ("http://127.0.0.1.:4000", "gateway", "127.0.0.1:4000"),
        ("http:/127.0.0.1:4000", "gateway", "127.0.0.1:4000"),
        ("HTTP:127.0.0.1:4000", "gateway", "127.0.0.1:4000"),
        ("http:\\\\127.0.0.1:4000", "gateway", "127.0.0.1:4000"),
        ("https://B\u00dcCHER.example", "gateway", "xn--bcher-kva.example"),
        ("https://gw.example.", "gateway", "gw.example."),
        ("https://gw%2eexample", "gateway", "gw.example"),
    ],
)
def test_a_base_url_is_captured_by_host_and_on_loopback_by_port(
    url: str, provider: str, host: str
) -> None:
    found = road(ANTHROPIC_BASE_URL=url)
    assert (found.provider, found.hosts) == (provider, (host,))
    assert found.source == "ANTHROPIC_BASE_URL in the environment"


def test_the_base_url_is_the_one_that_the_client_uses() -> None:
    assert road(ANTHROPIC_BASE_URL="http:/127.1:4000/a").base_url == "http://127.0.0.1:4000/a"
    assert road(ANTHROPIC_BASE_URL=" https://gw.test/A ").base_url == "https://gw.test/A"


def test_settings_override_the_environment_and_later_settings_earlier_ones() -> None:
    levels = [
        SettingsEnv("~/.claude/settings.json", {"ANTHROPIC_BASE_URL": "https://user.test"}),
        SettingsEnv(PROJECT, {"ANTHROPIC_BASE_URL": "https://project.test"}),
    ]
    found = find_road({"ANTHROPIC_BASE_URL": "https://env.test"}, levels)
    assert found.base_url == "https://project.test"
    assert found.source == f"ANTHROPIC_BASE_URL in {PROJECT}"
    # Before the settings are applied, the client sends to the other ones.
    assert found.hosts == ("project.test", "env.test", "user.test")


def test_an_empty_value_in_a_stronger_level_removes_the_variable() -> None:
    levels = [SettingsEnv(PROJECT, {"ANTHROPIC_BASE_URL": ""})]
    assert find_road({"ANTHROPIC_BASE_URL": "https://env.test"}, levels).provider == "anthropic"


def test_a_file_that_the_client_ignores_does_not_decide_but_is_captured() -> None:
    levels = [SettingsEnv(PROJECT, {"ANTHROPIC_BASE_URL": "https://project.test"}, ignored=True)]
    found = find_road({"ANTHROPIC_BASE_URL": "https://env.test"}, levels)
    assert (found.base_url, found.hosts) == ("https://env.test", ("env.test", "project.test"))


@pytest.mark.parametrize("value", ["1", "true", "True", "yes", "on", " 1 "])
def test_a_provider_is_selected_by_a_true_value(value: str) -> None:
    assert road(CLAUDE_CODE_USE_BEDROCK=value).provider == "bedrock"


@pytest.mark.parametrize("value", ["0", "false", "no", "", "2"])
def test_any_other_value_selects_no_provider(value: str) -> None:
    assert road(CLAUDE_CODE_USE_BEDROCK=value).provider == "anthropic"


@pytest.mark.parametrize(
    ("environment", "provider", "hosts"),
    [
        (
            {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-west-3"},
            "bedrock",
            ("bedrock-runtime.eu-west-3.amazonaws.com", "bedrock.eu-west-3.amazonaws.com"),
        ),
        (
            {
                "CLAUDE_CODE_USE_BEDROCK": "1",
                "AWS_DEFAULT_REGION": "us-west-2",
                "ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION": "us-east-1",
            },
            "bedrock",
            (
                "bedrock-runtime.us-west-2.amazonaws.com",
                "bedrock-runtime.us-east-1.amazonaws.com",
                "bedrock.us-west-2.amazonaws.com",
            ),
        ),
        (
            {"CLAUDE_CODE_USE_BEDROCK": "1"},  # the region is in a file of the AWS tools
            "bedrock",
            ("bedrock-runtime.*.amazonaws.com", "bedrock.*.amazonaws.com"),
        ),
        (
            {
                "CLAUDE_CODE_USE_VERTEX": "1",
                "CLOUD_ML_REGION": "global",
                "VERTEX_REGION_CLAUDE_HAIKU_4_5": "us-east5",
            },
            "vertex",
            ("aiplatform.googleapis.com", "us-east5-aiplatform.googleapis.com"),
        ),
        (
            {"CLAUDE_CODE_USE_VERTEX": "1", "CLOUD_ML_REGION": "eu"},
            "vertex",
            ("aiplatform.eu.rep.googleapis.com",),
        ),
        (
            {"CLAUDE_CODE_USE_FOUNDRY": "1", "ANTHROPIC_FOUNDRY_RESOURCE": "ours"},
            "foundry",
            ("ours.services.ai.azure.com",),
        ),
        (
            {
                "CLAUDE_CODE_USE_FOUNDRY": "1",
                "ANTHROPIC_FOUNDRY_BASE_URL": "http://127.0.0.1:9/anthropic",
            },
            "foundry",
            ("127.0.0.1:9",),
        ),
        (
            {"CLAUDE_CODE_USE_ANTHROPIC_AWS": "1", "AWS_REGION": "us-east-1"},
            "anthropic",
            ("aws-external-anthropic.us-east-1.api.aws",),
        ),
        ({"CLAUDE_CODE_USE_MANTLE": "1"}, "bedrock", ("bedrock-mantle.*.api.aws",)),
        (
            {"CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD": "1"},
            "anthropic",
            ("claude.googleapis.com",),
        ),
    ],
)
def test_each_provider_has_its_hosts(
    environment: dict[str, str], provider: str, hosts: tuple[str, ...]
) -> None:
    found = find_road(environment)
    assert (found.provider, found.hosts) == (provider, hosts)


def test_of_several_providers_the_client_takes_the_first_of_its_list() -> None:
    names = ("BEDROCK", "FOUNDRY", "ANTHROPIC_AWS", "ANTHROPIC_GOOGLE_CLOUD", "MANTLE", "VERTEX")
    flags = [f"CLAUDE_CODE_USE_{name}" for name in names]
    for position, flag in enumerate(flags):
        found = find_road({**dict.fromkeys(flags[position:], "1"), "ANTHROPIC_BASE_URL": "x"})
        assert found.source == f"{flag} in the environment"


def test_the_road_is_described_without_the_path_which_may_be_a_key() -> None:
    url = "https://user:password@gateway.corp.test/secret-key"
    found = find_road({}, [SettingsEnv(PROJECT, {"ANTHROPIC_BASE_URL": url})])
    assert describe_road(found) == (
        f"capturing gateway.corp.test (ANTHROPIC_BASE_URL in {PROJECT})"
    )
    assert describe_road(found, ["*.x.test"]).endswith(" and *.x.test (--host)")
    assert describe_road(road()) == "capturing api.anthropic.com"


def test_a_base_url_without_a_scheme_is_named() -> None:
    found = road(ANTHROPIC_BASE_URL="gateway.corp.test:8080/secret-key")
    assert found.hosts == ()
    assert describe_road(found) == (
        "ANTHROPIC_BASE_URL in the environment is not a base URL such as https://gateway.example"
    )


@pytest.mark.parametrize(
    "url",
    [
        "https://*",
        "https://a.test,*",
        "https://%2a",
        "https://x%2fa",
        "https://a..\u00fc",
        "https://a\x1b[31m.test",
    ],
)
def test_a_base_url_cannot_widen_what_is_captured(url: str) -> None:
    assert road(ANTHROPIC_BASE_URL=url).hosts == ()


def test_a_region_cannot_widen_what_is_captured() -> None:
    found = road(CLAUDE_CODE_USE_BEDROCK="1", AWS_REGION="x,*")
    assert found.hosts == ("bedrock-runtime.*.amazonaws.com", "bedrock.*.amazonaws.com")
