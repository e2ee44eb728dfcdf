from typing import Any

import pytest

from ccwire.wire.format import Exchange
from correlate.reconcile.purpose import Reason, facts_of, may_repeat, purpose_of, repeats
from correlate.transcript.records import ApiRequest
from lab.made_session import MadeSession


def call(**fields: Any) -> Exchange:
    return MadeSession("5e551011").call(**fields)


def said(text: str, system: str = "") -> dict[str, Any]:
    return {"system": system, "messages": [{"role": "user", "content": text}]}


@pytest.mark.parametrize(
    ("body", "purpose"),
    [
        ({**said("quota"), "max_tokens": 1}, "quota probe"),
        ({**said("Warmup"), "tools": [{"name": "Bash"}]}, "warm-up"),
        (said("hello", "Write a title for this conversation."), "title"),
        (said("hello", "Extract any file paths that this command reads."), "file paths"),
        (said("<policy_spec>…</policy_spec> Command: ls"), "permission check"),
        (
            {
                **said("Your task is to create a detailed summary of the conversation so far"),
                "tools": [{"name": "Bash"}],
            },
            "compaction",
        ),
        ({**said("hello", "A title"), "tools": [{"name": "Bash"}]}, None),
        (said("hello"), None),
        ({}, None),
        ({"messages": "odd", "tools": "odd"}, None),
    ],
)
def test_a_purpose_is_inferred_from_the_request(body: dict[str, Any], purpose: str | None) -> None:
    assert facts_of(body).purpose == purpose


def test_the_request_class_comes_first_and_inferences_are_marked() -> None:
    facts = facts_of(said("x", "Write a title."))
    found = purpose_of(call(request_class="auxiliary"), facts, [], turns_offer_tools=True)
    assert found == Reason(
        "auxiliary", ("request class auxiliary, title (inferred from the request)",)
    )
    found = purpose_of(call(request_class="compaction"), None, [], turns_offer_tools=True)
    assert found == Reason("compaction", ("request class compaction",))


def test_a_query_source_at_the_same_moment_gives_the_kind() -> None:
    made = call(request_class=None)
    source = ApiRequest("r1", "compact", made.started - 0.1, None)
    found = purpose_of(made, None, [source], turns_offer_tools=True)
    assert found == Reason("compaction", ("api-request.querySource compact",))


@pytest.mark.parametrize(
    "source",
    [
        ApiRequest("r1", "compact", 5.0, None),
        ApiRequest("r1", "compact", None, None),
        ApiRequest("r1", "sdk", 1_794_000_002.0, None),
        ApiRequest("r1", "compact", 1_794_000_002.0, "another agent"),
    ],
)
def test_another_query_source_is_ignored(source: ApiRequest) -> None:
    made = call(request_class=None)
    assert purpose_of(made, None, [source], turns_offer_tools=True) is None


def test_a_call_without_tools_is_a_side_call_where_turns_have_them() -> None:
    facts = facts_of(said("hello"))
    made = call(request_class=None)
    found = purpose_of(made, facts, [], turns_offer_tools=True)
    assert found is not None
    assert found.evidence[0].startswith("inferred: the request has no tools")
    assert purpose_of(made, facts, [], turns_offer_tools=False) is None


def test_the_same_bytes_are_the_same_request() -> None:
    first = call(request_sha256="a")
    again = call(sequence=2, request_sha256="a", started=first.started + 1)
    assert repeats(first, again, {}) == "identical request"
    assert repeats(again, first, {}) is None
    assert repeats(first, first, {}) is None


def test_the_same_messages_are_the_same_request_however_sent() -> None:
    first, again = call(), call(sequence=2, request_sha256="b")
    marked = [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]
    plain = [{"type": "text", "text": "hi"}]
    facts = {
        1: facts_of({"messages": [{"role": "user", "content": marked}], "stream": True}),
        2: facts_of({"messages": [{"role": "user", "content": plain}]}),
    }
    assert may_repeat(first, again)
    assert repeats(first, again, facts) == "same messages"
    assert not may_repeat(first, call(sequence=2, agent_id="a1"))
    assert repeats(first, call(sequence=2, agent_id="a1", request_sha256="b"), facts) is None


def test_a_lone_surrogate_in_a_request_is_no_obstacle() -> None:
    assert facts_of(said("\ud800")).digest != facts_of(said("\ud801")).digest
