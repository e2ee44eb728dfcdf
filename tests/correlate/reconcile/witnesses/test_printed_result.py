from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from correlate.reconcile.result import Finding
from correlate.reconcile.witnesses.printed_result import (
    PrintedResult,
    Written,
    printed_result,
    result_notes,
    uncaptured_notes,
)
from correlate.transcript.records import AssistantLine, typed
from lab.made_session import MadeSession
from tests.correlate.folding import fold

RESULT = {
    "type": "result",
    "subtype": "success",
    "session_id": "s",
    "num_turns": 2,
    "duration_ms": 1500,
    "total_cost_usd": 0.25,
}
LINE = orjson.dumps(RESULT)
START = b'{"type":"system","subtype":"init"}'


@pytest.mark.parametrize(
    "data",
    [
        LINE,
        b"[" + START + b"," + LINE + b"]",
        START + b"\n" + LINE + b"\n",
        b"a warning\n\n" + START + b"\n" + LINE + b'\n{"type":"resu\n(node:1) {odd}\n\xff\n',
        b"npm warn\n[" + START + b"," + LINE + b"]\n",
    ],
)
def test_any_shape_gives_the_result(data: bytes) -> None:
    found = printed_result(data)
    assert found is not None and found.totals is not None
    assert (found.session_id, found.turns, found.seconds) == ("s", 2, 1.5)
    assert (found.totals.usd, found.results) == (0.25, 1)


OLD = {"role": "system", "cost_usd": 0.25, "duration_ms": 1500, "session_id": "s"}
SAID = {"role": "assistant", "id": "msg_1", "content": [{"type": "text", "text": "{"}]}


def indented(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)


@pytest.mark.parametrize(
    "data",
    [
        indented(OLD),
        indented([SAID, OLD]),
        indented(SAID) + b"\n" + indented(OLD) + b"\n",
        b"a warning\n{\n" + indented(SAID) + b"\n" + indented([OLD]),
        orjson.dumps(SAID) + b"\n" + orjson.dumps(OLD),
    ],
)
def test_up_to_0_2_114_a_result_has_a_role_and_is_indented(data: bytes) -> None:
    found = printed_result(data)
    assert found is not None and found.totals is not None
    assert (found.session_id, found.turns, found.seconds) == ("s", None, 1.5)
    assert (found.totals.usd, found.totals.tokens, found.results) == (0.25, None, 1)


def test_the_last_of_several_results_is_the_one() -> None:
    later = orjson.dumps({**RESULT, "total_cost_usd": 0.5})
    found = printed_result(LINE + b"\n" + later)
    assert found is not None and found.totals is not None
    assert (found.totals.usd, found.results) == (0.5, 2)


@pytest.mark.parametrize("name", ["cost_usd", "total_cost", "total_cost_usd"])
def test_the_cost_has_a_name_by_release(name: str) -> None:
    found = printed_result(orjson.dumps({"type": "result", name: 0.125}))
    assert found is not None and found.totals is not None
    assert found.totals.usd == 0.125


def test_an_error_has_its_cost() -> None:
    failed = {**RESULT, "subtype": "error_max_turns", "is_error": True}
    found = printed_result(orjson.dumps(failed))
    assert found is not None and found.totals is not None
    assert found.totals.usd == 0.25


@pytest.mark.parametrize("data", [b"", b"The command has run.\n", b"{", b"[[[", b"7", START])
def test_without_a_result_there_is_none(data: bytes) -> None:
    assert printed_result(data) is None


@pytest.mark.parametrize("odd", [[], {}, "x", True, -1.5, 10**400, None])
def test_odd_values_are_not_counted(odd: object) -> None:
    names = ("session_id", "num_turns", "duration_ms", "total_cost_usd", "modelUsage", "usage")
    data = str({"type": "result", **dict.fromkeys(names, odd)})
    for quoted, plain in (("'", '"'), ("True", "true"), ("None", "null")):
        data = data.replace(quoted, plain)
    found = printed_result(data.encode())
    assert found is None or found.turns in (None, odd)


def calls(version: str, number: int) -> list[Finding]:
    made = MadeSession("5e551011", version=version)
    found = [made.call(output=10) for _ in range(number)]
    return [Finding(verdict="match", kind="main", evidence=(), call=call) for call in found]


def test_turns_are_limited_by_the_calls() -> None:
    said = PrintedResult(None, turns=3)
    two = calls("2.1.325", 2)
    assert result_notes(said, two, (), 4) == ()
    assert result_notes(replace(said, turns=4), two, (), 4) == (
        "the result says 4 turns; 2 calls of the main thread allow at most 3",
    )


def test_the_turns_of_a_compaction_are_not_compared() -> None:
    first, last = calls("2.0.73", 2)
    compacted = [first, replace(last, verdict="wire-only", kind="compaction")]
    assert result_notes(PrintedResult(None, turns=15), compacted, (), 12) == ()


def test_turns_of_old_releases_are_messages() -> None:
    said = PrintedResult(None, turns=5)
    two = calls("1.0.100", 2)
    assert result_notes(said, two, (), 4) == ()
    assert result_notes(replace(said, turns=6), two, (), 4) == (
        "the result says 6 turns; 4 messages allow at most 5",
    )
    assert result_notes(replace(said, turns=6), two, (), 0) == ()  # no transcript


BEGAN = 1_794_000_000.0


