"""`ccwire show --answer` against what real clients print: print mode and the screen."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ccwire.cli import main
from ccwire.demo.real.run import run_once
from ccwire.demo.stand_in.scenario import (
    Answer,
    Rule,
    Scenario,
    Text,
    Thinking,
    ToolUse,
    When,
)
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.scripted import prompted, says
from ccwire.wire.usage import Tokens
from tests.e2e.real_rig import VERSIONS, RealRig, numbers, real_rig
from tests.rig import until

pytestmark = pytest.mark.real

TWO_TEXTS = Scenario(
    name="two-texts",
    prompt="lab:two-texts Go ahead.",
    rules=(
        Rule(
            When(says="lab:two-texts", tools=True),
            (Answer((Text("The first text.\n"), Text("The second,\n\nlast text.  "))),),
        ),
    ),
)
LINE_END = prompted("line-end", (says("\n A line that ends.\n\n"),))
NO_TEXT = prompted("no-text", (Answer((Text("Before."), Thinking("No more words."))),))
SCENARIOS = (
    TWO_TEXTS,
    LINE_END,
    NO_TEXT,
    named("bash"),
    named("thinking"),
    named("server_tool"),
    named("too_long"),
    named("three_subagents"),
)


BACKGROUND = Scenario(
    name="background",
    prompt="lab:background Go ahead.",
    rules=(
        Rule(
            When(says="lab:background", tools=True),
            (
                Answer(
                    (
                        ToolUse(
                            ("Bash",),
                            {
                                "command": "sleep 1",
                                "description": "Wait",
                                "run_in_background": True,
                            },
                        ),
                    )
                ),
            ),
        ),
        Rule(When(says="task-notification"), (says("The task has ended."),)),
        Rule(When(after_tool=True), (says("The task is under way."),)),
    ),
    tools=("Bash",),
)


def sessions_of(real: RealRig) -> set[str]:
    projects = (real.claude_dir / "projects").rglob("*.jsonl")
    return {path.stem for path in projects if not path.stem.startswith("agent-")}


def answer(real: RealRig, session_id: str, *more: str) -> str:
    where = ["--captures", str(real.proxy.captures), "--claude-dir", str(real.claude_dir)]
    home = {"CCWIRE_SESSIONS": str(real.home.parent / "sessions.json")}
    ran = CliRunner(env=home).invoke(main, ["show", session_id, "--answer", *more, *where])
    assert ran.exit_code == 0, (ran.output, ran.exception)
    return ran.stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_the_answer_is_what_print_mode_printed(version: str, tmp_path: Path) -> None:
    with real_rig(version, tmp_path) as real:
        # Older clients do not wait for a background task.
        background = [BACKGROUND] if numbers(version) >= (2, 1, 168) else []
        for scenario in (*SCENARIOS, *background):
            real.api.scenario = scenario
            before = sessions_of(real)
            run = run_once(
                real.client,
                scenario.prompt,
                home=real.home,
                cwd=real.cwd,
                proxy_port=real.proxy.port,
                ca_cert=real.proxy.ca_cert,
                settings=real.hooks,
                tools=scenario.tools,
                output_format=None,
            )
            (session,) = sessions_of(real) - before
            assert answer(real, session) == run.stdout, scenario.name
            told = json.loads(answer(real, session, "--json"))
            assert told["session_id"] == session
            assert told["text"].rstrip("\n") == run.stdout.rstrip("\n")
            assert told["is_final"], told["doubt"]
            assert told["is_error"] == (run.returncode != 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_json_is_that_of_the_printed_result(version: str, tmp_path: Path) -> None:
    with real_rig(version, tmp_path) as real:
        outcome = real.run(named("bash"))
        real.wait_for(outcome.served)
        result = outcome.run.result_json
        assert result is not None
        told = json.loads(answer(real, outcome.session_id, "--json"))
        assert (told["text"], told["turns"], told["finality"]) == (result["result"], 1, "exact")
        billed = sum((Tokens.of(call.usage) for call in outcome.served), Tokens())
        assert Tokens.of(told["usage"]) == billed
        # The dollars of 2.1.39 for its Sonnet calls differ from the list price of the same tokens.
        if version != "2.1.39":
            assert told["cost_usd"] == pytest.approx(result["total_cost_usd"], abs=1e-12)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_answer_is_what_the_screen_shows(version: str, tmp_path: Path) -> None:
    plain = named("plain")
    with real_rig(version, tmp_path) as real:
        real.api.scenario = plain
        with real.screen() as screen:
            screen.ready()
            screen.submit(plain.prompt)
            screen.expect("A plain answer from the lab.")
            until(lambda: len(sessions_of(real)) == 1, 20)
            (session,) = sessions_of(real)
            # The client still runs: the transcript may lag behind the screen.
            assert answer(real, session) == "A plain answer from the lab.\n"
            real.api.scenario = TWO_TEXTS
            screen.submit(TWO_TEXTS.prompt)
            screen.expect("last text.")
            assert answer(real, session) == "The second,\n\nlast text.  \n"
            assert answer(real, session, "--turn", "1") == "A plain answer from the lab.\n"
            screen.leave()
        assert answer(real, session) == "The second,\n\nlast text.  \n"
