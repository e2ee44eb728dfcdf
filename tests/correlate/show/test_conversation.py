import time
from pathlib import Path
from typing import Any

import pytest

from correlate.show.conversation import AgentLink, Item, conversation_items
from correlate.show.final_answer import prompt_answers
from correlate.transcript.branches import rewinds
from correlate.transcript.conversation import Entry, read_conversation
from correlate.transcript.locate import SessionFiles
from lab.made_session import write_lines

SESSION = "11111111-2222-4333-8444-555555555555"


def user(uuid: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "message": message, **more}


def says(uuid: str, parent: str | None, *blocks: Any, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    message = {"role": "assistant", "id": f"msg_{uuid}", "content": content}
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": message, **more}


def tool(name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Task", "input": given}


def result(name: str, content: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": name, "content": content}]


def at(second: int) -> str:
    return f"2026-11-19T06:05:{second:02}.000Z"


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def read(*lines: dict[str, Any]) -> tuple[Entry, ...]:
        path = tmp_path / f"{SESSION}.jsonl"
        write_lines(path, list(lines))
        return read_conversation(SessionFiles(SESSION, (path,))).entries

    return read


def shown(items: list[Item]) -> list[tuple[str, str, int | None]]:
    return [(item.kind, item.text, item.branch) for item in items]


def test_a_text_in_a_line_with_a_result_is_a_note(read: Any) -> None:
    beside = [*result("t1", "out"), {"type": "text", "text": "Stopped."}]
    entries = read(says("1", None, tool("t1")), user("2", "1", beside))
    found = conversation_items(entries, {}, {})
    assert [(i.kind, i.text, i.result) for i in found[1:]] == [("note", "Stopped.", None)]
    assert found[0].result == "out"


def test_an_abandoned_branch_is_before_the_prompt_that_replaced_it(read: Any) -> None:
    entries = read(
        user("1", None, "first"),
        says("2", "1", "one"),
        user("3", "2", "wrong way"),
        says("4", "3", "two"),
        user("5", "2", "right way"),
        says("6", "5", "three"),
    )
    assert shown(conversation_items(entries, {}, {})) == [
        ("prompt", "first", None),
        ("answer", "one", None),
        ("branch", "branch 1, abandoned by a rewind", 1),
        ("prompt", "wrong way", 1),
        ("answer", "two", 1),
        ("live", "the conversation goes on here", None),
        ("prompt", "right way", None),
        ("answer", "three", None),
    ]
    assert [(a.prompt, a.text) for a in prompt_answers(entries)] == [
        ("first", "one"),
        ("right way", "three"),
    ]


def test_a_rewind_to_the_beginning_is_a_branch(read: Any) -> None:
    entries = read(
        user("1", None, "old"), says("2", "1", "a"), user("3", None, "new"), says("4", "3", "b")
    )
    assert [kind for kind, _, _ in shown(conversation_items(entries, {}, {}))] == [
        "branch", "prompt", "answer", "live", "prompt", "answer",
    ]  # fmt: skip


def test_a_line_that_is_dated_before_its_parent_is_no_branch(read: Any) -> None:
    """As `/context` and `/compact` in print mode are written by 2.1.325."""
    ends = {"type": "system", "subtype": "compact_boundary", "uuid": "5", "parentUuid": None}
    entries = read(
        user("1", None, "first", timestamp=at(1)),
        says("2", "1", "one", timestamp=at(2)),
        user("3", "2", "caveat", timestamp=at(9), isMeta=True),
        user("4", "3", "<command-name>/context</command-name>", timestamp=at(8)),
        {**ends, "logicalParentUuid": "not-written", "timestamp": at(30)},
        user("6", "5", "caveat", timestamp=at(21), isMeta=True),
        user("7", "6", "<command-name>/compact</command-name>", timestamp=at(20)),
    )
    items = conversation_items(entries, {}, {})
    assert [(item.kind, item.branch) for item in items] == [
        ("prompt", None), ("answer", None), ("note", None), ("note", None),
        ("compaction", None), ("note", None), ("note", None),
    ]  # fmt: skip
    assert rewinds(entries) == 0


def test_a_line_that_is_written_before_its_parent_is_no_branch(read: Any) -> None:
    """As the first lines of a session are written by 2.1.39."""
    entries = read(
        {"type": "system", "uuid": "3", "parentUuid": "2", "timestamp": at(3)},
        says("2", "1", "one", timestamp=at(2)),
        user("1", None, "first", timestamp=at(2)),
        user("4", "3", "second", timestamp=at(4)),
    )
    items = conversation_items(entries, {}, {})
    assert [(item.text, item.branch) for item in items] == [
        ("first", None), ("one", None), ("second", None),
    ]  # fmt: skip


def test_lines_without_a_tree_are_one_branch(read: Any) -> None:
    entries = read(user("1", None, "a"), says("2", None, "b"), user("3", None, "c"))
    assert [branch for _, _, branch in shown(conversation_items(entries, {}, {}))] == [None] * 3


def test_parallel_tool_calls_are_no_branches(read: Any) -> None:
    entries = read(
        user("1", None, "go"),
        says("2", "1", tool("t1")),
        says("3", "2", tool("t2")),
        user("4", "2", result("t1", "one")),
        user("5", "3", result("t2", "two")),
        says("6", "5", "done"),
    )
    items = conversation_items(entries, {}, {"msg_6": 9})
    assert [(item.kind, item.result, item.branch) for item in items] == [
        ("prompt", None, None),
        ("tool", "one", None),
        ("tool", "two", None),
        ("answer", None, None),
    ]
    assert items[-1].call == 9


@pytest.mark.parametrize("linked", [True, False])
def test_a_subagent_is_below_the_tool_call_that_launched_it(read: Any, linked: bool) -> None:
    entries = read(
        user("1", None, "go"),
        says("2", "1", tool("t1", prompt="look")),
        user("a", None, "look", agentId="x", isSidechain=True),
        says("b", "a", "seen", agentId="x", isSidechain=True),
        user("3", "2", result("t1", "seen")),
        says("4", "3", "done"),
    )
    agents = {"x": AgentLink("Explore", "t1" if linked else None)}
    items = conversation_items(entries, agents, {})
    assert [(item.kind, item.depth, item.agent_id) for item in items] == [
        ("prompt", 0, None),
        ("tool", 0, None),
        ("agent", 1, "x"),
        ("prompt", 1, "x"),
        ("answer", 1, "x"),
        ("answer", 0, None),
    ]


def test_an_unnamed_sidechain_is_an_agent(read: Any) -> None:
    entries = read(
        user("1", None, "go"),
        says("2", "1", tool("t1", prompt="look")),
        user("abcdefgh-1", None, "look", isSidechain=True),
        says("b", "abcdefgh-1", "seen", isSidechain=True),
        says("4", "2", "done"),
    )
    items = conversation_items(entries, {}, {})
    assert [item.agent_id for item in items if item.depth] == ["sidechain-abcdefgh"] * 3


def test_agents_that_launch_each_other_are_each_shown_once(read: Any) -> None:
    entries = read(
        says("a", None, tool("ta", prompt="b"), agentId="a"),
        says("b", None, tool("tb", prompt="a"), agentId="b"),
    )
    agents = {"a": AgentLink(None, "tb"), "b": AgentLink(None, "ta")}
    items = conversation_items(entries, agents, {})
    assert [item.agent_id for item in items if item.kind == "agent"] == ["a", "b"]


def test_a_compaction_and_its_summary_are_no_answer(read: Any) -> None:
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "3",
        "parentUuid": None,
        "logicalParentUuid": "2",
        "compactMetadata": {"trigger": "auto", "preTokens": 9000, "postTokens": 70},
    }
    entries = read(
        user("1", None, "go"),
        says("2", "1", "the answer"),
        boundary,
        user("4", "3", "a summary", isCompactSummary=True),
    )
    items = conversation_items(entries, {}, {})
    assert [item.kind for item in items] == ["prompt", "answer", "compaction", "summary"]
    assert items[2].facts == {"trigger": "auto", "pre_tokens": 9000, "post_tokens": 70}
    (answer,) = prompt_answers(entries)
    assert (answer.text, answer.is_whole) == ("the answer", True)


def test_a_cycle_ends(read: Any) -> None:
    entries = read(
        user("1", "2", "a"), says("2", "1", "b"), user("3", "4", "c"), user("4", "3", "d")
    )
    items = conversation_items(entries, {}, {})
    assert sorted(item.text for item in items if item.kind in ("prompt", "answer")) == list("abcd")


def test_many_branches_and_a_deep_chain_take_linear_time(read: Any) -> None:
    def seconds(size: int) -> float:
        lines = [user("0", None, "go")]
        for number in range(1, size):
            lines.append(user(str(number), "0", f"branch {number}"))
        for number in range(size, 2 * size):
            lines.append(says(str(number), str(number - 1), "deep"))
        entries = read(*lines)
        started = time.process_time()
        items = conversation_items(entries, {}, {})
        assert sum(item.kind == "branch" for item in items) == size - 2
        return time.process_time() - started

    small = max(seconds(1000), 0.01)
    assert seconds(8000) < 40 * small  # 64 times if it were quadratic


def test_the_last_text_block_is_the_answer(read: Any) -> None:
    entries = read(user("1", None, "go"), says("2", "1", "First.\n", "Second.  "))
    assert prompt_answers(entries)[0].text == "Second.  "


def test_lines_without_ids_have_an_answer(read: Any) -> None:
    bare = [{"type": "text", "text": word} for word in ("one", "two")]
    lines = [{"type": "assistant", "message": {"content": [block]}} for block in bare]
    entries = read({"type": "user", "message": {"content": "go"}}, *lines)
    assert [answer.text for answer in prompt_answers(entries)] == ["two"]


def test_an_error_of_the_client_is_the_answer(read: Any) -> None:
    error = says("3", "2", "Prompt is too long", isApiErrorMessage=True)
    error["message"]["model"] = "<synthetic>"
    entries = read(user("1", None, "go"), says("2", "1", "Some text."), error)
    (answer,) = prompt_answers(entries)
    assert (answer.text, answer.is_error) == ("Prompt is too long", True)
    assert conversation_items(entries, {}, {})[-1].synthetic


@pytest.mark.parametrize(
    ("version", "printed"),
    [({}, "Under way.\n\nDone."), ({"version": "2.1.295"}, "Under way.\n\nDone."),
     ({"version": "2.1.294"}, "Done."), ({"version": "odd"}, "Under way.\n\nDone.")],
)  # fmt: skip
def test_answers_to_background_tasks_are_parts_of_the_answer(
    read: Any, version: dict[str, str], printed: str
) -> None:
    origin = {"kind": "task-notification"}
    entries = read(
        user("1", None, "go"),
        says("2", "1", "Under way."),
        user("3", "2", "<task-notification>x</task-notification>", origin=origin),
        says("4", "3", "Done.", **version),
    )
    assert [answer.text for answer in prompt_answers(entries)] == [printed]


def test_a_turn_limit_is_the_answer(read: Any) -> None:
    attachment = {"type": "max_turns_reached", "maxTurns": 3}
    limit = {"type": "attachment", "uuid": "4", "parentUuid": "3", "attachment": attachment}
    entries = read(
        user("1", None, "go"), says("2", "1", tool("t")), user("3", "2", result("t", "x")), limit
    )
    (answer,) = prompt_answers(entries)
    assert (answer.printed, answer.is_error) == ("Error: Reached max turns (3)", True)


def attached(uuid: str, parent: str, kind: str, **more: Any) -> dict[str, Any]:
    attachment = {"type": kind, **more}
    return {
        "type": "attachment", "uuid": uuid, "parentUuid": parent, "attachment": attachment,
    }  # fmt: skip


def test_a_queued_prompt_and_what_hooks_say_are_shown(read: Any) -> None:
    blocked = {"blockingError": "not this", "command": "check"}
    queued = {"prompt": "and this", "commandMode": "prompt"}
    entries = read(
        user("1", None, "go"),
        attached("2", "1", "hook_success", hookName="UserPromptSubmit", content="be brief"),
        attached("3", "2", "hook_success", hookName="Stop", content="", stdout="{}", exitCode=0),
        says("4", "3", tool("t")),
        user("5", "4", result("t", "x")),
        attached("6", "5", "hook_blocking_error", hookName="PostToolUse", blockingError=blocked),
        attached("7", "6", "hook_additional_context", hookName="Pre", content=["one", "two"]),
        attached("8", "7", "hook_non_blocking_error", hookEvent="Stop", stderr="oh", exitCode=1),
        attached("9", "8", "queued_command", **queued),
        attached("10", "9", "queued_command", prompt="a task", commandMode="task-notification"),
        {"type": "system", "subtype": "informational", "uuid": "11", "parentUuid": "10",
         "content": "A notice."},
        says("12", "11", "done"),
    )  # fmt: skip
    items = conversation_items(entries, {}, {})
    assert [(item.kind, item.title, item.text) for item in items if item.kind != "tool"] == [
        ("prompt", None, "go"),
        ("note", "hook UserPromptSubmit", "be brief"),
        ("note", "hook PostToolUse", "not this"),
        ("note", "hook Pre", "one\ntwo"),
        ("note", "hook Stop", "oh"),
        ("prompt", "queued", "and this"),
        ("note", "queued", "a task"),
        ("note", None, "A notice."),
        ("answer", None, "done"),
    ]
    assert [answer.text for answer in prompt_answers(entries)] == ["done"]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ('529 {"type":"error","error":{"message":"Overloaded"}}', "Overloaded"),
        ('529 {"type":"err', '529 {"type":"err'),
        ("Connection error.", "Connection error."),
        (None, "the call failed"),
    ],
)
def test_an_api_error_has_the_message_of_the_api(read: Any, message: Any, shown: str) -> None:
    line = {"type": "system", "subtype": "api_error", "error": {"message": message}}
    (item,) = conversation_items(read(line), {}, {})
    assert (item.kind, item.text) == ("api-error", shown)


