"""A request's changes and its answer, as pieces that fit on a page."""

from typing import Any

from correlate.compare.requests import RequestChange, request_changes
from correlate.report.contents import (
    Piece,
    added_by,
    answer_pieces,
    body_pieces,
    fit_to_page,
    turn_pieces,
)

TEXT = {"type": "text", "text": "Yes."}
CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def test_a_new_message_is_shown_block_by_block() -> None:
    before = {"messages": [user("one")]}
    said = {"role": "assistant", "content": [TEXT, CALL]}
    after = {"messages": [user("one"), said, user("two")]}
    added = added_by(request_changes(before, after, [], []), 7)
    assert added.since == 7
    assert [(piece.title, piece.mark) for piece in added.pieces] == [
        ("messages[1] assistant: text", "added"),
        ("messages[1] assistant: tool_use Bash", "added"),
        ("messages[2] user: text", "added"),
    ]
    assert added.pieces[2].text == "two"


def test_a_message_of_a_plain_string_is_one_piece() -> None:
    added = added_by(
        [RequestChange("messages[0]", "added", after={"role": "user", "content": "hi"})], None
    )
    assert added.pieces == (Piece("messages[0] user: text", "hi", "added"),)


def test_a_change_shows_both_sides_from_where_they_part() -> None:
    changes = request_changes({"messages": [user("colour")]}, {"messages": [user("color")]}, [], [])
    (piece,) = added_by(changes, 1).pieces
    assert piece == Piece("messages[0].content[0]", "- colour\n+ color", "changed")


def test_what_was_taken_out_says_so() -> None:
    before, after = {"messages": [user("one"), user("two")]}, {"messages": [user("one")]}
    (piece,) = added_by(request_changes(before, after, [], []), 1).pieces
    assert (piece.mark, piece.text) == ("removed", "two")


def test_tools_betas_and_parameters_are_named_not_shown() -> None:
    before = {"tools": [{"name": "Bash"}], "max_tokens": 1, "thinking": {"type": "off"}}
    after = {"tools": [{"name": "Read"}], "max_tokens": 2, "stream": True}
    added = added_by(request_changes(before, after, ["a"], ["a", "b"]), 1)
    assert added.pieces == ()
    assert added.notes == (
        "tools removed: Bash (15 B)",
        "tools added: Read (15 B)",
        "betas added: b",
        "parameters changed: max_tokens from 1 to 2",
        'parameters removed: thinking { "type": "off" }',
        "parameters added: stream true",
    )


def test_equal_blocks_are_shown_once_with_their_line() -> None:
    pieces = answer_pieces([TEXT, CALL], [(TEXT, "x.jsonl:4"), (CALL, "x.jsonl:5")])
    assert [(p.title, p.mark, p.line, p.other) for p in pieces] == [
        ("text", "equal", "x.jsonl:4", None),
        ("tool_use Bash", "equal", "x.jsonl:5", None),
    ]


def test_a_changed_block_shows_both_texts() -> None:
    told = {"type": "text", "text": "No."}
    (piece,) = answer_pieces([TEXT], [(told, "x.jsonl:4")])
    assert piece == Piece("text", "Yes.", "changed", "x.jsonl:4", "No.")


def test_a_missing_and_an_added_block_are_distinguished() -> None:
    extra = {"type": "thinking", "thinking": "Only told."}
    pieces = answer_pieces([TEXT, CALL], [(extra, "x.jsonl:3"), (CALL, "x.jsonl:5")])
    assert [(p.text[:10], p.mark, p.line) for p in pieces] == [
        ("Yes.", "missing", None),
        ("Only told.", "added", "x.jsonl:3"),
        (pieces[2].text[:10], "equal", "x.jsonl:5"),
    ]


def test_without_a_turn_nothing_is_compared() -> None:
    assert answer_pieces([TEXT], None) == (Piece("text", "Yes."),)


def test_an_answer_that_is_no_message_is_shown_as_it_came() -> None:
    assert body_pieces({"input_tokens": 3}) == (Piece("body", '{\n  "input_tokens": 3\n}'),)
    assert body_pieces("overloaded") == (Piece("body", "overloaded"),)
    assert body_pieces(None) == ()


def test_a_turn_alone_is_shown_with_its_lines() -> None:
    assert turn_pieces([(TEXT, "x.jsonl:9")]) == (Piece("text", "Yes.", line="x.jsonl:9"),)


def test_everything_fits_where_there_is_room() -> None:
    added = added_by([RequestChange("messages[0]", "added", after=user("hi"))], None)
    request, answer, left_out = fit_to_page(added, [Piece("text", "Yes.", "equal", "x:1")], 5_000)
    assert request == {
        "since": None,
        "pieces": [{"title": "messages[0] user: text", "text": "hi", "mark": "added"}],
        "notes": [],
    }
    assert answer == [{"title": "text", "text": "Yes.", "mark": "equal", "line": "x:1"}]
    assert left_out == 0


def test_long_texts_are_cut_and_report_the_omitted_length() -> None:
    pieces = [Piece("text", "a" * 9_000, "changed", "x:1", "b" * 9_000), Piece("text", "short")]
    _, answer, _ = fit_to_page(None, pieces, 2_325)
    assert [(len(p["text"]), p.get("left_out"), p.get("other_left_out")) for p in answer] == [
        (1_000, 8_000, 8_000),
        (5, None, None),
    ]


def test_too_many_pieces_leave_the_newest_and_are_counted() -> None:
    changes = [RequestChange(f"messages[{n}]", "added", after=user(f"m{n}")) for n in range(100)]
    request, answer, left_out = fit_to_page(added_by(changes, None), [Piece("text", "Yes.")], 3_200)
    assert request is not None
    assert [p["text"] for p in request["pieces"]] == [f"m{n}" for n in range(91, 100)]
    assert (len(answer), left_out) == (1, 91)
