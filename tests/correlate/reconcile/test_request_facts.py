"""What a request's body says."""

from typing import Any

import pytest

from correlate.reconcile.request_facts import HookInput, facts_of

SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
BASH = {"name": "Bash", "input_schema": {"type": "object"}}
HOOK_INPUT = 'May it stop? {"session_id": "s-1", "hook_event_name": "Stop"}'


def said(text: str, system: str = "") -> dict[str, Any]:
    return {"system": system, "messages": [{"role": "user", "content": text}]}


@pytest.mark.parametrize(
    ("body", "purpose"),
    [
        ({**said("quota"), "max_tokens": 1}, "quota probe"),
        ({**said("Warmup"), "tools": [BASH]}, "warm-up"),
        (said("hello", "Write a title for this conversation."), "title"),
        (said("hello", "Extract any file paths that this command reads."), "file paths"),
        (said("<policy_spec>…</policy_spec> Command: ls"), "permission check"),
        (
            {
                **said("Your task is to create a detailed summary of the conversation so far"),
                "tools": [BASH],
            },
            "compaction",
        ),
        ({**said("hello", "A two-word title"), "tools": [BASH]}, None),
        (said("Give my book a two-word title", "You write code."), None),
        (said("hello", "Run gh pr create --title, then report."), None),
        ({**said("Perform a web search for: x"), "tools": [SEARCH]}, "web search"),
        ({**said("Perform a web search for: x"), "tools": [SEARCH, BASH]}, None),
        ({**said("[SUGGESTION MODE: what next?]"), "tools": [BASH]}, "prompt suggestion"),
        (
            {**said("<r>This is a side question from the user.</r> x"), "tools": [BASH]},
            "side question",
        ),
        (said(HOOK_INPUT, "You are evaluating a hook."), "hook"),
        (said(HOOK_INPUT, "You write code."), None),
        (said("May it stop?", "You are evaluating a hook."), None),
        (said("hello"), None),
        ({}, None),
        ({"messages": "odd", "tools": "odd"}, None),
    ],
)
def test_a_purpose_is_inferred_from_the_request(body: dict[str, Any], purpose: str | None) -> None:
    assert facts_of(body).purpose == purpose


@pytest.mark.parametrize("place", [0, 2])
def test_a_hooks_input_is_found_in_the_first_or_the_last_prompt(place: int) -> None:
    texts = ["hello", "hi", "bye", "{"]
    texts[place] = HOOK_INPUT
    roles = ["user", "assistant", "user", "assistant"]
    messages = [{"role": r, "content": t} for r, t in zip(roles, texts, strict=True)]
    facts = facts_of({"messages": messages, "tools": [BASH, {"name": "StructuredOutput"}]})
    assert facts.hook == HookInput("Stop", "s-1")


def conversation(*texts: str) -> dict[str, Any]:
    """Return a request whose messages alternate, with a marker at the last one."""
    roles = ["user", "assistant"] * len(texts)
    messages: list[dict[str, Any]] = [
        {"role": role, "content": text} for role, text in zip(roles, texts, strict=False)
    ]
    marked = {"type": "text", "text": texts[-1], "cache_control": {"type": "ephemeral"}}
    messages[-1]["content"] = [marked]
    return {"messages": messages, "tools": [BASH]}


def test_a_request_continues_a_conversation_with_its_answer_and_one_prompt() -> None:
    first, second = conversation("a"), conversation("a", "b", "c")
    third = conversation("a", "b", "c", "d", "e")
    assert facts_of(second).continues(facts_of(first))
    assert facts_of(third).continues(facts_of(second))
    assert not facts_of(third).continues(facts_of(first))
    assert not facts_of(second).continues(facts_of(second))
    assert not facts_of(conversation("x", "b", "c")).continues(facts_of(first))
    assert not facts_of(second).continues(facts_of({}))


def test_messages_of_the_system_do_not_count_as_prompts() -> None:
    first, second = conversation("a"), conversation("a", "b", "c")
    second["messages"].insert(1, {"role": "system", "content": "as of now"})
    assert facts_of(second).continues(facts_of(first))


def test_a_scrubbed_copy_keeps_its_purpose() -> None:
    facts = facts_of(said("xxx xxx"), "side question")
    assert (facts.purpose, facts.recorded) == ("side question", True)
    assert facts_of(said("xxx xxx"), "made-up purpose").purpose is None


def test_a_lone_surrogate_in_a_request_is_no_obstacle() -> None:
    assert facts_of(said("\ud800")).digest != facts_of(said("\ud801")).digest
