import json
import os
import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len

from ccwire.cli import main
from ccwire.wire.format import EXCHANGES
from ccwire.wire.usage import Tokens
from lab.made_session import MadeSession, write_lines

SESSION = "11111111-2222-4333-8444-555555555555"
OTHER = "22222222-2222-4333-8444-555555555555"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = MadeSession(SESSION, final=False, version="2.1.39")
    made.prompt("go")
    made.call(("text", "tool_use"), output=249)
    made.call(in_transcript=False, request_class="auxiliary", model="claude-haiku-4-5", output=11)
    made.call(agent_id="a1", output=40, model="claude-future-9")
    made.write(tmp_path / "claude", tmp_path / "captures")
    return tmp_path


def run(folder: Path, *arguments: str, width: int = 160) -> Result:
    where = ["--captures", str(folder / "captures"), "--claude-dir", str(folder / "claude")]
    runner = CliRunner(env={"COLUMNS": str(width)})
    return runner.invoke(main, ["reconcile", *arguments, *where])


def as_json(folder: Path, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(folder, *arguments, "--json").stdout)
    return found


def break_transcript(folder: Path) -> None:
    path = next((folder / "claude").rglob(f"{SESSION}.jsonl"))
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:1]))


def test_the_json_has_the_promised_names(folder: Path) -> None:
    report = as_json(folder, SESSION)
    assert report["session_id"] == SESSION
    assert report["claude_versions"] == ["2.1.39"]
    assert report["unexplained"] == 0
    assert report["turns_without_call"] == []
    first = report["calls"][0]
    assert {
        "sequence", "kind", "agent_id", "model", "status", "complete", "request_id",
        "message_id", "wire", "transcript", "verdict", "explained", "evidence",
    } <= first.keys()  # fmt: skip
    assert first["wire"]["output_tokens"] == 249
    assert first["transcript"]["output_tokens"] == 2
    assert (first["verdict"], first["kind"], first["explained"]) == ("placeholder", "main", True)
    side = report["calls"][1]
    assert (side["verdict"], side["kind"], side["transcript"]) == ("wire-only", "auxiliary", None)
    assert report["totals"]["wire"]["output_tokens"] == 300
    assert report["totals"]["wire"]["models"]["claude-haiku-4-5"]["output_tokens"] == 11
    assert report["totals"]["transcript"]["output_tokens"] == 4
    assert report["totals"]["cost_state"] is None
    assert report["agent_details"][0]["agent_id"] == "a1"
    assert report["records"] == {"user": 1, "assistant": 3}


def test_without_a_session_it_is_the_latest(folder: Path) -> None:
    later = MadeSession(OTHER)
    later.call()
    later.write(folder / "claude", folder / "captures")
    assert as_json(folder)["session_id"] == OTHER
    for file in (folder / "captures" / OTHER).iterdir():
        os.utime(file, (1e9, 1e9))
    assert as_json(folder)["session_id"] == SESSION


def test_a_model_without_a_price_is_unpriced(folder: Path) -> None:
    report = as_json(folder, SESSION)
    assert report["cost"]["unpriced"] == ["claude-future-9"]
    assert "claude-future-9" not in report["cost"]["wire_by_model"]
    assert report["cost"]["wire_usd"] > report["cost"]["transcript_usd"] > 0
    assert "unpriced" in run(folder, SESSION).stdout


@pytest.mark.parametrize("width", [80, 160])
def test_the_table_fits_the_terminal(folder: Path, width: int) -> None:
    result = run(folder, SESSION, "-v", width=width)
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= width
    assert "placeholder" in result.stdout
    assert result.stdout.rstrip().endswith("0 unexplained")


@pytest.mark.parametrize("width", [80, 160])
def test_a_long_model_name_leaves_room_for_the_other_columns(folder: Path, width: int) -> None:
    made = MadeSession(SESSION)
    made.call(in_transcript=False, model="m" * 200)
    made.write(folder / "claude", folder / "captures")
    header = run(folder, SESSION, width=width).output.splitlines()[2]
    assert header.split()[:3] == (["#", "kind", "model"] if width == 80 else ["#", "time", "kind"])
    assert header.split()[-1] == "verdict"


def test_what_is_unexplained_is_named_and_gives_exit_code_1(folder: Path) -> None:
    break_transcript(folder)
    result = run(folder, SESSION)
    assert result.exit_code == 1
    assert "call 1: wire-only: unknown: complete answer" in result.stdout
    assert result.stdout.rstrip().endswith("1 unexplained")
    assert run(folder, SESSION, "--json").exit_code == 1


def test_all_sessions_are_a_line_each_and_a_grand_total(folder: Path) -> None:
    other = MadeSession(OTHER, now=1_793_000_000.0)
    other.call(output=1000)
    other.write(folder / "claude", folder / "captures")
    lines = run(folder, "--all").stdout.splitlines()
    first_words = [line.split()[0] for line in lines]
    assert first_words == ["session", OTHER[:8], SESSION[:8], "2", "+", "0"]  # newest last
    assert lines[3].split()[:4] == ["2", "sessions", "4", "1,300"]
    report = as_json(folder, "--all")
    assert [session["session_id"] for session in report["sessions"]] == [SESSION, OTHER]
    assert report["totals"]["wire"]["output_tokens"] == 1300
    assert report["unexplained"] == 0


def test_all_sessions_include_those_whose_calls_name_none(folder: Path) -> None:
    nameless = MadeSession(OTHER, version="1.0.0")
    nameless.call(output=1000)
    nameless.write(folder / "claude")
    unknown = folder / "captures" / "unknown"
    unknown.mkdir()
    write_lines(unknown / EXCHANGES, [call.to_json() for call in nameless.exchanges])
    report = as_json(folder, "--all")
    assert {session["session_id"] for session in report["sessions"]} == {SESSION, OTHER}
    assert report["totals"]["wire"]["output_tokens"] == 1300


