from pathlib import Path

from ccwire.wire.usage import Tokens
from correlate.reconcile.session import SessionReconciler, TranscriptWait, narrowed
from correlate.reconcile.summary import summarize
from correlate.transcript.locate import ClaudeDir
from lab.made_session import MadeSession, iso, made_usage

SESSION = "11111111-2222-4333-8444-555555555555"


def test_a_session_in_a_few_figures(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(("text", "tool_use"))
    edit = {"type": "tool_use", "id": "t", "name": "Edit", "input": {"file_path": "/x"}}
    made.call(("tool_use",), usage=made_usage(9, 5))
    made.lines[-1]["message"]["content"] = [edit]
    made.call(agent_id="a1", usage=made_usage(50, 5))
    made.call()
    made.system("compact_boundary", compactMetadata={})
    made.write(tmp_path / "claude", tmp_path / "captures")
    reconciler = SessionReconciler(
        tmp_path / "captures", ClaudeDir(tmp_path / "claude"), TranscriptWait(tries=0)
    )
    found = summarize(reconciler.reconcile(tmp_path / "captures" / SESSION))
    assert (found.turns, found.agents, found.compactions) == (4, 1, 1)
    assert found.tool_calls == {"Bash": 1, "Edit": 1}
    assert found.files_written == ("/x",)
    assert found.context_last == Tokens.of(made_usage(4, 0)).context
    assert found.context_peak == Tokens.of(made_usage(9, 0)).context
    assert found.seconds == 7.5
    assert found.cache_share is not None
    assert 0.9 < found.cache_share < 1


def test_a_tool_call_with_its_own_line_is_counted(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(("text",))
    for name, agent in (("Bash", None), ("Edit", "a1")):
        given = {"file_path": "/x"}
        line = {"type": "tool_use", "id": name, "name": name, "input": given, "agentId": agent}
        made.lines.append({**line, "sessionId": SESSION, "timestamp": iso(made.now + 1)})
    made.write(tmp_path / "claude")
    session = SessionReconciler({}, ClaudeDir(tmp_path / "claude")).reconcile(None, SESSION)
    found = summarize(session)
    assert (found.tool_calls, found.files_written) == ({"Bash": 1, "Edit": 1}, ("/x",))
    assert summarize(narrowed(session, agent="main")).tool_calls == {"Bash": 1}
