"""The turns of an uncaptured session as rows of the page."""

from pathlib import Path

from correlate.reconcile.session import SessionReconciler
from correlate.report.model import page_model
from correlate.report.source import read_source
from correlate.transcript.locate import ClaudeDir
from lab.made_session import MadeSession, iso

SESSION = "6f1c0000-0000-4000-8000-000000000001"


def test_a_turn_is_drawn_with_what_was_asked_and_answered(tmp_path: Path) -> None:
    made = MadeSession(SESSION, version="2.1.39", final=False)
    made.prompt("Please look at the file.")
    made.call(("text", "tool_use"), output=249, texts=("I look.", "ls"))
    made.tool_result("some output")
    made.call(("text",), output=80, texts=("Done.",))
    made.write(tmp_path)
    claude = ClaudeDir(tmp_path)
    session = SessionReconciler({}, claude).reconcile(None, SESSION)
    first, second = page_model(read_source(None, session, claude))["turns"]
    assert [piece["text"] for piece in first["content"]["request"]["pieces"]] == [
        "Please look at the file."
    ]
    assert first["content"]["request"]["since"] is None
    assert [piece["text"] for piece in second["content"]["request"]["pieces"]] == ["some output"]
    assert second["content"]["request"]["since"] == 1
    assert [piece["text"] for piece in second["content"]["answer"]] == ["Done."]
    assert first["started"] < first["ended"] < second["ended"]
    assert second["tokens"][-1] == 2


def test_a_result_with_its_own_line_was_asked_before_the_turn(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(("text",), texts=("I look.",))
    head = {"sessionId": SESSION, "timestamp": iso(made.now + 5)}
    made.lines.append({**head, "type": "tool_result", "tool_use_id": "t", "content": "some output"})
    made.now += 10
    made.call(("text",), texts=("Done.",))
    made.write(tmp_path)
    claude = ClaudeDir(tmp_path)
    session = SessionReconciler({}, claude).reconcile(None, SESSION)
    first, second = page_model(read_source(None, session, claude))["turns"]
    assert [piece["text"] for piece in second["content"]["request"]["pieces"]] == ["some output"]
    assert (first["is_timed"], second["is_timed"]) == (False, True)
