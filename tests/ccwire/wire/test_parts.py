"""Which model served which tokens of an answer."""

from typing import Any

import pytest

from ccwire.wire.models import model_key, serving_model
from ccwire.wire.parts import Part, parts_of
from ccwire.wire.usage import Tokens, billed_iterations

ASKED = "claude-opus-5-5"
OTHER = "claude-opus-5"


def one(kind: str, model: str | None = None, **counts: int) -> dict[str, Any]:
    return {"type": kind, **({"model": model} if model else {}), "output_tokens": 0, **counts}


def parts(usage: dict[str, Any], served: str | None = ASKED) -> list[tuple[str | None, int, str]]:
    return [(p.model, p.tokens.output, p.type) for p in parts_of(ASKED, served, usage)]


def test_an_answer_without_a_breakdown_is_one_part_of_the_model_that_served_it() -> None:
    usage = {"input_tokens": 3, "output_tokens": 5}
    assert parts_of(ASKED, None, usage) == (Part(ASKED, Tokens(input=3, output=5)),)
    assert parts(usage, OTHER) == [(OTHER, 5, "message")]
    assert parts({**usage, "iterations": []}) == [(ASKED, 5, "message")]
    assert parts_of(ASKED, ASKED, None) == ()


def test_an_advisor_is_a_part_of_its_own_model() -> None:
    usage = {
        "output_tokens": 30,
        "iterations": [
            one("message", output_tokens=10),
            one("advisor_message", OTHER, output_tokens=7),
            one("message", output_tokens=20),
        ],
    }
    found = [(ASKED, 10, "message"), (OTHER, 7, "advisor_message"), (ASKED, 20, "message")]
    assert parts(usage) == found
    assert Tokens.of(usage).output == 37


def test_a_compaction_is_of_the_model_that_answers() -> None:
    usage = {
        "output_tokens": 5,
        "iterations": [one("compaction", output_tokens=9), one("message", output_tokens=5)],
    }
    assert parts(usage) == [(ASKED, 9, "compaction"), (ASKED, 5, "message")]
    assert parts(usage, OTHER) == [(OTHER, 9, "compaction"), (OTHER, 5, "message")]


def test_an_attempt_that_declined_midway_is_billed_to_the_model_that_was_asked() -> None:
    usage = {
        "output_tokens": 5,
        "iterations": [
            one("message", output_tokens=4),
            one("fallback_message", OTHER, output_tokens=5),
        ],
    }
    assert parts(usage, OTHER) == [(ASKED, 4, "message"), (OTHER, 5, "fallback_message")]


def test_an_attempt_that_declined_before_any_output_is_not_billed() -> None:
    declined = one("message", ASKED, input_tokens=100)
    served = one("fallback_message", OTHER, input_tokens=90, output_tokens=5)
    assert billed_iterations({"iterations": [declined, served]}) == [served]
    assert Tokens.of({"iterations": [declined, served]}) == Tokens(input=90, output=5)
    # Without a fallback, or after it, nothing has declined.
    assert billed_iterations({"iterations": [declined]}) == [declined]
    assert billed_iterations({"iterations": [served, declined]}) == [served, declined]
    asked = one("advisor_message", OTHER, input_tokens=9)
    assert billed_iterations({"iterations": [asked, served]}) == [asked, served]


def test_an_iteration_of_the_asked_model_has_the_name_that_was_asked() -> None:
    usage = {"iterations": [one("message", f"{ASKED}-20261001", output_tokens=5)]}
    assert parts(usage) == [(ASKED, 5, "message")]


def test_searches_are_of_the_last_iteration_that_answers() -> None:
    usage = {
        "server_tool_use": {"web_search_requests": 2},
        "iterations": [
            one("message", output_tokens=1),
            one("message", output_tokens=2),
            one("advisor_message", OTHER, output_tokens=3),
        ],
    }
    found = parts_of(ASKED, ASKED, usage)
    assert [part.tokens.web_searches for part in found] == [0, 2, 0]
    assert Tokens.of(usage).web_searches == 2


@pytest.mark.parametrize(
    ("asked", "served", "found"),
    [
        ("claude-opus-5", "claude-opus-4-8", "claude-opus-4-8"),
        ("claude-opus-4-5", "claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("claude-sonnet-4-0", "claude-sonnet-4-20250514", "claude-sonnet-4-0"),
        ("claude-opus-5[1m]", "claude-opus-5", "claude-opus-5[1m]"),
        ("us.anthropic.claude-opus-5-v1:0", "claude-opus-5", "us.anthropic.claude-opus-5-v1:0"),
        ("our-model", "claude-opus-5", "our-model"),
        ("claude-opus-4-5", "claude-4.5-opus", "claude-opus-4-5"),
        ("claude-opus-4-5", "claude-opus-5-4", "claude-opus-5-4"),
        ("claude-opus-5", "gateway/fast", "claude-opus-5"),
        (None, "claude-opus-5", "claude-opus-5"),
        ("claude-opus-5", None, "claude-opus-5"),
    ],
)
def test_only_another_claude_model_serves_in_place_of_the_asked_one(
    asked: str | None, served: str | None, found: str
) -> None:
    assert serving_model(asked, served) == found


def test_only_the_answer_itself_has_the_name_that_the_answer_names() -> None:
    advised = {"iterations": [one("message"), one("advisor_message", "claude-oracle-9")]}
    assert [part.alias for part in parts_of("our-model", OTHER, advised)] == [OTHER, None]
    declined = {
        "iterations": [one("message", output_tokens=4), one("fallback_message", OTHER)],
    }
    assert [part.alias for part in parts_of("our-model", OTHER, declined)] == [None, None]
    assert [part.alias for part in parts_of("our-model", OTHER, {"output_tokens": 1})] == [OTHER]


def test_a_model_has_one_key_for_all_its_names() -> None:
    names = ("claude-opus-4-0", "claude-opus-4-20250514", "claude-opus-4@20250514[1m]")
    assert {model_key(name) for name in names} == {"opus-4"}
    assert model_key("claude-opus-4-1") != model_key("claude-opus-4")
