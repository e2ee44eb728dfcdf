"""The page's data: the numbers of reconcile, and what the page needs to draw them."""

from pathlib import Path
from typing import Any

import pytest

from correlate.reconcile.as_json import session_json
from correlate.report.model import Model, page_model
from correlate.report.page import render
from correlate.report.source import Source
from tests.correlate.report.made import ReportSession, long_session, small_session

TWO_MEGABYTES = 2_000_000


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return small_session(final=False).source(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def model(source: Source) -> Model:
    return page_model(source)


def test_the_output_of_reconcile_is_included_in_full(source: Source, model: Model) -> None:
    assert model["reconcile"] == session_json(source.session, source.totals)


def test_rows_add_up_to_the_totals(model: Model) -> None:
    wire = model["reconcile"]["totals"]["wire"]
    transcript = model["reconcile"]["totals"]["transcript"]
    names = ["cache_read_input_tokens", "cache_creation_input_tokens"]
    names += ["input_tokens", "output_tokens"]
    rows = [call["tokens"] for call in model["calls"]]
    assert [sum(column) for column in zip(*rows, strict=True)] == [wire[name] for name in names]
    counted = [call["transcript_tokens"] for call in model["calls"] if call["transcript_tokens"]]
    assert [sum(column) for column in zip(*counted, strict=True)] == [
        transcript[name] for name in names
    ]


def test_the_header_describes_the_session(model: Model) -> None:
    about = model["about"]
    assert about["verdict"] == {
        "sentence": "6 of 6 calls explained; the transcript under-reports output by 99 %.",
        "tone": "warn",
    }
    assert (about["title"], about["project"]) == ("Please look at the file.", "/home/lab/project")
    assert about["started"] == model["reconcile"]["calls"][0]["started"]


def test_each_call_has_its_lane_and_outcome(model: Model) -> None:
    assert [(call["lane"], call["outcome"], call["label"]) for call in model["calls"]] == [
        ("main", "retried", "wire-only: retried"),
        ("main", "answered", "placeholder"),
        ("a1b2c3d4e5", "answered", "placeholder"),
        ("a1b2c3d4e5", "answered", "placeholder"),
        ("side", "answered", "wire-only: auxiliary"),
        ("main", "answered", "placeholder"),
    ]


def test_a_compaction_is_marked_at_its_time(tmp_path: Path) -> None:
    made = small_session()
    made.system("compact_boundary", compactMetadata={"trigger": "manual", "preTokens": 9})
    made.call(("text",))
    model = page_model(made.source(tmp_path))
    (at,) = model["compactions"]
    assert model["reconcile"]["calls"][5]["started"] < at


def test_what_the_clients_files_say_is_on_the_page(tmp_path: Path) -> None:
    made = small_session()
    made.system("compact_boundary", compactMetadata={"trigger": "manual", "preTokens": 9})
    made.prompt("The summary. " + 9000 * "It goes on. ")
    made.lines[-1]["isCompactSummary"] = True
    made.call(("text",))
    made.lines[-1]["slug"] = "happy-otter"
    todos = tmp_path / "claude" / "todos"
    todos.mkdir(parents=True)
    listed = '[{"content": "Go \\u001b[31m home", "status": "pending"}]'
    (todos / f"{made.session_id}-agent-{made.session_id}.json").write_text(listed)
    plans = tmp_path / "claude" / "plans"
    plans.mkdir()
    (plans / "happy-otter.md").write_text("# The plan")
    found = page_model(made.source(tmp_path))["client_files"]
    (compaction,) = found["compactions"]
    assert (compaction["trigger"], compaction["pre_tokens"]) == ("manual", 9)
    assert compaction["summary"]["text"].startswith("The summary. It goes on.")
    assert compaction["summary"]["left_out"] > 40_000
    assert found["plan"] == {"text": "# The plan", "left_out": 0}
    assert found["todos"] == [
        {"agent": None, "items": [{"text": "Go ␛[31m home", "status": "pending"}], "left_out": 0}
    ]
    assert (found["branches"], found["slug"], found["rewinds"]) == (["HEAD"], "happy-otter", 0)


def test_an_agent_has_its_task_beside_its_name(tmp_path: Path) -> None:
    made = small_session()
    made.write(tmp_path / "claude")
    meta = next((tmp_path / "claude").rglob("agent-*.jsonl")).with_suffix(".meta.json")
    meta.write_text('{"agentType": "Explore", "description": "Find the lamp"}')
    lanes = page_model(made.source(tmp_path))["lanes"]
    assert lanes[-1] == {
        "id": "a1b2c3d4e5",
        "name": "Explore a1b2c",
        "description": "Find the lamp",
    }


def test_two_sessions_stand_side_by_side(tmp_path: Path, source: Source) -> None:
    other = ReportSession("6f1c2d3e-0000-4000-8000-00000000000b")
    other.tools = other.tools[:1]
    other.prompt("The same without a lamp.")
    other.call(("text",), output=77)
    beside = page_model(source, other.source(tmp_path))["compare"]
    assert beside["reconcile"]["totals"]["wire"]["output_tokens"] == 77
    assert beside["about"]["verdict"]["tone"] == "good"
    assert beside["requests"][0]["tools"] == ["Bash"]
    assert beside["requests"][0]["servers"] == {}
    assert "calls" not in beside["reconcile"]


def test_a_session_of_which_nothing_was_captured_is_a_page(tmp_path: Path) -> None:
    model = page_model(ReportSession("6f1c2d3e-0000-4000-8000-00000000000c").source(tmp_path))
    assert model["about"]["verdict"]["sentence"] == "No call of this session was captured."
    assert model["about"]["started"] is None
    assert model["calls"] == []


def heavy(calls: int) -> ReportSession:
    """Each call has more text than fits, full of characters that are escaped."""
    made = ReportSession("6f1c2d3e-0000-4000-8000-00000000000d")
    for number in range(calls):
        made.said.clear()
        made.prompt(f"<p>{number}&" * 700)
        made.tool_result("漢<é" * 1_500)
        made.call(("text", "tool_use"), texts=('"<>&\\\n' * 1_000, "<" * 4_000))
    return made


def test_two_hundred_heavy_calls_stay_under_two_megabytes(tmp_path: Path) -> None:
    page = render(page_model(heavy(200).source(tmp_path))).encode()
    assert 1_000_000 < len(page) < TWO_MEGABYTES


def test_what_was_cut_names_the_rest(tmp_path: Path) -> None:
    content: Any = page_model(heavy(40).source(tmp_path))["calls"][3]["content"]
    assert all(piece["left_out"] > 1_000 for piece in content["answer"])
    assert content["response_file"] == "0004_resp_v1_messages.json"


def test_a_long_session_keeps_a_little_of_every_call(tmp_path: Path) -> None:
    model = page_model(long_session(300).source(tmp_path))
    assert all(call["content"]["answer"][0]["text"] for call in model["calls"])