def plain_run(*stops: str) -> list[Finding]:
    """Return the calls of one process that stopped for these reasons, each with its turn."""
    made = MadeSession("5e551011", version="2.1.325")
    found = []
    for stop in stops:
        kind = "tool_use" if stop == "tool_use" else "text"
        call = made.call((kind,), output=10, stop_reason=stop, process_started=BEGAN)
        line = typed(made.lines[-1], Path("t"), len(made.lines), 0)
        assert isinstance(line, AssistantLine)
        (turn,) = fold([line])
        found.append(Finding(verdict="match", kind="main", evidence=(), call=call, turn=turn))
    return found


PLAIN = plain_run("tool_use", "end_turn")
RETRIED = replace(PLAIN[0], verdict="wire-only", kind="retried", turn=None)
SUMMED = {
    "input_tokens": 9,
    "output_tokens": 20,
    "cache_read_input_tokens": 26_100,
    "cache_creation_input_tokens": 1_403,
}


def test_turns_and_usage_of_a_plain_run_are_those_of_its_calls() -> None:
    said = PrintedResult(None, turns=2, usage=SUMMED)
    assert result_notes(said, PLAIN, (), 4) == ()
    assert result_notes(replace(said, turns=1), PLAIN, (), 4) == (
        "the result says 1 turns; the calls of the main thread make 2",
    )
    other = {**SUMMED, "output_tokens": 21, "cache_read_input_tokens": 26_099}
    assert result_notes(replace(said, usage=other), PLAIN, (), 4) == (
        "the usage of the result is not that of the main thread:"
        " 21 output, not 20; 26,099 cache read, not 26,100",
    )


def test_each_result_of_parallel_tools_may_be_a_turn() -> None:
    first, last = PLAIN
    assert first.turn is not None
    three = replace(first.turn, blocks=first.turn.blocks * 3)
    run = [replace(first, turn=three), last]
    for turns in (2, 3, 4):
        assert result_notes(PrintedResult(None, turns=turns), run, (), 6) == ()
    assert result_notes(PrintedResult(None, turns=5), run, (), 6) == (
        "the result says 5 turns; the calls of the main thread make 2 to 4",
    )
    failed = PrintedResult(None, turns=4, is_success=False)
    assert result_notes(failed, run, (), 6) == ()


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (PrintedResult(None, turns=1, usage=SUMMED, results=2), PLAIN),
        (PrintedResult(None, turns=1, usage=SUMMED, is_success=False), PLAIN),
        (PrintedResult(None, turns=1, usage=SUMMED), plain_run("end_turn", "end_turn")),
        (PrintedResult(None, turns=1, usage=SUMMED), plain_run("tool_use", "tool_use")),
        (PrintedResult(None, turns=1, usage=SUMMED), [*PLAIN, RETRIED]),
    ],
    ids=["several results", "failed", "several prompts", "stopped", "retried"],
)
def test_the_result_of_another_run_may_be_of_its_last_prompt(
    said: PrintedResult, found: list[Finding]
) -> None:
    assert result_notes(replace(said, usage={"output_tokens": 1}), found, (), 4) == ()


def test_a_duration_is_between_that_of_the_calls_and_of_the_client() -> None:
    said = PrintedResult(None, seconds=5.0)
    assert result_notes(said, PLAIN, (), 4, BEGAN + 30) == ()
    assert result_notes(replace(said, seconds=2.0), PLAIN, (), 4, BEGAN + 30) == (
        "the result says 2.0 s; from the first call of the main thread to the end of the last it"
        " took 3.5 s",
    )
    assert result_notes(replace(said, seconds=300.0), PLAIN, (), 4, BEGAN + 30) == (
        "the result says 300.0 s; the client was last seen 30.0 s after its start",
    )


def uncaptured(version: str) -> list[Finding]:
    """Return the same run as turns without a call, of that release."""
    turns = [replace(finding.turn, version=version) for finding in PLAIN if finding.turn]
    return [Finding(verdict="uncaptured", kind="main", evidence=(), turn=turn) for turn in turns]


def test_without_a_capture_turns_are_limited_by_those_of_the_transcript() -> None:
    new, old = uncaptured("2.1.39"), uncaptured("1.0.100")
    said = PrintedResult(None, turns=5)
    note = "the result says 5 turns; 2 turns of the main thread allow at most 4"
    assert uncaptured_notes(said, new, 9, None, is_compacted=False) == (note,)
    assert uncaptured_notes(said, new, 9, None, is_compacted=True) == ()
    assert uncaptured_notes(said, old, 9, None, is_compacted=False) == ()
    assert uncaptured_notes(replace(said, turns=4), new, 9, None, is_compacted=False) == ()


def test_without_a_capture_a_duration_is_between_that_of_answers_and_of_all_lines() -> None:
    turns = uncaptured("2.1.39")  # their lines are 2 s apart

    def notes(seconds: float, *, is_one_prompt: bool = True) -> tuple[str, ...]:
        result, written = PrintedResult(None, seconds=seconds), Written(0.0, 4.0, is_one_prompt)
        return uncaptured_notes(result, turns, 4, written, is_compacted=False)

    assert notes(2.0) == notes(4.0) == notes(9.0) == ()
    assert notes(0.5) == (
        "the result says 0.5 s; from the first line of the answers to the last are 2.0 s",
    )
    assert notes(0.5, is_one_prompt=False) == ()
    assert notes(10.0) == (
        "the result says 10.0 s; from the first line of the transcript to the last are 4.0 s",
    )
