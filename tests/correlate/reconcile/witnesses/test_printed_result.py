from dataclasses import replace

import orjson
import pytest

from correlate.reconcile.result import Finding
from correlate.reconcile.witnesses.printed_result import (
    PrintedResult,
    printed_result,
    result_notes,
)
from lab.made_session import MadeSession

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
        "the result says 4 turns; the 2 calls of the main thread allow at most 3",
    )


def test_turns_of_old_releases_are_messages() -> None:
    said = PrintedResult(None, turns=5)
    two = calls("1.0.100", 2)
    assert result_notes(said, two, (), 4) == ()
    assert result_notes(replace(said, turns=6), two, (), 4) == (
        "the result says 6 turns; the 4 messages of the transcript allow at most 5",
    )
    assert result_notes(replace(said, turns=6), two, (), 0) == ()  # no transcript
