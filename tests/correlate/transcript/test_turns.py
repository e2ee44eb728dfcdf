from pathlib import Path
from typing import Any

from correlate.transcript.records import AssistantLine, typed
from correlate.transcript.turns import Turn
from tests.correlate.folding import fold


def line(number: int, **more: Any) -> AssistantLine:
    """Return an assistant line with this output, stop reason and ids; the rest is constant."""
    usage = {
        "input_tokens": more.get("input", 3),
        "output_tokens": more.get("output", 2),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
    record = {
        "type": "assistant",
        "uuid": more.get("uuid", f"u{number}"),
        "timestamp": f"2026-11-16T00:00:{number:02d}.000Z",
        "requestId": more.get("request", "req_1"),
        "apiBlockIndex": more.get("block"),
        "agentId": more.get("agent"),
        "message": {
            "id": more.get("message", "msg_1"),
            "model": "claude-opus-5-5",
            "content": [{"type": more.get("kind", "text")}],
            "stop_reason": more.get("stop"),
            "usage": usage,
        },
    }
    found = typed(record, Path("t.jsonl"), number, number * 100)
    assert isinstance(found, AssistantLine)
    return found


def output(turn: Turn) -> int:
    assert turn.usage is not None
    return int(turn.usage["output_tokens"])


def test_a_split_turn_is_counted_once() -> None:
    (turn,) = fold([line(1, output=249, stop="tool_use"), line(2, output=249, kind="tool_use")])
    assert output(turn) == 249
    assert [block.type for block in turn.blocks] == ["text", "tool_use"]
    assert [str(place) for place in turn.places] == ["t.jsonl:1", "t.jsonl:2"]
    assert (turn.started, turn.ended) == (1794787201.0, 1794787202.0)


def test_the_usage_with_a_stop_reason_is_the_final_one() -> None:
    (turn,) = fold([line(1, output=2), line(2, output=90, stop="end_turn"), line(3, output=2)])
    assert output(turn) == 90
    assert turn.stop_reason == "end_turn"


def test_without_a_stop_reason_the_most_output_counts() -> None:
    (turn,) = fold([line(1, output=2), line(2, output=40), line(3, output=2)])
    assert output(turn) == 40
    assert turn.stop_reason is None


def test_equal_usage_alone_never_merges_two_calls() -> None:
    turns = fold([line(1), line(2, message="msg_2", request="req_2")])
    assert [turn.message_id for turn in turns] == ["msg_1", "msg_2"]


def test_a_retrys_answer_under_the_first_trys_request_id_is_a_turn_of_its_own() -> None:
    turns = fold([line(1), line(2, message="msg_2")])
    assert [(turn.message_id, turn.request_id) for turn in turns] == [
        ("msg_1", "req_1"),
        ("msg_2", "req_1"),
    ]


def test_lines_of_one_turn_may_stand_apart() -> None:
    turns = fold([line(1), line(2, message="msg_2", request="req_2"), line(3)])
    assert [len(turn.places) for turn in turns] == [2, 1]


def test_a_copied_line_is_not_folded_in_again() -> None:
    (turn,) = fold([line(1), line(2, uuid="u1")])
    assert len(turn.places) == 1
    assert len(turn.blocks) == 1


def test_a_line_that_repeats_an_answer_without_its_request_id_is_the_same_turn() -> None:
    (turn,) = fold([line(1), line(2, uuid="u2", request=None)])
    assert (len(turn.places), len(turn.blocks)) == (2, 1)


def test_without_ids_lines_with_the_same_numbers_are_one_turn_while_they_follow() -> None:
    none = {"message": None, "request": None}
    turns = fold([line(1, **none), line(2, **none), line(3, input=9, **none), line(4, **none)])
    assert [len(turn.places) for turn in turns] == [2, 1, 1]
    assert not any(turn.has_ids for turn in turns)


def test_without_ids_two_agents_stay_apart() -> None:
    none = {"message": None, "request": None}
    assert len(fold([line(1, agent="a", **none), line(2, agent="b", **none)])) == 2


def test_a_gap_in_the_blocks_numbers_is_seen() -> None:
    (whole,) = fold([line(1, block=0), line(2, block=1)])
    (gap,) = fold([line(2, block=1), line(3, block=3)])
    assert whole.missing_blocks == ()
    assert gap.missing_blocks == (0, 2)


def test_what_the_client_wrote_itself_is_synthetic() -> None:
    record = {"type": "assistant", "message": {"model": "<synthetic>", "id": "x"}}
    found = typed(record, Path("t"), 1, 0)
    assert isinstance(found, AssistantLine)
    (turn,) = fold([found])
    assert turn.synthetic
    assert turn.usage is None


def test_a_copied_line_with_more_usage_is_the_final_one() -> None:
    (turn,) = fold([line(1, output=5, uuid="u"), line(2, output=500, uuid="u")])
    assert (output(turn), len(turn.blocks)) == (500, 1)
