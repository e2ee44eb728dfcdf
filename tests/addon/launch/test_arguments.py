import pytest

from addon.launch.arguments import (
    client_in,
    may_use_service,
    merged_settings,
    starts_session,
    takes_settings,
    user_settings,
)


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


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["Explain this project."],
        ["explain this"],
        ["Stop"],
        ["warum?"],
        ["für"],
        ["./notes.md"],
        ["-p", "stop"],
        ["-p"],
        ["-c"],
        ["--resume", "abc"],
        ["--resume=abc"],
        ["--model", "opus", "stop", "0a1b2c3d"],  # the client decides what `stop` is, as without us
        ["--allowedTools", "Bash", "Read", "--", "mcp"],
        ["--an-option-of-next-year", "-p", "hello"],
        ["--settings", "own.json"],
    ],
)
def test_a_line_that_starts_a_session_takes_settings(line: list[str]) -> None:
    assert starts_session(line)


@pytest.mark.parametrize(
    "line",
    [
        ["stop", "0a1b2c3d"],
        ["attach", "0a1b2c3d"],
        ["mcp", "list"],
        ["auto-mode", "defaults"],
        ["remote-control"],
        ["ultrareview"],
        ["a-command-of-next-year", "-p", "--model", "opus"],
        ["hello"],  # a prompt, or a command of next year
        ["--update"],
        ["--version"],
        ["-v"],
        ["--help"],
        ["--claude-in-chrome-mcp"],
        ["--an-option-of-next-year"],
        ["--", "-p"],
        ["--bg", "Explain this project."],
        ["-p", "Explain this project.", "--background"],
    ],
)
def test_any_other_line_is_left_alone(line: list[str]) -> None:
    assert not starts_session(line)


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


@pytest.mark.parametrize(
    ("arguments", "may"),
    [
        (["--bg", "Do it."], True),
        (["-p", "Do it.", "--background"], True),
        (["attach", "0a1b2c3d"], True),
        (["stop", "0a1b2c3d"], False),
        (["logs", "attach"], False),
        ([], False),
    ],
)
def test_what_may_let_a_service_work(arguments: list[str], may: bool) -> None:
    assert may_use_service(arguments) is may
