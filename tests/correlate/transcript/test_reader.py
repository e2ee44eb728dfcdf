from pathlib import Path
from typing import Any

import orjson

from correlate.transcript.agents import Agent
from correlate.transcript.locate import ClaudeDir
from correlate.transcript.reader import Transcript, read_transcript
from lab.made_session import MadeSession, write_lines

SESSION = "11111111-2222-4333-8444-555555555555"


def read(claude_dir: Path) -> Transcript:
    return read_transcript(ClaudeDir(claude_dir).session(SESSION))


def test_turns_are_read_from_all_of_a_sessions_files(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("go")
    made.call(("text", "tool_use"), output=249)
    made.tool_result("x" * 1000)
    made.call(agent_id="a1", output=7)
    made.write(tmp_path)
    found = read(tmp_path)
    assert [(turn.agent_id, len(turn.places)) for turn in found.turns] == [(None, 2), ("a1", 1)]
    assert found.records == {"user": 2, "assistant": 3}
    assert found.versions == ("2.1.325",)
    assert found.cwd == "/home/lab/project"
    assert found.bad_lines == ()


def test_bad_lines_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call()
    path = made.write(tmp_path)
    path.write_bytes(b"\n" + path.read_bytes() + b"{broken\n" + b'{"type":"assi')
    found = read(tmp_path)
    assert [(bad.line, bad.reason) for bad in found.bad_lines] == [
        (1, "blank"),
        (3, "malformed"),
        (4, "cut"),
    ]
    assert len(found.turns) == 1


def test_unknown_records_are_counted(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.lines += [{"type": "brand-new"}, {"type": "brand-new"}, {"no": "type"}]
    made.write(tmp_path)
    assert read(tmp_path).records == {"brand-new": 2, "untyped": 1}


def test_the_last_cost_record_counts(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.cost_state(0.1, {})
    made.cost_state(0.2, {})
    made.write(tmp_path)
    state = read(tmp_path).cost_state
    assert state is not None
    assert state.total_usd == 0.2


def test_the_last_cost_record_is_that_of_the_newest_file(tmp_path: Path) -> None:
    for cwd, now, usd in (("/home/z", 1_794_000_000.0, 0.5), ("/home/a", 1_794_009_000.0, 1.0)):
        made = MadeSession(SESSION, cwd=cwd, now=now)
        made.call()
        made.cost_state(usd, {})
        made.write(tmp_path)
    state = read(tmp_path).cost_state
    assert state is not None
    assert state.total_usd == 1.0


def test_answers_without_ids_and_with_equal_usage_are_apart_after_a_prompt(tmp_path: Path) -> None:
    usage = {"input_tokens": 10, "output_tokens": 1}
    answer = {"type": "assistant", "message": {"content": "Yes.", "usage": usage}}
    prompt = {"type": "user", "message": "And now?"}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "out"}
    made = MadeSession(SESSION)
    made.lines = [prompt, answer, answer, prompt, answer, result, answer]
    made.write(tmp_path)
    assert [len(turn.places) for turn in read(tmp_path).turns] == [2, 1, 1]


def test_compactions_and_retries_are_kept(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.system("api_error", error={"requestId": "req_1", "status": 529}, retryAttempt=1)
    made.system("compact_boundary", compactMetadata={"trigger": "auto", "preTokens": 5})
    made.write(tmp_path)
    found = read(tmp_path)
    assert [error.request_id for error in found.api_errors] == ["req_1"]
    assert [compaction.line for compaction in found.compactions] == [2]


def test_a_subagents_type_comes_from_the_tool_call_first(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(("tool_use",))
    _launch(made.lines[-1], "toolu_x", "Explore", "look around")
    made.call(agent_id="a1")
    path = made.write(tmp_path)
    meta = path.parent / SESSION / "subagents" / "agent-a1.meta.json"
    meta.write_bytes(orjson.dumps({"agentType": "from-meta", "toolUseId": "toolu_x"}))
    assert read(tmp_path).agents == {
        "a1": Agent(
            agent_id="a1",
            type="Explore",
            type_from="tool call",
            tool_use_id="toolu_x",
            description="made up",
        )
    }


def test_a_subagents_type_comes_from_meta_json_without_a_tool_call(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(agent_id="a1")
    path = made.write(tmp_path)
    meta = path.parent / SESSION / "subagents" / "agent-a1.meta.json"
    meta.write_bytes(orjson.dumps({"agentType": "from-meta"}))
    agent = read(tmp_path).agents["a1"]
    assert (agent.type, agent.type_from) == ("from-meta", "meta.json")
    meta.write_bytes(b"{half")
    assert read(tmp_path).agents["a1"].type is None


def test_a_sidechain_among_the_sessions_lines_is_an_agent(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(("tool_use",))
    _launch(made.lines[-1], "toolu_x", "general-purpose", "look around")
    for _ in range(2):
        made.prompt("look around", "side")
        made.call(agent_id="side")
    lines = made.agent_lines.pop("side")
    for line in lines:
        del line["agentId"]
    lines[2]["parentUuid"] = None  # a second errand begins
    made.lines += lines
    made.write(tmp_path)
    found = read(tmp_path)
    agents = [turn.agent_id for turn in found.turns if turn.sidechain]
    assert len(set(agents)) == 2
    assert {agent.type for agent in found.agents.values()} == {"general-purpose"}
    assert all(name and name.startswith("sidechain-") for name in agents)


def test_progress_adds_up_to_the_bytes_read(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    for _ in range(20):
        made.call()
        made.tool_result("y" * 10_000)
    path = made.write(tmp_path)
    steps: list[int] = []
    read_transcript(ClaudeDir(tmp_path).session(SESSION), steps.append)
    assert sum(steps) == path.stat().st_size


def test_a_line_of_megabytes_is_one_line(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call()
    made.tool_result("z" * 3_000_000)
    made.call()
    made.write(tmp_path)
    assert [turn.places[0].line for turn in read(tmp_path).turns] == [1, 3]


def test_titles_are_read(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    path = made.write(tmp_path)
    write_lines(path, [{"type": "summary", "summary": "Old"}, {"type": "ai-title", "aiTitle": "N"}])
    assert read(tmp_path).title == "N"


def _launch(line: dict[str, Any], tool_use_id: str, kind: str, prompt: str) -> None:
    """Turn a made-up tool call into one that launches a subagent."""
    given = {"subagent_type": kind, "prompt": prompt, "description": "made up"}
    block = {"type": "tool_use", "id": tool_use_id, "name": "Task", "input": given}
    line["message"]["content"] = [block]
