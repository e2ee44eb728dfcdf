from pathlib import Path

import pytest

from correlate.transcript.conversation import Conversation, read_conversation
from correlate.transcript.locate import ClaudeDir
from lab.made_session import MadeSession

SESSION = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def made() -> MadeSession:
    made = MadeSession(SESSION)
    made.lines.append({"type": "mode", "mode": "normal"})
    made.prompt("go")
    made.call(("text", "tool_use"), texts=("I will.", "ls"))
    made.tool_result("a.txt")
    made.prompt("look", "a1")
    made.call(agent_id="a1", texts=("Seen.",))
    made.call(texts=("All done.",))
    return made


def read(made: MadeSession, folder: Path) -> Conversation:
    made.write(folder)
    return read_conversation(ClaudeDir(folder).session(SESSION))


def test_records_of_all_files_are_in_the_order_of_time(made: MadeSession, tmp_path: Path) -> None:
    found = read(made, tmp_path)
    assert [(entry.type, entry.agent_id) for entry in found.entries] == [
        ("mode", None),
        ("user", None),
        ("assistant", None),
        ("assistant", None),
        ("user", None),
        ("user", "a1"),
        ("assistant", "a1"),
        ("assistant", None),
    ]
    assert found.bad_lines == ()


def test_a_tool_call_is_paired_with_its_result(made: MadeSession, tmp_path: Path) -> None:
    (call,) = read(made, tmp_path).tool_calls()
    assert (call.name, call.input["command"], call.is_error) == ("Bash", "ls", False)
    assert call.result is not None
    assert call.result["content"] == "a.txt"
    assert call.detail["stdout"] == "a.txt"


def test_a_tool_call_without_a_result_has_none(made: MadeSession, tmp_path: Path) -> None:
    del made.lines[4]
    (call,) = read(made, tmp_path).tool_calls()
    assert (call.result, call.detail, call.is_error) == (None, None, False)


def test_records_form_a_tree(made: MadeSession, tmp_path: Path) -> None:
    children = read(made, tmp_path).children()
    assert [entry.line for entry in children[None]] == [2, 1]  # the main thread's and the agent's
    first = children[None][0]
    assert [entry.type for entry in children[first.uuid]] == ["assistant"]


def test_records_are_grouped_by_prompt(made: MadeSession, tmp_path: Path) -> None:
    made.lines[1]["promptId"] = made.lines[4]["promptId"] = "p1"
    assert [entry.line for entry in read(made, tmp_path).prompts()["p1"]] == [2, 5]


def test_the_final_text_is_the_main_threads_last_answer(made: MadeSession, tmp_path: Path) -> None:
    assert read(made, tmp_path).final_text() == "All done."


def test_the_final_text_is_the_last_block(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(("text", "thinking", "text"), texts=("One.", "hm", "Two."))
    assert read(made, tmp_path).final_text() == "Two."
    assert Conversation((), ()).final_text() is None
