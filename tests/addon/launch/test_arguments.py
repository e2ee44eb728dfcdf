import pytest

from addon.launch.arguments import client_in, merged_settings, takes_settings, user_settings


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["/usr/bin/claude", "-p", "x"], 1),
        (["claude"], 1),
        (["node", "/x/cli.js", "-p"], 2),
        (["node", "/x/cli.mjs"], 2),
        (["npx", "@anthropic-ai/claude-code"], None),
        (["./start.sh"], None),
        (["node", "server.js"], None),
    ],
)
def test_only_the_client_itself_gets_a_flag(command: list[str], expected: int | None) -> None:
    assert client_in(command) == expected


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
