"""Transcripts in the shapes that adapters of other tools write."""

import base64
from pathlib import Path
from typing import Any

import orjson
import pytest

from correlate.transcript.conversation import read_conversation
from correlate.transcript.locate import ClaudeDir
from correlate.transcript.reader import Transcript, read_transcript
from correlate.transcript.titles import title_of
from lab.made_session import write_lines

SESSION = "11111111-2222-4333-8444-555555555555"
LAUNCH = {"subagent_type": "Explore", "prompt": "look", "description": "Look around"}


def main_file(root: Path, *lines: dict[str, Any], folder: str = "-p") -> Path:
    path = root / "projects" / folder / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_lines(path, [{"sessionId": SESSION, "cwd": "/p", **line} for line in lines])
    return path


def agent_file(root: Path, agent_id: str = "abc123") -> None:
    folder = root / "projects" / "-p" / "subagents"
    folder.mkdir(parents=True)
    usage = {"input_tokens": 3, "output_tokens": 5}
    message = {"id": "msg_a", "usage": usage, "stop_reason": "end_turn", "content": []}
    line = {"type": "assistant", "isSidechain": True, "sessionId": SESSION, "message": message}
    write_lines(folder / f"agent-{agent_id}.jsonl", [line])
    write_lines(folder / "agent-other.jsonl", [line | {"sessionId": "another"}])


def read(root: Path) -> Transcript:
    return read_transcript(ClaudeDir(root).session(SESSION))


def test_a_message_may_be_a_bare_string(tmp_path: Path) -> None:
    path = main_file(
        tmp_path,
        {"type": "user", "message": "Mend the roof"},
        {"type": "assistant", "message": "Done."},
    )
    (turn,) = read(tmp_path).turns
    assert [block.type for block in turn.blocks] == ["text"]
    conversation = read_conversation(ClaudeDir(tmp_path).session(SESSION))
    assert [entry.blocks[0]["text"] for entry in conversation.entries] == ["Mend the roof", "Done."]
    assert conversation.final_text() == "Done."
    assert title_of(path) == "Mend the roof"


@pytest.mark.parametrize("is_type_first", [True, False])
def test_tool_calls_and_results_may_be_lines_of_their_own(
    tmp_path: Path, is_type_first: bool
) -> None:
    call: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "Task", "input": LAUNCH}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok\nagentId: abc123 (done)"}
    plain = {"type": "tool_result", "tool_use_id": "t2", "content": "x", "is_error": True}
    lines = [call, call | {"id": "t2", "name": "Bash", "input": {}}, result, plain]
    path = main_file(tmp_path, *lines)
    if is_type_first:
        write_lines(path, lines)
    agent_file(tmp_path)
    found = read(tmp_path)
    agent = found.agents["abc123"]
    assert (agent.type, agent.tool_use_id, agent.description) == ("Explore", "t1", "Look around")
    assert (found.records["tool_use"], found.records["tool_result"]) == (2, 2)
    calls = read_conversation(ClaudeDir(tmp_path).session(SESSION)).tool_calls()
    assert [(c.name, c.is_error) for c in calls] == [("Task", False), ("Bash", True)]
    assert calls[0].input == LAUNCH


@pytest.mark.parametrize(("tool", "linked"), [("Task", "t1"), ("Agent", "t1"), ("Read", None)])
def test_an_agent_may_be_named_only_in_the_text_of_its_result(
    tmp_path: Path, tool: str, linked: str | None
) -> None:
    block = {"type": "tool_use", "id": "t1", "name": tool, "input": LAUNCH}
    texts = [{"type": "text", "text": "All good."}, {"type": "text", "text": "agentId: abc123"}]
    result = {"type": "tool_result", "tool_use_id": "t1", "content": texts}
    main_file(
        tmp_path,
        {"type": "assistant", "message": {"id": "msg_1", "content": [block]}},
        {"type": "user", "message": {"role": "user", "content": [result]}},
    )
    agent_file(tmp_path)
    assert read(tmp_path).agents["abc123"].tool_use_id == linked


def test_subagents_may_be_in_one_folder_of_the_project(tmp_path: Path) -> None:
    main_file(tmp_path, {"type": "user", "message": "Go"})
    agent_file(tmp_path)
    assert [agent.agent_id for agent in ClaudeDir(tmp_path).session(SESSION).agents] == ["abc123"]
    assert [turn.agent_id for turn in read(tmp_path).turns] == ["abc123"]


@pytest.mark.parametrize("is_padded", [True, False])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_base64_folder_is_found_by_cwd(tmp_path: Path, encode: Any, is_padded: bool) -> None:
    cwd = "/home/lab/x~~?"  # its urlsafe form differs
    name = encode(cwd.encode()).decode().replace("/", "_")
    name = name if is_padded else name.rstrip("=")
    path = main_file(tmp_path, {"type": "user", "cwd": cwd}, folder=name)
    assert ClaudeDir(tmp_path).sessions_of(cwd) == [path]
    assert ClaudeDir(tmp_path).sessions_of("/home/lab/y") == []


def test_lines_of_tool_results_stay_unparsed(tmp_path: Path) -> None:
    path = main_file(tmp_path)
    path.write_bytes(b'{"type":"tool_result","content":"half' + b"\n")
    assert read(tmp_path).bad_lines == ()
    assert orjson.dumps(dict(read(tmp_path).records)) == b'{"tool_result":1}'
