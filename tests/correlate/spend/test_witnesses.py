"""The client's statistics are compared with what they count: lines up to a UTC day."""

from pathlib import Path
from typing import Any

import orjson

from correlate.spend.witnesses import Statistics, statistics
from correlate.transcript.client_records import read_stats_cache
from tests.correlate.spend.made import answer, collected, write


def _found(claude_dir: Path, **used: Any) -> Statistics:
    stats = {"lastComputedDate": "2026-11-05", "modelUsage": {"claude-opus-4-5": used}}
    (claude_dir / "stats-cache.json").write_bytes(orjson.dumps(stats))
    found = statistics(collected(claude_dir), read_stats_cache(claude_dir))
    assert found is not None
    return found


def test_a_split_answer_and_its_fork_count_as_often_as_they_have_lines(tmp_path: Path) -> None:
    lines = [answer("m1", "r1", 5), answer("m1", "r1", 5)]
    write(tmp_path, "one.jsonl", *lines)
    write(tmp_path, "fork.jsonl", *lines)
    found = _found(tmp_path, inputTokens=40, outputTokens=20)
    assert (found.calls.output, found.lines.output) == (5, 20)
    assert found.beyond_calls["claude-opus-4-5"].output == 15
    assert found.beyond_lines == {}


def test_what_was_deleted_and_what_came_after_the_last_day_are_apart(tmp_path: Path) -> None:
    late = answer("m2", "r2", 7, at="2026-11-06T00:00:00Z")
    write(tmp_path, "one.jsonl", answer("m1", "r1", 5), late)
    found = _found(tmp_path, inputTokens=10, outputTokens=105)
    assert found.beyond_lines["claude-opus-4-5"].output == 100
    assert found.beyond_calls == found.beyond_lines
