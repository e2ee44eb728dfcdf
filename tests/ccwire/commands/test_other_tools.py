"""Every reading command on transcripts in the shapes that adapters of other tools write."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ccwire.cli import main
from correlate.transcript.locate import slug_of
from lab.made_session import MadeSession, write_lines

SESSION = "6f1c0000-0000-4000-8000-000000000002"
CWD = "/home/lab/project"
OUTPUT, INPUT = 249 + 80 + 5, 4 + 5 + 6
ANSWER = "The roof is mended."
LAUNCH = {"subagent_type": "Explore", "prompt": "look", "description": "Look around"}


def made() -> MadeSession:
    """Return a session whose answers have final usage, with a subagent named in a result's text."""
    session = MadeSession(SESSION, cwd=CWD)
    session.prompt("Mend the roof, zebrafish.")
    session.call(("tool_use",), output=249)
    tool = session.lines[-1]["message"]["content"][0]
    tool |= {"name": "Task", "input": LAUNCH}
    session.prompt("look", agent_id="abc123")
    session.lines.append(
        session.lines[0]
        | {
            "uuid": "result",
            "parentUuid": session.lines[-1]["uuid"],
            "timestamp": session.lines[-1]["timestamp"],
            "message": {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": tool["id"],
                        "content": "All quokka.\nagentId: abc123 (done)",
                    }
                ],
            },
        }
    )
    session.call(("text",), output=80, texts=(ANSWER,))
    session.lines[-1]["parentUuid"] = "result"
    session.call(("text",), output=5, agent_id="abc123", texts=("Nothing there.",))
    return session


def plain(claude: Path) -> None:
    made().write(claude)


def moved(claude: Path, main_file: Path) -> None:
    """Write the session with its main file there, and its agent's in `subagents` beside it."""
    session = made()
    main_file.parent.mkdir(parents=True, exist_ok=True)
    write_lines(main_file, session.lines)
    agents = main_file.parent / "subagents"
    agents.mkdir()
    write_lines(agents / "agent-abc123.jsonl", session.agent_lines["abc123"])


def shared_agents(claude: Path) -> None:
    moved(claude, claude / "projects" / slug_of(CWD) / f"{SESSION}.jsonl")


def base64_folder(claude: Path) -> None:
    folder = base64.b64encode(CWD.encode()).decode()
    moved(claude, claude / "projects" / folder / f"{SESSION}.jsonl")


def flat(claude: Path) -> None:
    moved(claude, claude / "projects" / f"{SESSION}.jsonl")


def in_sessions(claude: Path) -> None:
    moved(claude, claude / "sessions" / f"{SESSION}.jsonl")


def own_tool_lines(claude: Path) -> None:
    """Tool calls and results have lines of their own; the answers keep their usage."""
    session = made()
    lines: list[dict[str, Any]] = []
    for line in session.lines:
        content = line["message"]["content"]
        blocks = content if isinstance(content, list) else []
        tools = [b for b in blocks if b["type"] in ("tool_use", "tool_result")]
        head = {k: line[k] for k in ("sessionId", "cwd", "timestamp", "version")}
        if line["type"] == "assistant" and tools:
            lines.append(line | {"message": line["message"] | {"content": []}})
        elif not tools:
            lines.append(line)
        lines += [head | block for block in tools]
    session.lines = lines
    session.write(claude)


def bare_strings(claude: Path) -> None:
    """Prompts are strings; an answer keeps its usage in a message, so that tokens are known."""
    session = made()
    for line in session.lines:
        if isinstance(line["message"].get("content"), str):
            line["message"] = line["message"]["content"]
    session.write(claude)


SHAPES = (plain, shared_agents, base64_folder, flat, in_sessions, own_tool_lines, bare_strings)


@pytest.fixture(params=SHAPES, ids=lambda shape: shape.__name__)
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    shape: Callable[[Path], None] = request.param
    shape(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    return tmp_path


def run(root: Path, *words: str) -> Result:
    place = ["--captures", str(root / "captures"), "--claude-dir", str(root / "claude")]
    ran = CliRunner().invoke(main, [*words, *place], env={"COLUMNS": "80"})
    assert ran.exit_code == 0, (words, ran.output, ran.exception)
    return ran


def test_every_command_counts_the_same_tokens(root: Path) -> None:
    (row,) = json.loads(run(root, "sessions", "--json").stdout)["sessions"]
    assert (row["calls"], row["output_tokens"], row["project"]) == (3, OUTPUT, CWD)
    assert row["title"] == "Mend the roof, zebrafish."
    found = json.loads(run(root, "reconcile", SESSION, "--json").stdout)
    used = found["totals"]["transcript"]["models"]["claude-opus-5-5"]
    assert (used["input_tokens"], used["output_tokens"]) == (INPUT, OUTPUT)
    assert found["agents"] == {"abc123": "Explore"}
    spent = json.loads(run(root, "spend", "--by", "session", "--json").stdout)
    (session,) = spent["rows"]
    assert (session["tokens"]["output"], session["tokens"]["input"]) == (OUTPUT, INPUT)
    report = root / "report.html"
    run(root, "report", SESSION, "-o", str(report))
    data = re.search(r'id="data">(.*?)</script>', report.read_text(), re.DOTALL)
    assert data is not None
    totals = json.loads(data[1])["reconcile"]["totals"]["transcript"]["models"]
    assert totals["claude-opus-5-5"]["output_tokens"] == OUTPUT


def test_every_command_shows_what_was_said(root: Path) -> None:
    shown = run(root, "show", SESSION).stdout
    for words in ("Mend the roof, zebrafish.", "All quokka.", ANSWER, "Nothing there."):
        assert words in shown
    assert run(root, "show", SESSION, "--answer").stdout.strip() == ANSWER
    for word in ("zebrafish", "quokka", "mended"):
        hits = json.loads(run(root, "search", word, "--json").stdout)["hits"]
        assert [hit["session_id"] for hit in hits] == [SESSION]
    run(root, "diff", SESSION)


def test_a_shape_is_scrubbed_and_observed(root: Path) -> None:
    run(root, "scrub", SESSION, "-o", str(root / "scrubbed"))
    copied = b"".join(p.read_bytes() for p in (root / "scrubbed").rglob("*") if p.is_file())
    assert b"zebrafish" not in copied and b"quokka" not in copied
    assert str(OUTPUT - 85).encode() in copied
    to = root / "snapshot.json"
    ran = CliRunner().invoke(
        main, ["schema", "observe", str(root / "claude"), "-o", str(to)], env={"COLUMNS": "80"}
    )
    assert (ran.exit_code, to.is_file()) == (0, True)
