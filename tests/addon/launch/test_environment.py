"""The child's environment: the proxy, the certificate, and our hooks after the user's."""

import pytest

from addon.launch.arguments import client_in, merged_settings, takes_settings, user_settings
from addon.launch.environment import excludes, proxied_environment
from ccwire.wire.versions import announced_version

HOSTS = ("api.anthropic.com",)


def test_the_proxy_is_set_and_loopback_goes_around_it() -> None:
    child = proxied_environment({"PATH": "/bin"}, 4242, "/ca.pem", HOSTS)
    assert child["HTTPS_PROXY"] == child["https_proxy"] == "http://127.0.0.1:4242"
    assert child["HTTP_PROXY"] == child["http_proxy"] == "http://127.0.0.1:4242"
    assert child["NO_PROXY"] == "localhost,127.0.0.1,::1"
    assert (child["NODE_EXTRA_CA_CERTS"], child["PATH"]) == ("/ca.pem", "/bin")


def test_the_users_no_proxy_is_kept_and_extended() -> None:
    child = proxied_environment({"NO_PROXY": "intra.example, localhost"}, 1, "/ca", HOSTS)
    assert child["NO_PROXY"] == "intra.example,localhost,127.0.0.1,::1"


def test_what_would_let_the_api_go_around_the_proxy_is_left_out() -> None:
    child = proxied_environment({"no_proxy": "*,.anthropic.com,other.example"}, 1, "/ca", HOSTS)
    assert child["no_proxy"] == "other.example,localhost,127.0.0.1,::1"


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("*", True),
        ("anthropic.com", True),
        (".anthropic.com", True),
        ("*.anthropic.com", True),
        ("api.anthropic.com:443", True),
        ("hropic.com", False),
        ("example.com", False),
        ("127.0.0.1", False),
    ],
)
def test_which_items_of_no_proxy_name_the_api(item: str, expected: bool) -> None:
    assert excludes(item, HOSTS) is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["/usr/bin/claude", "-p", "x"], 1),
        (["claude"], 1),
        (["node", "/x/cli.js", "-p"], 2),
        (["npx", "@anthropic-ai/claude-code"], None),
        (["./start.sh"], None),
        (["node", "server.js"], None),
    ],
)
def test_only_the_client_itself_gets_a_flag(command: list[str], expected: int | None) -> None:
    assert client_in(command) == expected


def test_a_version_is_parsed_from_the_client_s_output() -> None:
    assert announced_version("2.1.325 (Claude Code)\n") == (2, 1, 325)
    assert announced_version("v20.20.2") is None


def test_old_clients_and_subcommands_take_no_settings() -> None:
    assert takes_settings((1, 0, 61), ["-p", "hello"])
    assert not takes_settings((1, 0, 60), ["-p", "hello"])
    assert not takes_settings((2, 1, 0), ["mcp", "list"])
    assert not takes_settings(None, [])


def test_the_users_settings_are_taken_out_of_the_arguments() -> None:
    given = user_settings(["-p", "x", "--settings", "a.json", "--model", "m", "--settings=b.json"])
    assert (given.value, given.arguments) == ("b.json", ["-p", "x", "--model", "m"])
    after = user_settings(["--", "--settings", "text"])
    assert (after.value, after.arguments) == (None, ["--", "--settings", "text"])


def test_our_hooks_come_after_the_users_own() -> None:
    own = {"model": "m", "hooks": {"Stop": [{"hooks": ["theirs"]}]}}
    merged = merged_settings(own, {"Stop": ["ours"], "SessionStart": ["ours"]})
    assert merged == {
        "model": "m",
        "hooks": {"Stop": [{"hooks": ["theirs"]}, "ours"], "SessionStart": ["ours"]},
    }
    assert own["hooks"] == {"Stop": [{"hooks": ["theirs"]}]}
