"""What an answer took: which calls belong to it, and what they cost."""

from pathlib import Path
from typing import Any

import pytest

from correlate.show.answer_json import answer_json
from correlate.show.session_content import SessionReader
from correlate.transcript.locate import ClaudeDir
from lab.made_session import MadeSession

SESSION = "11111111-2222-4333-8444-555555555555"


def accounts(root: Path, made: MadeSession, *, captured: bool = False) -> list[dict[str, Any]]:
    """Return the account of each prompt."""
    made.write(root / "claude", root / "captures" if captured else None)
    folder = root / "captures" / SESSION if captured else None
    content = SessionReader(SESSION, folder, ClaudeDir(root / "claude")).read()
    answers = content.answers()
    return [answer_json(content, answers, answer, alone=True) for answer in answers]


def outputs(found: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(one["calls"], one["usage"].get("output_tokens", 0)) for one in found]


def test_a_prompt_right_after_an_answer_does_not_take_it(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("one")
    made.call(output=100)
    made.prompt("two")  # its line is 0.2 s after the answer's
    made.call(output=7)
    assert outputs(accounts(tmp_path, made)) == [(1, 100), (1, 7)]


def test_a_captured_call_may_begin_before_the_line_of_its_prompt(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("one")
    made.call(output=100)
    made.prompt("two")
    made.call(output=7)
    made.now += 60
    made.prompt("three")
    made.now -= 0.9  # the call begins 0.3 s before the line
    made.call(output=5, in_transcript=False, request_class="auxiliary")
    made.call(output=3)
    assert outputs(accounts(tmp_path, made, captured=True))[1:] == [(1, 7), (2, 8)]


def test_an_abandoned_branch_belongs_to_no_prompt(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("one")
    made.call(output=100)
    answered = made.lines[-1]["uuid"]
    made.prompt("abandoned")
    made.call(("tool_use",), output=20)
    made.call(output=30, agent_id="a1234567")
    made.prompt("two")
    made.lines[-1]["parentUuid"] = answered
    made.call(output=7)
    assert outputs(accounts(tmp_path, made)) == [(1, 100), (1, 7)]


def test_a_subagent_belongs_to_the_prompt_before_it(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("one")
    made.call(("tool_use",), output=100)
    made.call(output=30, agent_id="a1234567")
    made.call(output=5)
    made.prompt("two")
    made.call(output=7)
    assert outputs(accounts(tmp_path, made)) == [(3, 135), (1, 7)]


def test_without_a_call_there_is_no_cost(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("one")
    made.call(output=100)
    made.lines[-1]["message"]["model"] = "<synthetic>"
    (found,) = accounts(tmp_path, made)
    assert (found["calls"], found["cost_usd"], found["finality"]) == (0, None, "unknown")


def test_iterations_are_priced_by_the_models_that_ran_them(tmp_path: Path) -> None:
    cache = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    own = {"input_tokens": 10, "output_tokens": 100, **cache}
    advice = {"input_tokens": 100_000, "output_tokens": 10_000, **cache}
    advisor = {"type": "advisor_message", "model": "claude-opus-4-1", **advice}
    made = MadeSession(SESSION, model="claude-sonnet-4-5-20250929")
    made.prompt("one")
    made.call(usage={**own, "iterations": [{"type": "message", **own}, advisor]})
    (found,) = accounts(tmp_path, made)
    assert found["cost_usd"] == pytest.approx(0.00153 + 1.5 + 0.75)
