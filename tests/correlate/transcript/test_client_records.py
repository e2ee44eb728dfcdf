from pathlib import Path

import orjson

from ccwire.wire.usage import Tokens
from correlate.transcript.client_records import (
    StatsCache,
    Todo,
    TypedPrompt,
    read_history,
    read_plan,
    read_stats_cache,
    read_todos,
    short_of,
)


def test_the_clients_count_is_read(tmp_path: Path) -> None:
    usage = {"inputTokens": 1, "outputTokens": 2, "cacheReadInputTokens": 3}
    stats = {
        "version": 2,
        "lastComputedDate": "2026-11-15",
        "totalSessions": 4,
        "totalMessages": 5,
        "modelUsage": {"claude-opus-5-5": usage, "odd": None},
    }
    (tmp_path / "stats-cache.json").write_bytes(orjson.dumps(stats))
    found = read_stats_cache(tmp_path)
    assert found == StatsCache(
        "2026-11-15", 4, 5, {"claude-opus-5-5": Tokens(input=1, output=2, cache_read=3)}
    )


def test_a_count_that_is_not_there_or_not_whole_is_none(tmp_path: Path) -> None:
    assert read_stats_cache(tmp_path) is None
    for text in ("{half", "[]"):
        (tmp_path / "stats-cache.json").write_text(text)
        assert read_stats_cache(tmp_path) is None


def test_models_that_disagree_are_named_with_the_difference() -> None:
    stats = StatsCache(None, None, None, {"a": Tokens(output=5), "b": Tokens(output=1)})
    counted = {"a": Tokens(output=3), "b": Tokens(output=1), "c": Tokens(output=2)}
    assert short_of(stats, counted) == {"a": Tokens(output=2), "c": Tokens(output=-2)}


def test_typed_prompts_are_read(tmp_path: Path) -> None:
    assert list(read_history(tmp_path)) == []
    (tmp_path / "history.jsonl").write_text(
        '{"display":"hi","timestamp":1500,"project":"/p","sessionId":"s1"}\n'
        "{broken\n"
        '{"display":"older client","project":"/p"}\n'
    )
    assert list(read_history(tmp_path)) == [
        TypedPrompt("hi", 1.5, "/p", "s1"),
        TypedPrompt("older client", None, "/p", None),
    ]


def test_todos_are_read_by_agent(tmp_path: Path) -> None:
    folder = tmp_path / "todos"
    folder.mkdir()
    items = [{"content": "Mend", "status": "pending", "activeForm": "Mending"}, 7, {"content": 1}]
    (folder / "s1-agent-s1.json").write_bytes(orjson.dumps(items))
    (folder / "s1-agent-a1.json").write_text("[]")
    (folder / "s2-agent-s2.json").write_bytes(orjson.dumps(items))
    assert read_todos(tmp_path, "s1") == {"s1": (Todo("Mend", "pending", "Mending"),)}
    assert read_todos(tmp_path / "none", "s1") == {}


def test_todos_of_the_oldest_clients_name_no_agent(tmp_path: Path) -> None:
    (tmp_path / "todos").mkdir()
    items = [{"content": "Mend", "status": "completed", "priority": "high", "id": "1"}]
    (tmp_path / "todos" / "s1.json").write_bytes(orjson.dumps(items))
    assert read_todos(tmp_path, "s1") == {"s1": (Todo("Mend", "completed", None),)}


def test_tasks_have_a_file_each_in_a_folder_of_the_session(tmp_path: Path) -> None:
    folder = tmp_path / "tasks" / "s1"
    folder.mkdir(parents=True)
    for number, subject in ((10, "Sweep"), (2, "Paint"), (1, "Mend")):
        task = {"id": str(number), "subject": subject, "status": "pending", "blocks": []}
        (folder / f"{number}.json").write_bytes(orjson.dumps(task))
    (folder / ".lock").touch()
    (folder / "3.json").write_text("{half")
    (folder / "4.json").write_text("[]")
    found = read_todos(tmp_path, "s1")
    assert [todo.content for todo in found["s1"]] == ["Mend", "Paint", "Sweep"]
    assert read_todos(tmp_path, "s2") == {}
    assert read_todos(tmp_path, "../tasks/s1") == {}


def test_a_plan_is_found_by_slug_and_never_outside_its_folder(tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "calm-roof.md").write_text("# Plan")
    (tmp_path / "other.md").write_text("not a plan")
    assert read_plan(tmp_path, "calm-roof") == "# Plan"
    assert read_plan(tmp_path, "../other") is None
    assert read_plan(tmp_path, None) is None


def test_history_is_chosen_by_project(tmp_path: Path) -> None:
    lines = [{"display": "a", "project": "/x"}, {"display": "b", "project": "/y"}]
    (tmp_path / "history.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)))
    assert [prompt.text for prompt in read_history(tmp_path, "/y")] == ["b"]
