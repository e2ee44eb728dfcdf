import os
from pathlib import Path

from correlate.transcript.lineage import FirstAnswers, rewinds, summary_of, was_resumed
from correlate.transcript.locate import ClaudeDir
from correlate.transcript.reader import read_transcript
from lab.made_session import MadeSession

SESSION = "11111111-2222-4333-8444-555555555555"


def test_a_compaction_has_its_numbers_its_summary_and_what_was_lost(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("one")
    made.call()
    made.prompt("two")
    made.call()
    meta = {"trigger": "auto", "preTokens": 900, "postTokens": 90, "durationMs": 5}
    kept = {"preservedMessages": {"uuids": ["u1"]}}
    made.system("compact_boundary", compactMetadata=meta | kept, logicalParentUuid="u4")
    made.prompt("The summary.")
    made.lines[-1]["isCompactSummary"] = True
    made.call()
    made.system("compact_boundary", compactMetadata={"trigger": "manual"})
    made.write(tmp_path)
    first, second = read_transcript(ClaudeDir(tmp_path).session(SESSION)).compactions
    assert (first.trigger, first.pre_tokens, first.post_tokens) == ("auto", 900, 90)
    assert (first.lost_messages, first.preserved, first.logical_parent) == (3, 1, "u4")
    assert summary_of(first) == "The summary."
    assert (second.trigger, second.lost_messages, summary_of(second)) == ("manual", 3, None)


def test_the_older_file_with_the_same_first_answer_is_the_origin(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call()
    first = made.write(tmp_path)
    fork = first.with_name("fork.jsonl")
    fork.write_bytes(first.read_bytes())
    os.utime(first, (1000, 1000))
    other = MadeSession("other")
    other.call()
    alone = other.write(tmp_path)
    answers = FirstAnswers()
    assert [answers.origin(path) for path in (first, fork, alone)] == [None, SESSION, None]
    assert answers.origin(first.with_name("gone.jsonl")) is None


def test_a_pause_is_no_evidence_of_a_resume() -> None:
    assert was_resumed([], 0, 1) is None
    assert was_resumed(["startup"], 1, 1) is False
    assert was_resumed(["startup", "resume"], 1, 1) is True
    assert was_resumed([None], 2, 1) is True
    assert was_resumed([], 0, 2) is True


def test_prompts_with_the_same_parent_are_rewinds_but_parallel_tools_are_not() -> None:
    prompt = {"type": "user", "parentUuid": "a", "message": {"content": "Go"}}
    result = {"content": [{"type": "tool_result", "tool_use_id": "t"}]}
    assert rewinds([prompt, prompt | {"message": "Go on"}, prompt | {"parentUuid": "b"}]) == 1
    assert rewinds([prompt, prompt | {"isSidechain": True}, prompt | {"message": result}]) == 0
    assert rewinds([prompt | {"parentUuid": None}] * 2) == 0
