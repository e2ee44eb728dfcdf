from dataclasses import replace
from pathlib import Path

from ccwire.wire.format import Exchange
from correlate.reconcile.match import join
from correlate.transcript.records import AssistantLine, typed
from correlate.transcript.turns import Turn
from lab.made_session import MadeSession
from tests.correlate.folding import fold


def calls_and_turns(count: int) -> tuple[list[Exchange], list[Turn]]:
    made = MadeSession("5e551011")
    for _ in range(count):
        made.call()
    lines = [typed(line, Path("t"), n, 0) for n, line in enumerate(made.lines, 1)]
    return made.exchanges, list(fold(line for line in lines if isinstance(line, AssistantLine)))


def pairs(calls: list[Exchange], turns: list[Turn]) -> list[tuple[int, int, str]]:
    return [
        (pair.call.sequence, pair.turn.places[0].line, pair.by) for pair in join(calls, turns).pairs
    ]


def test_request_ids_go_first() -> None:
    assert pairs(*calls_and_turns(2)) == [(1, 1, "request_id"), (2, 2, "request_id")]


def test_message_ids_serve_where_a_client_writes_no_request_id() -> None:
    calls, turns = calls_and_turns(2)
    turns = [replace(turn, request_id=None) for turn in turns]
    assert pairs(calls, turns) == [(1, 1, "message_id"), (2, 2, "message_id")]


def test_a_retrys_answer_goes_to_the_retry_though_it_has_the_first_trys_request_id() -> None:
    calls, turns = calls_and_turns(2)
    (answer,) = [replace(turns[1], request_id=calls[0].request_id)]
    joined = join(calls, [answer])
    assert [(pair.call.sequence, pair.by) for pair in joined.pairs] == [(2, "message_id")]
    assert [call.sequence for call in joined.calls_alone] == [1]


def test_count_tokens_never_has_a_turn() -> None:
    calls, turns = calls_and_turns(1)
    joined = join([replace(calls[0], kind="count_tokens")], turns)
    assert joined.pairs == ()
    assert len(joined.turns_alone) == 1


def test_numbers_and_time_join_only_what_has_no_ids() -> None:
    calls, turns = calls_and_turns(2)
    bare = [replace(turn, request_id=None, message_id=None) for turn in turns]
    assert pairs(calls, bare) == [(1, 1, "heuristic"), (2, 2, "heuristic")]
    strange = [replace(turn, request_id="other", message_id="other") for turn in turns]
    assert pairs(calls, strange) == []


def test_numbers_join_nothing_from_another_time() -> None:
    calls, turns = calls_and_turns(1)
    bare = replace(turns[0], request_id=None, message_id=None)
    assert pairs(calls, [replace(bare, started=calls[0].started - 5)]) == []
    assert pairs(calls, [replace(bare, started=calls[0].started + 500)]) == []
    assert pairs(calls, [replace(bare, usage=None)]) == []


def test_a_turn_answers_one_call_only() -> None:
    calls, turns = calls_and_turns(1)
    joined = join([calls[0], replace(calls[0], sequence=2)], turns)
    assert len(joined.pairs) == 1
    assert [call.sequence for call in joined.calls_alone] == [2]


def test_what_the_client_wrote_itself_answers_no_call() -> None:
    calls, turns = calls_and_turns(1)
    assert join(calls, [replace(turns[0], synthetic=True)]).pairs == ()