def later(folder: Path, session_id: str, seconds: float, **more: Any) -> None:
    made = MadeSession(session_id, now=1_794_000_000.0 + seconds, **more)
    made.prompt(f"prompt of {session_id[:8]}")
    made.call(output=10)
    made.write(folder / "claude", folder / "captures")


def test_all_sessions_are_ordered_by_their_start_and_named(folder: Path) -> None:
    later(folder, OTHER, -3600, cwd="/projects/shop")
    third = "00000000-2222-4333-8444-555555555555"
    later(folder, third, 3600, cwd="/projects/ledger")
    lines = run(folder, "--all").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == [OTHER[:8], SESSION[:8], third[:8]]
    assert lines[1].split()[-4:] == ["shop", "prompt", "of", OTHER[:8]]
    ids = [session["session_id"] for session in as_json(folder, "--all")["sessions"]]
    assert ids == [third, SESSION, OTHER]


def test_the_sessions_of_all_are_chosen_by_the_same_filters(folder: Path) -> None:
    later(folder, OTHER, -86_400 * 400, cwd="/projects/shop")
    chosen = as_json(folder, "--all", "--project", "shop")
    assert [session["session_id"] for session in chosen["sessions"]] == [OTHER]
    limited = as_json(folder, "--all", "--limit", "1")
    assert [session["session_id"] for session in limited["sessions"]] == [SESSION]
    assert limited["more"] == 1
    assert run(folder, "--all", "--limit", "1").stdout.splitlines()[-1].startswith("1 more session")
    assert "no session matches" in run(folder, "--all", "--project", "none").stderr


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_each_session_of_all_is_one_line_at_any_width(folder: Path, width: int) -> None:
    later(folder, OTHER, 60, cwd="/projects/" + "長い" * 40)
    lines = run(folder, "--all", width=width).stdout.splitlines()
    assert len(lines) == 6
    assert max(map(cell_len, lines)) <= width


def test_all_sessions_give_exit_code_1_if_one_does(folder: Path) -> None:
    break_transcript(folder)
    assert run(folder, "--all").exit_code == 1


def test_a_share_is_shown_alone(folder: Path) -> None:
    report = as_json(folder, SESSION, "--agent", "a1")
    assert [call["sequence"] for call in report["calls"]] == [3]


@pytest.mark.parametrize("shape", ["object", "array", "lines"])
def test_the_clients_result_is_another_witness(folder: Path, tmp_path: Path, shape: str) -> None:
    models = as_json(folder, SESSION)["totals"]["wire"]["models"]
    usage = {model: Tokens.of(used).to_client() for model, used in models.items()}
    result = {"type": "result", "total_cost_usd": 1.5, "modelUsage": usage}
    start = {"type": "system"}
    path = tmp_path / "printed"
    path.write_bytes(
        {
            "object": orjson.dumps(result),
            "array": orjson.dumps([start, result]),
            "lines": orjson.dumps(start) + b"\n" + orjson.dumps(result) + b"\n",
        }[shape]
    )
    (witness,) = as_json(folder, SESSION, "--result", str(path))["witnesses"]
    assert (witness["name"], witness["usd"], witness["agrees"]) == ("result", 1.5, False)
    assert (witness["cause"], witness["explained"]) == ("dollars-unknown", True)
    assert witness["residual_by_model"] == {}
    assert witness["residual_usd"] is None  # a model of the session has no known price
    assert witness["evidence"][-1] == "dollars are not compared: a price is not known"


def test_a_result_names_its_session(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "printed"
    path.write_bytes(orjson.dumps({"type": "result", "total_cost_usd": 1.5, "session_id": SESSION}))
    assert as_json(folder, "--result", str(path))["session_id"] == SESSION
    path.write_bytes(orjson.dumps({"type": "result", "total_cost_usd": 1.5, "session_id": "other"}))
    ran = run(folder, SESSION, "--result", str(path))
    assert (ran.exit_code, f"of session other, not {SESSION}" in ran.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--all", SESSION), "name one session"),
        (("--all", "--agent", "a1"), "leave out --all"),
        (("nope",), "no session 'nope'"),
        ((SESSION, "--limit", "3"), "need --all"),
        ((SESSION, "--sort", "cost"), "need --all"),
        (("--all", "--since", "soon"), "--since 'soon': expected an age"),
        ((SESSION, "--result", __file__), "contains no result"),
    ],
)
def test_wrong_use_is_one_sentence_and_exit_code_2(
    folder: Path, arguments: tuple[str, ...], said: str
) -> None:
    result = run(folder, *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_agent_that_is_not_there_is_one_sentence(folder: Path) -> None:
    ran = run(folder, SESSION, "--agent", "nobody")
    assert ran.exit_code == 2
    assert ran.stderr == "ccwire: session 11111111 has no agent nobody; it has a1 and main.\n"


def test_a_missing_compaction_is_reported_if_requested(folder: Path) -> None:
    assert "the session has no compaction" in run(folder, SESSION, "--since-compact").output
    assert "the session has no compaction" not in run(folder, SESSION).output


def test_a_session_without_a_transcript_says_so(folder: Path) -> None:
    shutil.rmtree(folder / "claude")
    assert "No transcript was found" in run(folder, SESSION).output


def test_what_cannot_be_read_or_written_is_one_sentence(folder: Path) -> None:
    observe = ["schema", "observe", str(folder / "claude"), "-o", str(folder / "no" / "file")]
    ran = CliRunner().invoke(main, observe)
    assert ran.exit_code == 2
    assert ran.stderr == f"ccwire: {folder}/no/file: No such file or directory.\n"