def test_a_command_of_the_client_is_no_prompt(read: Any) -> None:
    entries = read(
        user("1", None, "go"),
        says("2", "1", "done"),
        user("3", "2", "<local-command-caveat>", isMeta=True),
        user("4", "3", "<command-name>/exit</command-name>"),
        user("5", "4", "<local-command-stdout>Bye</local-command-stdout>"),
    )
    assert [(answer.text, answer.is_whole) for answer in prompt_answers(entries)] == [
        ("done", True)
    ]


def test_an_answer_ends_with_its_last_block(read: Any) -> None:
    thought = {"type": "thinking", "thinking": "So."}
    silent = says("3", "2", thought)
    silent["message"]["stop_reason"] = "end_turn"
    (answer,) = prompt_answers(read(user("1", None, "go"), says("2", "1", "Said."), silent))
    assert (answer.parts, answer.is_whole, answer.printed) == (("",), True, "\n")


def test_an_empty_answer_is_recorded_by_the_stop_hook_alone(read: Any) -> None:
    lines = [
        user("1", None, "go"),
        says("2", "1", "Let me look.", tool("t")),
        user("3", "2", result("t", "x")),
    ]
    stop = {"type": "system", "subtype": "stop_hook_summary", "uuid": "4", "parentUuid": "3"}
    (open_,) = prompt_answers(read(*lines))
    assert (open_.text, open_.is_whole) == ("Let me look.", False)
    (ended,) = prompt_answers(read(*lines, stop))
    assert (ended.text, ended.is_whole) == ("", True)


