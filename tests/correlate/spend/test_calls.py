"""Each call is counted once, wherever its lines and its exchange are."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from ccwire.wire.format import Exchange
from correlate.spend.calls import SpendCall, collect
from correlate.spend.files import transcript_paths
from lab.made_session import MadeSession, made_usage
from tests.correlate.spend.made import answer, collected, read, write

MAIN, AGENT = "main.jsonl", "agent-a.jsonl"


def _outputs(claude_dir: Path) -> list[int]:
    return sorted(
        (call.usage or {}).get("output_tokens", 0) for call in collected(claude_dir).calls
    )


@pytest.mark.parametrize("requests", [("r1", None), (None, "r1")])
def test_a_copy_without_a_request_id_is_the_same_call(
    tmp_path: Path, requests: tuple[str | None, str | None]
) -> None:
    write(tmp_path, MAIN, *(answer("m1", request, 5) for request in requests))
    assert _outputs(tmp_path) == [5]


def test_a_side_conversation_that_repeats_an_answer_is_the_same_call(tmp_path: Path) -> None:
    write(tmp_path, MAIN, answer("m1", "r1", 5))
    write(tmp_path, AGENT, answer("m1", "r2", 5, isSidechain=True), answer("m2", "r3", 6))
    assert _outputs(tmp_path) == [5, 6]


def test_two_requests_with_one_message_id_are_two_calls(tmp_path: Path) -> None:
    write(tmp_path, MAIN, answer("m1", "r1", 5), answer("m1", "r2", 5))
    assert _outputs(tmp_path) == [5, 5]


def test_the_most_final_copy_is_used_and_the_earliest_one_owns_the_call(tmp_path: Path) -> None:
    write(tmp_path, "fork.jsonl", answer("m1", "r1", 90, at="2026-11-07T10:00:00Z"))
    write(tmp_path, MAIN, answer("m1", "r1", 2, stop=None))
    write(tmp_path, "other.jsonl", answer("m1", "r1", 90, at=None))
    (call,) = collected(tmp_path).calls
    assert (call.session_id, call.finality, call.usage) == (
        "main",
        "exact",
        {"input_tokens": 10, "output_tokens": 90},
    )


@pytest.mark.parametrize("original", ["a.jsonl", "z.jsonl"])
def test_of_equal_copies_the_file_that_was_written_first_owns_the_call(
    tmp_path: Path, original: str
) -> None:
    for number, name in enumerate((original, "fork.jsonl")):
        os.utime(write(tmp_path, name, answer("m1", "r1", 5)), (number, number))
    assert [call.session_id for call in collected(tmp_path).calls] == [original[0]]


def test_missing_output_tokens_are_a_lower_bound(tmp_path: Path) -> None:
    write(tmp_path, MAIN, answer("m1", "r1", None))
    assert [call.finality for call in collected(tmp_path).calls] == ["lower-bound"]


def _with_capture(tmp_path: Path, made: MadeSession) -> list[SpendCall]:
    made.write(tmp_path / "claude", tmp_path / "captures")
    folder = tmp_path / "captures" / made.session_id
    paths = transcript_paths(tmp_path / "claude")
    return collect({path: read(Path(path)) for path in paths}, [folder], ()).calls


def _cut(made: MadeSession) -> Exchange:
    cut = {"usage": None, "stop_reason": None, "complete": False, "ended_by": "proxy_stopped"}
    made.exchanges[-1] = Exchange.from_json({**made.exchanges[-1].to_json(), **cut})
    return made.exchanges[-1]


def test_a_cut_capture_of_a_finished_answer_has_the_transcripts_usage(tmp_path: Path) -> None:
    made = MadeSession("one")
    made.call(output=500)
    _cut(made)
    (call,) = _with_capture(tmp_path, made)
    assert (call.source, call.finality) == ("wire", "exact")
    assert (call.usage or {})["output_tokens"] == 500


def test_a_cut_answer_is_a_lower_bound_and_one_without_usage_is_unknown(tmp_path: Path) -> None:
    made = MadeSession("one")
    made.call(output=500, in_transcript=False)
    _cut(made)
    made.call(in_transcript=False, usage_at_start=None)
    _cut(made)
    calls = _with_capture(tmp_path, made)
    assert [call.finality for call in calls] == ["lower-bound", "unknown"]


def test_a_retry_under_the_first_trys_request_id_is_counted_once(tmp_path: Path) -> None:
    made = MadeSession("one")
    first = made.call(output=5)
    second = made.call(output=6, in_transcript=False)
    made.lines.append(
        {
            **made.lines[-1],
            "uuid": "retry",
            "requestId": first.request_id,
            "message": {
                **made.lines[-1]["message"],
                "id": second.message_id,
                "usage": made_usage(2, 6),
            },
        }
    )
    calls = _with_capture(tmp_path, made)
    assert [(call.source, (call.usage or {})["output_tokens"]) for call in calls] == [
        ("wire", 5),
        ("wire", 6),
    ]


def test_the_answer_of_a_retry_under_the_first_request_id_is_one_call(tmp_path: Path) -> None:
    made = MadeSession("1" * 8 + "-aaaa", version="1.0.30")
    cut = made.call(
        in_transcript=False,
        usage=made_usage(1, 1),
        complete=False,
        stop_reason=None,
        ended_by="server_disconnect",
    )
    made.call(output=1000)
    for line in made.lines:
        line["requestId"] = cut.request_id  # as older clients write it
    found = _with_capture(tmp_path, made)
    assert sorted((call.usage or {})["output_tokens"] for call in found) == [1, 1000]
    assert sorted(call.finality for call in found) == ["exact", "lower-bound"]


def test_lines_without_ids_are_those_of_their_sessions_calls(tmp_path: Path) -> None:
    made = MadeSession("1" * 8 + "-aaaa", version="1.0.0")
    made.call(output=100)
    made.call(output=250)
    for line in made.lines:
        del line["requestId"], line["message"]["id"]
    found = _with_capture(tmp_path, made)
    assert [call.source for call in found] == ["wire", "wire"]


def test_a_file_that_shows_to_be_a_copy_owns_none_of_the_calls_in_it(tmp_path: Path) -> None:
    said = (answer("m1", "r1", 5, session="main"), answer("m2", "r2", 6, session="main"))
    began = b'{"type":"mode","timestamp":"2026-11-06T10:00:00.000Z"}\n'
    os.utime(write(tmp_path, "fork.jsonl", began, *said, answer("m3", "r3", 7)), (1, 1))
    write(tmp_path, MAIN, *said, answer("m4", "r4", 8))  # continued later
    found = collected(tmp_path)
    owners = {(call.usage or {})["output_tokens"]: call.session_id for call in found.calls}
    assert owners == {5: "main", 6: "main", 7: "fork", 8: "main"}
    assert found.with_copies == {"fork"}


def test_an_agent_that_the_request_does_not_name_is_that_of_the_file(tmp_path: Path) -> None:
    made = MadeSession("1" * 8 + "-aaaa", version="2.1.39")
    made.call(output=100)
    made.call(output=200, agent_id="a1")
    made.exchanges[1] = replace(made.exchanges[1], agent_id=None, request_class=None)
    found = {(c.usage or {})["output_tokens"]: c.agent for c in _with_capture(tmp_path, made)}
    assert found == {100: "main", 200: "subagent"}
