"""The answer that a request gets."""

import json
from typing import Any

import pytest

from ccwire.demo.stand_in import scenarios
from ccwire.demo.stand_in.request import Request
from ccwire.demo.stand_in.scenario import Answer, Rule, Scenario, Text, ToolUse, When, overloaded


def asking(text: str, **body: Any) -> Request:
    content = {"messages": [{"role": "user", "content": text}], **body}
    return Request.read("POST", "/v1/messages", {}, json.dumps(content).encode())


TOOLS = [{"name": "Bash"}, {"name": "Agent"}]


def test_the_first_matching_rule_answers_else_the_fallback() -> None:
    one, two, rest = (Answer((Text(name),)) for name in ("one", "two", "rest"))
    scenario = Scenario(
        name="s",
        prompt="p",
        rules=(Rule(When(says="x", tools=True), (one,)), Rule(When(says="x"), (two,))),
        fallback=rest,
    )
    assert scenario.answer(asking("x", tools=TOOLS), 0) is one
    assert scenario.answer(asking("x"), 0) is two
    assert scenario.answer(asking("y"), 0) is rest


def test_answers_are_per_attempt_and_the_last_one_repeats() -> None:
    fine = Answer((Text("fine"),))
    scenario = Scenario(name="s", prompt="p", rules=(Rule(When(), (overloaded(), fine)),))
    failures = [scenario.answer(asking("x"), attempt).failure for attempt in range(4)]
    assert [failure.status if failure else 200 for failure in failures] == [529, 200, 200, 200]


@pytest.mark.parametrize("name", scenarios.NAMES)
def test_every_named_scenario_answers_its_own_prompt(name: str) -> None:
    scenario = scenarios.named(name)
    answer = scenario.answer(asking(scenario.prompt, tools=TOOLS), 0)
    assert scenario.name == name
    assert answer is not scenario.fallback or answer.content
    called = {name for b in answer.content if isinstance(b, ToolUse) for name in b.names}
    assert called <= set(scenario.tools)


def test_a_side_call_that_quotes_the_prompt_calls_no_tool() -> None:
    scenario = scenarios.named("bash")
    answer = scenario.answer(asking(f"Give it a title: {scenario.prompt}"), 0)
    assert answer is scenario.fallback


def test_a_subagent_is_recognised_by_its_first_message() -> None:
    scenario = scenarios.named("three_subagents")
    delegated = scenario.answer(asking(scenario.prompt, tools=TOOLS), 0).content
    prompts = [block.input["prompt"] for block in delegated if isinstance(block, ToolUse)]
    commands = [scenario.answer(asking(prompt, tools=TOOLS), 0).content[0] for prompt in prompts]
    assert [block.input["command"] for block in commands if isinstance(block, ToolUse)] == [
        "echo agent-1",
        "echo agent-2",
        "echo agent-3",
    ]


def test_a_named_scenario_takes_parameters() -> None:
    answer = scenarios.named("stream:deltas=7,delay=0.5").fallback
    assert (answer.content[0].deltas, answer.event_delay) == (7, 0.5)  # type: ignore[union-attr]


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="three_subagents"):
        scenarios.named("nonsense")
