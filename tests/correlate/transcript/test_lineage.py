import os
from pathlib import Path

import pytest

from correlate.transcript.lineage import FirstAnswers, HookRecords, lineage_of, summary_of
from correlate.transcript.locate import ClaudeDir
from correlate.transcript.reader import Transcript, read_transcript
from correlate.transcript.titles import title_of
from lab.made_session import MadeSession, iso, write_lines

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


@pytest.mark.parametrize("kept", ["later line", "session id"])
def test_a_copy_is_no_origin_although_it_is_older(tmp_path: Path, kept: str) -> None:
    made = MadeSession(SESSION)
    made.prompt("one")
    made.call()
    first = made.write(tmp_path)
    copied = [{**line, "sessionId": "fork"} for line in made.lines]
    if kept == "later line":
        later = {"type": "queue-operation", "sessionId": "fork", "timestamp": iso(made.now + 60)}
        copied.insert(0, later)
    else:
        copied[0]["sessionId"] = SESSION
    fork = first.with_name("fork.jsonl")
    write_lines(fork, copied)
    os.utime(fork, (1000, 1000))  # the origin was continued after the fork
    answers = FirstAnswers()
    assert [answers.origin(path) for path in (first, fork)] == [None, SESSION]


def test_the_first_releases_write_only_the_summary_of_a_compaction(tmp_path: Path) -> None:
    made = MadeSession(SESSION, version="1.0.100")
    for summary in ("The first.", "The second."):
        made.prompt("one")
        made.call()
        made.prompt(summary)
        made.lines[-1]["isCompactSummary"] = True
    made.call()
    made.write(tmp_path)
    first, second = read_transcript(ClaudeDir(tmp_path).session(SESSION)).compactions
    assert [summary_of(one) for one in (first, second)] == ["The first.", "The second."]
    assert [one.lost_messages for one in (first, second)] == [2, 3]
    assert (first.trigger, first.timestamp is None) == (None, False)


def test_the_fork_of_a_compacted_session_begins_with_the_compaction(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("one")
    made.call()
    made.system("compact_boundary", compactMetadata={"trigger": "manual", "preTokens": 900})
    made.prompt("The summary.")
    made.lines[-1]["isCompactSummary"] = True
    made.call()
    origin = made.write(tmp_path)
    fork = origin.with_name("fork.jsonl")
    fork.write_bytes(b"".join(origin.read_bytes().splitlines(keepends=True)[2:]))
    os.utime(fork, (1000, 1000))  # the origin was continued after the fork
    answers = FirstAnswers()
    assert [answers.origin(path) for path in (origin, fork)] == [None, SESSION]
    (compaction,) = read_transcript(ClaudeDir(tmp_path).session("fork")).compactions
    assert (compaction.pre_tokens, compaction.lost_messages) == (900, None)
    assert title_of(fork) is None


def test_a_pause_is_no_evidence_of_a_resume() -> None:
    nothing = ClaudeDir(Path("/nowhere")).session(SESSION)
    one = Transcript(files=nothing, versions=("1.0.0",))
    two = Transcript(files=nothing, versions=("1.0.0", "1.0.1"))
    assert lineage_of(one, None, HookRecords()).resumed is None
    assert lineage_of(one, None, HookRecords(["startup"], 1)).resumed is False
    assert lineage_of(one, None, HookRecords(["startup", "resume"], 1)).resumed is True
    assert lineage_of(one, None, HookRecords([None], 2)).resumed is True
    assert lineage_of(two, None, HookRecords()).resumed is True
    assert lineage_of(two, "origin", HookRecords()).resumed is None  # the other's lines