def test_a_structured_output_is_the_answer(read: Any) -> None:
    given = {"type": "structured_output", "data": {"name": "lab", "n": [1]}}
    lines = [
        user("1", None, "go"),
        says("2", "1", "Here it is.", tool("t")),
        {"type": "attachment", "uuid": "3", "parentUuid": "2", "attachment": given},
        user("4", "2", result("t", "provided")),
    ]
    (answer,) = prompt_answers(read(*lines))
    assert (answer.printed, answer.is_whole) == ('{"name":"lab","n":[1]}\n', True)
    (answer,) = prompt_answers(read(*lines, says("5", "4", "All set.")))  # 2.1.168 asks again
    assert (answer.printed, answer.is_whole) == ("All set.\n", True)


@pytest.mark.parametrize(
    ("said", "printed"), [("a", "a\n"), ("a\n", "a\n"), ("a\n\n", "a\n\n"), ("  ", "  \n")]
)
def test_a_line_is_ended_once(read: Any, said: str, printed: str) -> None:
    (answer,) = prompt_answers(read(user("1", None, "go"), says("2", "1", said)))
    assert answer.printed == printed


def test_an_interrupted_prompt_has_no_answer(read: Any) -> None:
    stopped = [{"type": "text", "text": "[Request interrupted by user]"}]
    entries = read(
        user("1", None, "go"), says("2", "1", "One."), user("3", "2", "on"), user("4", "3", stopped)
    )
    first, last = prompt_answers(entries)
    assert (first.is_whole, last.parts, last.is_interrupted) == (True, (), True)


def test_a_tool_call_after_the_last_text_is_not_the_end(read: Any) -> None:
    entries = read(user("1", None, "go"), says("2", "1", "Let me look."), says("3", "2", tool("t")))
    (answer,) = prompt_answers(entries)
    assert (answer.text, answer.is_whole) == ("Let me look.", False)


@pytest.mark.parametrize("value", [None, 7, "text", ["a"], {"x": []}, True])
def test_any_type_in_any_field_is_read(read: Any, value: Any) -> None:
    names = ("uuid", "parentUuid", "message", "origin", "timestamp", "attachment", "requestId")
    kinds = ("user", "assistant", "system", "attachment")
    lines = [{"type": kind, name: value} for kind in kinds for name in names]
    blocks = [{"type": kind, "text": value, "id": value, "name": value, "input": value,
               "tool_use_id": value, "content": value, "thinking": value}
              for kind in ("text", "tool_use", "tool_result", "thinking", "odd")]  # fmt: skip
    lines += [{"type": kind, "message": {"id": value, "content": blocks}} for kind in kinds]
    entries = read(*lines)
    conversation_items(entries, {}, {})
    prompt_answers(entries)
