import json
import os
from pathlib import Path
from typing import Any

import pytest

from correlate.transcript.about import About, read_about
from correlate.transcript.conversation import read_conversation
from correlate.transcript.lineage import HookRecords
from correlate.transcript.locate import ClaudeDir
from correlate.transcript.reader import read_transcript
from lab.made_session import MadeSession, iso

SESSION = "11111111-2222-4333-8444-555555555555"
TODOS = [
    {"content": "Write the test", "status": "completed", "activeForm": "Writing"},
    {"content": "Fix the bug", "status": "in_progress"},
]


def about(claude_dir: Path, session_id: str = SESSION, **hooks: Any) -> About:
    claude = ClaudeDir(claude_dir)
    files = claude.session(session_id)
    entries = read_conversation(files).entries
    return read_about(claude, read_transcript(files), entries, HookRecords(**hooks))


def test_a_session_has_its_branch_name_todos_and_plan(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("Go")
    made.call()
    made.lines[-1] |= {"gitBranch": "feature/lamp", "slug": "happy-otter"}
    made.write(tmp_path)
    (tmp_path / "todos").mkdir()
    (tmp_path / "todos" / f"{SESSION}-agent-{SESSION}.json").write_text(json.dumps(TODOS))
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "happy-otter.md").write_text("# The plan\n")
    found = about(tmp_path, sources=["startup", "resume"], processes=2)
    assert (found.branches, found.slug, found.plan) == (
        ("feature/lamp",),
        "happy-otter",
        "# The plan\n",
    )
    assert [(todo.content, todo.status) for todo in found.todos[SESSION]] == [
        ("Write the test", "completed"),
        ("Fix the bug", "in_progress"),
    ]
    told = found.to_json()
    assert (told["forked_from"], told["resumed"], told["rewinds"]) == (None, True, 0)
    assert told["todos"][SESSION][1]["status"] == "in_progress"


def test_a_fork_names_its_origin_and_a_rewind_is_counted(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("Go")
    made.call()
    last = made.lines[-1]["uuid"]
    made.prompt("One way")
    made.call()
    made.prompt("Another way")
    made.lines[-1]["parentUuid"] = last
    made.call()
    origin = made.write(tmp_path)
    assert about(tmp_path).rewinds == 1
    fork = origin.with_name("22222222-2222-4333-8444-555555555555.jsonl")
    fork.write_bytes(origin.read_bytes())
    os.utime(origin, (1000, 1000))
    assert about(tmp_path, fork.stem).lineage.forked_from == SESSION
    assert about(tmp_path).lineage.forked_from is None


def test_parallel_tools_are_no_rewinds(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("Go")
    made.call(("tool_use",))
    asked = made.lines[-1]["uuid"]
    for text in ("one", "two"):
        made.tool_result(text)
        made.lines[-1]["parentUuid"] = asked
    made.call()
    made.write(tmp_path)
    assert about(tmp_path).rewinds == 0


@pytest.mark.parametrize("parent", ["boundary", "unknown", "none"])
def test_a_compaction_is_no_rewind(tmp_path: Path, parent: str) -> None:
    """The summary and the command are written after the boundary, and have earlier times.

    The boundary may name a parent that is not in the file; releases 1.0 write no boundary.
    """
    made = MadeSession(SESSION)
    made.prompt("Go")
    made.call()
    if parent != "none":
        last = made.lines[-1]["uuid"]
        made.system("compact_boundary", compactMetadata={"trigger": "manual"})
        named = last if parent == "boundary" else "not written"
        made.lines[-1] |= {"parentUuid": None, "logicalParentUuid": named}
    made.prompt("The summary.")
    made.lines[-1]["isCompactSummary"] = True
    if parent == "none":
        made.lines[-1]["parentUuid"] = None
    for text in ("Caveat", "<command-name>/compact</command-name>"):
        made.prompt(text)
        made.lines[-1]["timestamp"] = iso(made.now - 30)
    made.prompt("Go on")
    made.call()
    made.prompt("Caveat")
    made.lines[-1] |= {"isMeta": True, "timestamp": iso(made.now + 60)}
    made.prompt("<command-name>/exit</command-name>")
    made.write(tmp_path)
    assert about(tmp_path).rewinds == 0


def test_a_compaction_has_its_numbers_and_its_summary(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("Go")
    made.call()
    meta = {"trigger": "auto", "preTokens": 900, "postTokens": 90, "durationMs": 5}
    made.system("compact_boundary", compactMetadata=meta)
    made.prompt("The summary.")
    made.lines[-1]["isCompactSummary"] = True
    made.write(tmp_path)
    (compaction,) = about(tmp_path).compactions
    assert {name: compaction[name] for name in compaction if name != "at"} == {
        "trigger": "auto",
        "pre_tokens": 900,
        "post_tokens": 90,
        "duration_ms": 5,
        "lost_messages": 2,
        "preserved_messages": None,
        "summary": "The summary.",
    }


def test_a_session_without_files_has_nothing(tmp_path: Path) -> None:
    told = about(tmp_path).to_json()
    assert not any(told.values())
