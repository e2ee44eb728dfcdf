"""Reading commands on a session that has a transcript and no capture."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ccwire.cli import main
from correlate.transcript.locate import ClaudeDir
from lab.made_session import MadeSession

SESSION = "6f1c0000-0000-4000-8000-000000000001"


def _made(tmp_path: Path, *, final: bool) -> Path:
    made = MadeSession(SESSION, version="2.1.325" if final else "2.1.39", final=final)
    made.prompt("Please look at the file.")
    made.call(("text", "tool_use"), output=249)
    made.tool_result("some output")
    made.call(("text",), output=80)
    made.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    return tmp_path


def _run(root: Path, *words: str, width: int = 80) -> Result:
    place = ["--captures", str(root / "captures"), "--claude-dir", str(root / "claude")]
    return CliRunner().invoke(main, [*words, *place], env={"COLUMNS": str(width)})


def test_a_placeholder_is_printed_as_a_lower_bound(tmp_path: Path) -> None:
    result = _run(_made(tmp_path, final=False), "reconcile", SESSION)
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "No call of this session was captured" in text
    assert len(re.findall(r"≥ 2 [0-9,]+ [0-9,]+ at least uncaptured", text)) == 2
    assert "output ≥ 4" in text
    assert (
        "known of 2.1.39: some lines have no stop reason: their output may be a placeholder" in text
    )
    assert "0 unexplained" in text


def test_a_final_usage_is_printed_as_it_is(tmp_path: Path) -> None:
    result = _run(_made(tmp_path, final=True), "reconcile", SESSION)
    assert result.exit_code == 0, result.output
    assert "≥" not in result.stdout
    assert "249" in result.stdout
    assert "final" in result.stdout


@pytest.mark.parametrize("width", [60, 80, 110, 200])
def test_each_turn_is_on_one_line_with_its_model_output_and_verdict(
    tmp_path: Path, width: int
) -> None:
    made = MadeSession(SESSION, model="claude-sonnet-4-5-20250929", final=False)
    made.call(agent_id="a1234567", usage={"input_tokens": 123_456, "output_tokens": 5_000})
    made.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    lines = _run(tmp_path, "reconcile", SESSION, width=width).stdout.splitlines()
    (row,) = [line for line in lines if line.startswith("1  ")]
    assert "sonnet-4-5" in row
    assert "≥ 2" in row
    assert "uncaptured" in row


def test_a_turn_without_usage_makes_every_sum_a_lower_bound(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(output=249)
    made.call()
    del made.lines[-1]["message"]["usage"]
    made.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    lines = _run(tmp_path, "reconcile", SESSION, width=200).stdout.splitlines()
    (row,) = [line.split() for line in lines if line.startswith("2  ")]
    assert row[-6:] == [*"––––", "none", "uncaptured"]  # noqa: RUF001
    sums = [line.split() for line in lines if line.startswith(("  ", " dollars"))]
    bounds = [words[-2] for words in sums if len(words) > 1]
    assert len(bounds) >= 6 and set(bounds) == {"≥"}
    (listed,) = json.loads(_run(tmp_path, "sessions", "--json").stdout)["sessions"]
    assert listed["finality"] == "unknown"
    (words,) = [
        line.split()
        for line in _run(tmp_path, "sessions", width=200).stdout.splitlines()
        if line.startswith("6f1c")
    ]
    assert words.count("≥") == 3  # prompt, output and cost


def test_a_turn_without_usage_has_no_output_beside_a_capture(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call()
    made.call(captured=False)
    del made.lines[-1]["message"]["usage"]
    made.write(tmp_path / "claude", tmp_path / "captures")
    text = " ".join(_run(tmp_path, "reconcile", SESSION, width=200).stdout.split())
    assert "no usage in transcript" in text and "≥" not in text


def test_thinking_of_an_answer_that_had_not_ended_is_a_lower_bound(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    usage = {"input_tokens": 1, "output_tokens": 90}
    made.call(usage={**usage, "output_tokens_details": {"thinking_tokens": 30}})
    made.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    text = " ".join(_run(tmp_path, "reconcile", SESSION).stdout.split())
    assert "; 30 output tokens for thinking" in text
    made.call(usage=usage, placeholder=True)
    made.write(tmp_path / "claude")
    text = " ".join(_run(tmp_path, "reconcile", SESSION).stdout.split())
    assert "; ≥ 30 output tokens for thinking" in text


def test_no_price_is_no_lower_bound_of_one(tmp_path: Path) -> None:
    made = MadeSession(SESSION, model="claude-made-up-9", final=False)
    made.call()
    made.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    text = " ".join(_run(tmp_path, "reconcile", SESSION).stdout.split())
    assert "dollars unpriced" in text


def test_a_session_without_a_turn_has_no_dollars(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("Nobody answered.")
    made.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    result = _run(tmp_path, "reconcile", SESSION)
    assert "no turn." in result.stdout
    assert "$" not in result.stdout


def test_only_the_first_bad_lines_are_named(tmp_path: Path) -> None:
    root = _made(tmp_path, final=True)
    path = root / "claude/projects/-home-lab-project" / f"{SESSION}.jsonl"
    path.write_bytes(path.read_bytes() + b"{rubbish\n" * 30)
    text = _run(root, "reconcile", SESSION).stdout
    assert text.count("malformed") == 10
    assert "20 more bad lines (--verbose)" in text
    assert _run(root, "reconcile", SESSION, "--verbose").stdout.count("malformed") == 30


@pytest.mark.parametrize(
    "words",
    [["reconcile"], ["report"], ["show"], ["show", "--answer"], ["scrub", "-o", "copy"], ["diff"]],
)
def test_a_transcript_that_cannot_be_read_is_a_sentence(
    tmp_path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("ccwire.sessions.argument.open_regular", refuse)
    result = _run(_made(tmp_path, final=True), words[0], SESSION, *words[1:])
    assert result.exit_code == 2
    assert f"{SESSION}.jsonl cannot be read (Permission denied)" in result.stderr


def test_a_turn_that_was_not_captured_keeps_its_lower_bound(tmp_path: Path) -> None:
    made = MadeSession(SESSION, version="2.1.39", final=False)
    made.call(output=249)
    made.call(output=80, captured=False)
    made.write(tmp_path / "claude", tmp_path / "captures")
    text = " ".join(_run(tmp_path, "reconcile", SESSION).stdout.split())
    assert "output ≥ 2 in transcript" in text


@pytest.mark.parametrize(("final", "finality"), [(True, "exact"), (False, "lower-bound")])
def test_json_has_the_finality_of_turns_and_total(
    tmp_path: Path, final: bool, finality: str
) -> None:
    result = _run(_made(tmp_path, final=final), "reconcile", SESSION, "--json")
    report = json.loads(result.stdout)
    assert report["is_captured"] is False
    assert [turn["verdict"] for turn in report["turns_without_call"]] == ["uncaptured"] * 2
    assert [turn["finality"] for turn in report["turns_without_call"]] == [finality] * 2
    assert report["totals"]["transcript_finality"] == finality
    assert report["unexplained"] == 0
    assert ("placeholder" in report["turns_without_call"][0]["flaws"]) is not final


def test_json_has_nothing_of_a_wire_that_is_not_known(tmp_path: Path) -> None:
    result = _run(_made(tmp_path, final=True), "reconcile", SESSION, "--json")
    report = json.loads(result.stdout)
    cost, alone = report["cost"], report["transcript_alone"]
    assert (cost["wire_usd"], cost["wire_anthropic_usd"]) == (None, None)
    assert cost["transcript_usd"] == alone["usd"] > 0
    assert (alone["short_of_wire"], alone["short_of_wire_usd"]) == (None, None)


def test_a_cost_record_is_shown_and_compared_with_nothing(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(output=10)
    made.cost_state(0.5, {"claude-opus-5-5": {"inputTokens": 4, "outputTokens": 12}})
    made.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    result = _run(tmp_path, "reconcile", SESSION, "--json")
    (witness,) = json.loads(result.stdout)["witnesses"]
    assert (witness["cause"], witness["usd"], witness["explained"]) == ("uncaptured", 0.5, True)
    assert result.exit_code == 0


def test_a_result_is_shown_beside_the_transcript(tmp_path: Path) -> None:
    path = tmp_path / "printed"
    path.write_text('{"type": "result", "total_cost_usd": 0.2026}')
    ran = _run(_made(tmp_path, final=False), "reconcile", SESSION, "--result", str(path))
    text = " ".join(ran.stdout.split())
    assert "result: $0.2026, where the transcript has ≥ $0.0" in text
    assert ran.exit_code == 0


@pytest.mark.parametrize(
    ("said", "note"),
    [
        ({"num_turns": 2, "duration_ms": 3000}, None),
        ({"num_turns": 50}, "the result says 50 turns; 2 turns of the main thread allow at most 4"),
        ({"duration_ms": 1}, "the result says 0.0 s; from the first line of the answers"),
        ({"duration_ms": 900_000}, "the result says 900.0 s; from the first line of the trans"),
    ],
)
def test_a_result_is_compared_with_the_lines_of_the_transcript(
    tmp_path: Path, said: dict[str, int], note: str | None
) -> None:
    path = tmp_path / "printed"
    used = {"claude-opus-5-5": {"inputTokens": 9, "outputTokens": 329}}
    result = {"type": "result", "total_cost_usd": 0.2026, "modelUsage": used, **said}
    path.write_text(json.dumps(result))
    ran = _run(_made(tmp_path, final=True), "reconcile", SESSION, "--result", str(path), "--json")
    report = json.loads(ran.stdout)
    assert [found[: len(note or "")] for found in report["notes"]] == ([note] if note else [])
    (witness,) = report["witnesses"]
    assert (witness["residual"], witness["usage"]["output_tokens"]) == (None, 329)


def test_a_synthetic_line_stays_synthetic(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(output=10)
    made.lines[-1]["message"]["model"] = "<synthetic>"
    made.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    report = json.loads(_run(tmp_path, "reconcile", SESSION, "--json").stdout)
    assert [turn["verdict"] for turn in report["turns_without_call"]] == ["synthetic"]


def test_diff_says_that_there_is_no_wire(tmp_path: Path) -> None:
    root = _made(tmp_path, final=True)
    result = _run(root, "diff", SESSION)
    assert result.exit_code == 0
    assert "there is no wire to compare the transcript with" in " ".join(result.stdout.split())
    report = json.loads(_run(root, "diff", SESSION, "--json").stdout)
    assert (report["calls"], "no wire" in report["note"]) == ([], True)


def test_a_scrubbed_transcript_reconciles_alike(tmp_path: Path) -> None:
    root = _made(tmp_path, final=False)
    copied = _run(root, "scrub", SESSION, "-o", str(root / "copy"), "--json")
    assert copied.exit_code == 0, copied.output
    copy_id = json.loads(copied.stdout)["session_id"]
    before = json.loads(_run(root, "reconcile", SESSION, "--json").stdout)
    words = ["--captures", str(root / "copy/captures"), "--claude-dir", str(root / "copy/claude")]
    again = CliRunner().invoke(main, ["reconcile", copy_id, "--json", *words])
    assert json.loads(again.stdout)["totals"] == before["totals"]
    assert "Please look" not in "".join(
        path.read_text() for path in (root / "copy").rglob("*.jsonl")
    )


def test_the_report_says_at_the_top_what_it_cannot_know(tmp_path: Path) -> None:
    root = _made(tmp_path, final=False)
    result = _run(root, "report", SESSION, "-o", str(root / "page.html"))
    assert result.exit_code == 0, result.output
    assert "No call of this session was captured" in (root / "page.html").read_text()


def test_a_session_that_does_not_exist_is_a_sentence(tmp_path: Path) -> None:
    result = _run(_made(tmp_path, final=True), "reconcile", "0000aaaa")
    assert result.exit_code == 2


def test_watch_names_the_command_that_reads_a_transcript(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["watch", "--once", "--captures", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert "reconcile" in result.stderr


def test_another_transcript_that_cannot_be_read_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = _made(tmp_path, final=True)
    other = root / "claude/projects/-home-lab-project/other.jsonl"
    monkeypatch.setattr(ClaudeDir, "siblings", lambda *_: [other, other.parent])
    assert _run(root, "reconcile", SESSION).exit_code == 0
