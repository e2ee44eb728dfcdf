"""The purpose of calls without a turn, and the evidence that it takes."""

from typing import Any

import pytest

from ccwire.wire.format import Exchange
from correlate.reconcile.purpose import (
    Reason,
    Search,
    Surroundings,
    clients_of,
    is_of_program,
    purpose_of,
)
from correlate.reconcile.request_facts import RequestFacts, facts_of
from correlate.transcript.records import ApiRequest
from lab.made_session import MadeSession

SESSION = "5e551011"
BASH = {"name": "Bash", "input_schema": {"type": "object"}}
SEARCH_TOOL = {"type": "web_search_20250305", "name": "web_search"}


def call(**fields: Any) -> Exchange:
    return MadeSession(SESSION).call(**{"request_class": None, **fields})


def said(text: str, system: str = "") -> dict[str, Any]:
    return {"system": system, "messages": [{"role": "user", "content": text}]}


def purpose(made: Exchange, facts: RequestFacts | None = None, **around: Any) -> Reason | None:
    known = {made.sequence: facts} if facts else {}
    return purpose_of(
        made,
        Surroundings(
            session_id=SESSION,
            turns_offer_tools=around.pop("turns_offer_tools", True),
            facts=known | around.pop("others", {}),
            **around,
        ),
    )


def test_the_request_class_comes_first_and_inferences_are_marked() -> None:
    facts = facts_of(said("x", "Write a title."))
    assert purpose(call(request_class="auxiliary"), facts) == Reason(
        "auxiliary", ("request class auxiliary, title (inferred from the request)",)
    )
    assert purpose(call(request_class="compaction")) == Reason(
        "compaction", ("request class compaction",)
    )


def test_a_query_source_at_the_same_moment_gives_the_kind() -> None:
    made = call()
    source = ApiRequest("r1", "compact", made.started - 0.1, None)
    found = purpose(made, sources=(source,))
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
    assert purpose(call(), sources=(source,)) is None


def test_a_call_without_tools_is_a_side_call_where_turns_have_them() -> None:
    facts = facts_of(said("hello"))
    found = purpose(call(), facts)
    assert found is not None
    assert found.evidence[0].startswith("inferred: the request has no tools")
    assert purpose(call(), facts, turns_offer_tools=False) is None
    assert purpose(call(request_class="main"), facts) is None


def test_a_web_search_is_explained_by_the_tool_call_that_it_answers() -> None:
    made = call()
    facts = facts_of({**said("Perform a web search for: lab weather"), "tools": [SEARCH_TOOL]})
    search = Search("lab weather", made.started - 0.2, "toolu_1")
    found = purpose(made, facts, searches=(search,))
    assert found is not None and found.name == "auxiliary"
    assert "toolu_1" in found.evidence[0]
    assert purpose(made, facts) is None
    assert purpose(made, facts, searches=(Search("other", made.started, "toolu_2"),)) is None
    later = Search("lab weather", made.started + 60, "toolu_3")
    assert purpose(made, facts, searches=(later,)) is None


@pytest.mark.parametrize(
    ("query", "is_known"), [("lab weather", True), ("weather", False), ("", False)]
)
def test_a_search_is_for_the_whole_query(query: str, is_known: bool) -> None:
    made = call()
    facts = facts_of({**said("Perform a web search for: lab weather"), "tools": [SEARCH_TOOL]})
    found = purpose(made, facts, searches=(Search(query, made.started, "toolu_1"),))
    assert (found is not None) is is_known


@pytest.mark.parametrize("pause", [0.5, 30.0])
def test_each_tool_call_explains_one_search_and_its_repetition_at_once(pause: float) -> None:
    facts = facts_of({**said("Perform a web search for: lab"), "tools": [SEARCH_TOOL]})
    start = call().started
    begun = (start, start + 1 + pause, start + 100, start + 101 + pause)
    calls = [
        call(sequence=n, started=at, ended=at + 1, stream=n % 2 == 1)
        for n, at in enumerate(begun, 1)
    ]
    searches = [Search("lab", start, "toolu_1"), Search("lab", start, "toolu_2")]

    def known(count: int) -> list[bool]:
        others = {made.sequence: facts for made in calls}
        around: dict[str, Any] = {"calls": tuple(calls), "others": others}
        given = tuple(searches[:count])
        return [purpose(m, facts, searches=given, **around) is not None for m in calls]

    is_at_once = pause < 2
    assert known(1) == [True, is_at_once, False, False]
    assert known(2) == [True, True, True, is_at_once]


def test_a_query_that_ends_with_another_one_is_not_that_one() -> None:
    made = call()
    facts = facts_of({**said("Perform a web search for: python: lab"), "tools": [SEARCH_TOOL]})

    def asked(query: str) -> Reason | None:
        return purpose(made, facts, searches=(Search(query, made.started, "toolu_1"),))

    assert asked("python: lab") is not None
    assert asked("lab") is None


def test_a_summary_with_tools_is_a_compaction_only_with_a_second_proof() -> None:
    words = "Your task is to create a detailed summary of the conversation"
    facts = facts_of({**said(words), "tools": [BASH]})
    made = call()
    assert made.ended is not None
    assert purpose(made, facts) is None
    for seconds, is_known in ((0.3, True), (60.0, False), (-60.0, False)):
        found = purpose(made, facts, compacted=(made.ended + seconds,))
        assert (found is not None) is is_known
    asked = facts_of({**said(words, "You are good at summarizing conversations."), "tools": [BASH]})
    assert purpose(made, asked) == Reason("compaction", ("inferred from the request: compaction",))


def test_a_compact_boundary_explains_one_summary() -> None:
    facts = facts_of({**said("create a detailed summary of the conversation"), "tools": [BASH]})
    start = call().started
    calls = tuple(call(sequence=n, started=start + n, ended=start + n + 0.5) for n in (1, 2))
    others = {made.sequence: facts for made in calls}
    found = [
        purpose(made, facts, calls=calls, others=others, compacted=(start + 3,)) for made in calls
    ]
    assert [reason and reason.name for reason in found] == [None, "compaction"]


@pytest.mark.parametrize(
    ("words", "more", "purpose"),
    [
        ("quota", {}, "quota probe"),
        ("quota", {"tools": [BASH]}, None),
        ("quota", {"tools": [BASH], "max_tokens": 1}, "quota probe"),
        ("Warmup", {"tools": [BASH]}, "warm-up"),
        ("Write exercises for the chapter Warmup", {"tools": [BASH]}, None),
    ],
)
def test_a_probe_is_known_by_all_of_its_text(
    words: str, more: dict[str, Any], purpose: str | None
) -> None:
    assert facts_of({**said(words), **more}).purpose == purpose


def test_a_warm_up_may_have_a_reminder_before_it() -> None:
    content = [{"type": "text", "text": "A reminder."}, {"type": "text", "text": "Warmup"}]
    body = {"messages": [{"role": "user", "content": content}], "tools": [BASH]}
    assert facts_of(body).purpose == "warm-up"
    assert facts_of({"messages": [{"role": "user", "content": []}]}).purpose is None


@pytest.mark.parametrize("word", ["quota", "Warmup"])
def test_a_probe_is_a_conversation_of_one_message(word: str) -> None:
    more = [{"role": "user", "content": word}, {"role": "assistant", "content": "a"}]
    assert facts_of({"messages": more, "tools": [BASH], "max_tokens": 1}).purpose is None


def test_tools_with_odd_names_are_read() -> None:
    assert facts_of({**said("x"), "tools": [{"name": ["x"]}, {"name": {}}, 7]}).purpose is None


def test_a_hook_is_explained_by_this_sessions_input() -> None:
    def asked(session_id: str) -> RequestFacts:
        words = f'Done? {{"session_id": "{session_id}", "hook_event_name": "Stop"}}'
        return facts_of({**said(words, "You are evaluating a hook."), "tools": [BASH]})

    found = purpose(call(request_class="subagent"), asked(SESSION))
    assert found is not None and found.name == "auxiliary"
    assert "Stop" in found.evidence[0]
    assert purpose(call(), asked("another-session")) is None
    assert purpose(call(request_class="main"), asked(SESSION)) is None


@pytest.mark.parametrize(
    "phrase",
    [
        "[SUGGESTION MODE: x]",
        "You are now a prompt suggestion generator.",
        "This is a side question from the user",
    ],
)
def test_a_prompt_of_the_client_is_explained_by_the_conversation_it_continues(phrase: str) -> None:
    thread = [{"role": "user", "content": "a"}]
    answered = [*thread, {"role": "assistant", "content": "b"}]
    aside = [*answered, {"role": "user", "content": phrase}]
    earlier, made = call(sequence=1), call(sequence=2, started=call().started + 5)
    facts = facts_of({"messages": aside, "tools": [BASH]})
    known = {1: facts_of({"messages": thread, "tools": [BASH]})}
    found = purpose(made, facts, calls=(earlier, made), others=known)
    assert found is not None and "the conversation of call 1" in found.evidence[0]
    assert purpose(made, facts, calls=(earlier, made)) is None
    other = {1: facts_of({"messages": [{"role": "user", "content": "z"}], "tools": [BASH]})}
    assert purpose(made, facts, calls=(earlier, made), others=other) is None
    again = call(sequence=3, started=made.started + 5)
    known |= {2: facts, 3: facts}
    assert purpose(again, facts, calls=(earlier, made, again), others=known) is None


def test_a_call_with_tools_and_an_ordinary_prompt_has_no_known_purpose() -> None:
    thread = [{"role": "user", "content": "a"}]
    more = [*thread, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    facts = facts_of({"messages": more, "tools": [BASH]})
    known = {1: facts_of({"messages": thread, "tools": [BASH]})}
    made = call(sequence=2, started=call().started + 5)
    assert purpose(made, facts, calls=(call(), made), others=known) is None


@pytest.mark.parametrize(
    ("changed", "is_other"),
    [
        ({}, True),
        ({"identified_by": "live_record"}, True),
        ({"claude_version": "2.1.39"}, False),
        ({"identified_by": "header"}, False),
        ({"identified_by": "user_id"}, False),
        ({"pid": 4242}, False),  # the client's own
        ({"pid": None}, False),
        ({"request_class": "main"}, False),
        ({"agent_id": "a1"}, False),
    ],
)
def test_a_program_is_told_by_user_agent_and_process(
    changed: dict[str, Any], is_other: bool
) -> None:
    client = call()
    script = call(**{"claude_version": None, "identified_by": "process", "pid": 77, **changed})
    assert client.pid == 4242
    assert is_of_program(script, clients_of([client, script])) is is_other
