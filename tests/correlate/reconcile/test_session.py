"""Reconciling a whole session from files: the verdicts and the unexplained cases."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from ccwire.wire.format import EXCHANGES, Exchange, file_name
from ccwire.wire.usage import Tokens
from correlate.reconcile.result import counted
from correlate.reconcile.session import SessionReconciler, TranscriptWait, narrowed
from correlate.reconcile.totals import totals_of
from correlate.transcript.locate import ClaudeDir
from lab.made_session import MadeSession, made_usage, write_lines
from tests.correlate.dollars import worth
from tests.correlate.reconcile.made import (
    IMPATIENT,
    OTHER,
    SESSION,
    made_session,
    reconcile,
    rewrite,
    unexplained,
    write,
)


def test_a_whole_session_is_explained(tmp_path: Path) -> None:
    write(made_session(), tmp_path)
    session = reconcile(tmp_path)
    assert counted(session.findings) == {"match": 3, "wire-only: auxiliary": 1}
    assert session.unexplained == 0
    totals = totals_of(session)
    assert totals.wire.total.output == 249 + 70 + 11 + 30
    assert totals.transcript.total.output == 249 + 70 + 30
    assert totals.off == Tokens.of(made_usage(3, 11))


def test_a_transcript_of_placeholders_gets_placeholder_verdicts(tmp_path: Path) -> None:
    write(made_session(final=False, version="2.1.39"), tmp_path)
    session = reconcile(tmp_path)
    assert counted(session.findings) == {"placeholder": 3, "wire-only: auxiliary": 1}
    assert session.unexplained == 0
    assert totals_of(session).transcript.total.output == 6


@pytest.mark.parametrize("gone", [1, 2, 4])
def test_a_deleted_exchange_is_a_turn_that_was_not_captured(tmp_path: Path, gone: int) -> None:
    made = made_session()
    write(made, tmp_path)
    rewrite(
        tmp_path / "captures" / SESSION / EXCHANGES,
        lambda lines: lines.remove(next(line for line in lines if line["sequence"] == gone)),
    )
    session = reconcile(tmp_path)
    (found,) = unexplained(session)
    assert found.verdict == "not-captured"
    assert found.turn is not None
    assert found.turn.message_id == made.exchanges[gone - 1].message_id
    assert session.unexplained == 1


@pytest.mark.parametrize("side", ["wire", "transcript"])
@pytest.mark.parametrize("change", [-1, 1])
@pytest.mark.parametrize("field", ["output_tokens", "input_tokens", "cache_read_input_tokens"])
def test_an_altered_number_is_that_difference(
    tmp_path: Path, side: str, change: int, field: str
) -> None:
    made = made_session()
    path = write(made, tmp_path)

    def alter(lines: list[dict[str, Any]]) -> None:
        for line in lines:
            if side == "wire" and line["sequence"] == 4:
                line["usage"][field] += change
            if side == "transcript" and line.get("requestId") == made.exchanges[3].request_id:
                line["message"]["usage"][field] += change

    rewrite(tmp_path / "captures" / SESSION / EXCHANGES if side == "wire" else path, alter)
    session = reconcile(tmp_path)
    (found,) = unexplained(session)
    assert found.verdict == "differs"
    assert found.call is not None
    assert found.call.sequence == 4
    assert found.evidence[1].startswith(f"{field}: wire ")


def test_a_removed_turn_is_a_call_of_unknown_kind(tmp_path: Path) -> None:
    path = write(made_session(), tmp_path)
    rewrite(path, lambda lines: lines.__delitem__(-1))
    (found,) = unexplained(reconcile(tmp_path))
    assert (found.verdict, found.kind) == ("wire-only", "unknown")
    assert found.call is not None
    assert found.call.sequence == 4


@pytest.mark.parametrize(
    ("line", "said"),
    [(1, "content block 0 of the answer"), (2, "the answer's tool call is missing")],
)
def test_a_removed_line_of_a_split_turn_is_missed(tmp_path: Path, line: int, said: str) -> None:
    made = made_session()  # captured before the number of blocks was recorded
    made.exchanges = [replace(exchange, blocks=None) for exchange in made.exchanges]
    path = write(made, tmp_path)
    rewrite(path, lambda lines: lines.__delitem__(line))
    (found,) = unexplained(reconcile(tmp_path))
    assert found.verdict == "differs"
    assert found.evidence[1].startswith(said)


def test_two_calls_with_equal_usage_stay_two(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    for _ in range(2):
        made.call(usage=made_usage(1, 50))
    write(made, tmp_path)
    session = reconcile(tmp_path)
    assert counted(session.findings) == {"match": 2}
    assert totals_of(session).wire.total.output == 100


def test_turns_before_the_capture_get_before_capture_verdicts(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call()
    made.call()
    early = made.exchanges.pop(0)
    made.exchanges[0] = replace(made.exchanges[0], sequence=1)
    write(made, tmp_path)
    session = reconcile(tmp_path)
    (turn,) = session.turns_without_call
    assert turn.verdict == "before-capture"
    assert turn.turn is not None
    assert turn.turn.request_id == early.request_id
    assert session.unexplained == 0


def test_a_forks_inherited_turns_are_not_counted_again(tmp_path: Path) -> None:
    parent = MadeSession(OTHER)
    parent.call(output=40)
    parent.cost_state(
        worth(made_usage(1, 40)), {"claude-opus-5-5": _model_usage(made_usage(1, 40))}
    )
    parent.write(tmp_path / "claude", tmp_path / "captures")
    fork = MadeSession(SESSION, now=parent.now + 100)
    fork.lines = [{**line, "sessionId": SESSION} for line in parent.lines[:-1]]
    fork.call(output=60)
    both = Tokens.of(made_usage(1, 40)) + Tokens.of(made_usage(1, 60))
    spent = worth(made_usage(1, 40), made_usage(1, 60))
    fork.cost_state(spent, {"claude-opus-5-5": _model_usage(both.to_usage())})
    write(fork, tmp_path)
    session = reconcile(tmp_path)
    assert counted(session.findings) == {"match": 1, "inherited": 1}
    assert session.turns_without_call[0].evidence[0].endswith(f"call 1 of session {OTHER}")
    assert totals_of(session).transcript.total.output == 60
    (witness,) = session.witnesses
    assert witness.agrees
    assert witness.evidence == (
        "equals the wire plus the totals inherited from the forked session",
        f"${worth(made_usage(1, 40)):+.4f} against the wire",
    )
    assert session.unexplained == 0


def test_a_fork_after_a_compaction_is_known_by_the_copied_boundary(tmp_path: Path) -> None:
    """Nothing before the boundary is copied, so that no answer is inherited."""
    parent = MadeSession(OTHER)
    parent.call(output=40)
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b0b0", "sessionId": OTHER}
    parent.lines.append(boundary)
    parent.cost_state(
        worth(made_usage(1, 40)), {"claude-opus-5-5": _model_usage(made_usage(1, 40))}
    )
    parent.write(tmp_path / "claude", tmp_path / "captures")
    fork = MadeSession(SESSION, now=parent.now + 100)
    fork.lines = [{**boundary, "sessionId": SESSION}]
    fork.call(output=60)
    both = Tokens.of(made_usage(1, 40)) + Tokens.of(made_usage(1, 60))
    spent = worth(made_usage(1, 40), made_usage(1, 60))
    fork.cost_state(spent, {"claude-opus-5-5": _model_usage(both.to_usage())})
    write(fork, tmp_path)
    (witness,) = reconcile(tmp_path).witnesses
    assert witness.cause == "forked"
    fork.lines[0]["uuid"] = "another"
    write(fork, tmp_path)
    (witness,) = reconcile(tmp_path).witnesses
    assert witness.cause == "unknown"


def test_a_fork_of_an_uncaptured_session_is_known_by_its_transcript(tmp_path: Path) -> None:
    parent = MadeSession(OTHER)
    parent.call()
    parent.write(tmp_path / "claude")
    fork = MadeSession(SESSION, now=parent.now + 100)
    fork.lines = [{**line, "sessionId": SESSION} for line in parent.lines]
    fork.call()
    write(fork, tmp_path)
    (turn,) = reconcile(tmp_path).turns_without_call
    assert turn.verdict == "inherited"
    assert turn.evidence[0].endswith(f"{OTHER}.jsonl:1")


def test_a_program_that_the_client_started_is_told_apart(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(output=40)
    program: dict[str, Any] = {"claude_version": None, "identified_by": "process", "pid": 77}
    made.call(in_transcript=False, request_class=None, tools=3, **program)
    made.call(in_transcript=False, request_class=None, tools=0, stream=False, **program)
    spent = worth(made_usage(1, 40))
    made.cost_state(spent, {"claude-opus-5-5": _model_usage(made_usage(1, 40))})
    write(made, tmp_path)
    session = reconcile(tmp_path)
    assert counted(session.findings) == {"match": 1, "wire-only: other-program": 2}
    assert session.unexplained == 0
    (witness,) = session.witnesses
    assert witness.evidence == ("equals the wire exactly",)


def test_a_session_without_a_transcript_is_explained(tmp_path: Path) -> None:
    made = made_session()
    made.write_capture(tmp_path / "captures")
    session = reconcile(tmp_path)
    assert counted(session.findings) == {
        "wire-only: no-transcript": 3,
        "wire-only: auxiliary": 1,
    }
    assert session.unexplained == 0


def test_synthetic_lines_answer_no_call(tmp_path: Path) -> None:
    made = made_session()
    made.call(usage={"input_tokens": 0, "output_tokens": 0}, status=400, error="too long")
    made.lines[-1]["message"]["model"] = "<synthetic>"
    made.lines[-1]["message"]["id"] = "made-up"
    write(made, tmp_path)
    session = reconcile(tmp_path)
    assert counted(session.findings)["synthetic"] == 1
    assert session.calls[-1].kind == "failed"
    assert session.calls[-1].evidence[:2] == (
        "status 400, too long",
        "a synthetic line contains its request id",
    )


def test_a_failed_call_is_tied_to_the_one_that_repeated_it(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    lost: dict[str, Any] = {"usage": {"output_tokens": 0}, "in_transcript": False}
    made.call(**lost, status=529, message_id=None, request_sha256="same")
    made.call(**lost, complete=False, ended_by="server_disconnect", request_sha256="same")
    made.call(request_sha256="same")
    made.call(**lost, complete=False, ended_by="client_disconnect")
    write(made, tmp_path)
    session = reconcile(tmp_path)
    assert [finding.kind for finding in session.calls] == ["retried", "retried", "main", "aborted"]
    assert session.calls[0].evidence[-1] == "retried by call 2: identical request"
    assert session.unexplained == 0


def test_a_repetition_without_streaming_is_known_by_its_messages(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(in_transcript=False, complete=False, ended_by="error_event", messages=1)
    made.call(stream=False, messages=1)
    made.call(messages=1)
    write(made, tmp_path)
    asked = {"messages": [{"role": "user", "content": "lab"}]}
    marked = [{"type": "text", "text": "lab", "cache_control": {"type": "ephemeral"}}]
    folder = tmp_path / "captures" / SESSION
    write_request(folder, made.exchanges[0], {**asked, "stream": True})
    write_request(folder, made.exchanges[1], asked)
    write_request(folder, made.exchanges[2], {"messages": [{"role": "user", "content": marked}]})
    session = reconcile(tmp_path)
    assert session.calls[0].kind == "retried"
    assert session.calls[0].evidence[-1] == "retried by call 2: same messages"


def test_a_side_call_without_a_class_is_inferred_from_its_request(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call()
    made.call(in_transcript=False, request_class=None, tools=0)
    write(made, tmp_path)
    probe = {"max_tokens": 1, "messages": [{"role": "user", "content": "quota"}]}
    write_request(tmp_path / "captures" / SESSION, made.exchanges[1], probe)
    (_, side) = reconcile(tmp_path).calls
    assert (side.verdict, side.kind) == ("wire-only", "auxiliary")
    assert side.evidence == ("inferred from the request: quota probe",)


def test_a_cost_record_that_counts_more_than_the_wire_is_unexplained(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(output=50)
    made.cost_state(1.0, {"claude-opus-5-5": _model_usage(made_usage(1, 51))})
    write(made, tmp_path)
    session = reconcile(tmp_path)
    (witness,) = session.witnesses
    assert not witness.explained
    assert witness.evidence == ("differs from the wire by +1 output; cause unknown",)
    assert session.unexplained == 1


def test_a_line_without_ids_is_joined_by_numbers_and_marked_heuristic(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call()
    del made.lines[0]["requestId"]
    del made.lines[0]["message"]["id"]
    write(made, tmp_path)
    (found,) = reconcile(tmp_path).calls
    assert found.verdict == "match"
    assert found.evidence[0].startswith("heuristic")


def test_only_what_came_after_a_compaction(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(output=1000)
    made.call(in_transcript=False, request_class="compaction", output=77)
    made.now += 5
    made.system("compact_boundary", compactMetadata={"trigger": "manual"})
    made.now += 5
    made.call(output=30)
    write(made, tmp_path)
    whole = reconcile(tmp_path)
    assert counted(whole.findings) == {"match": 2, "wire-only: compaction": 1}
    since = narrowed(whole, since_compact=True)
    assert totals_of(since).wire.total.output == 30


def test_only_one_agents_share(tmp_path: Path) -> None:
    write(made_session(), tmp_path)
    whole = reconcile(tmp_path)
    assert totals_of(narrowed(whole, agent="a1")).wire.total.output == 70
    assert totals_of(narrowed(whole, agent="main")).wire.total.output == 249 + 11 + 30


def test_calls_that_name_no_session_are_found_by_their_ids_and_process(tmp_path: Path) -> None:
    made = made_session(version="1.0.0")
    made.exchanges = [replace(e, request_class=None, agent_id=None) for e in made.exchanges]
    made.write(tmp_path / "claude")
    captures = tmp_path / "captures"
    stranger = MadeSession(OTHER, now=made.now + 3)
    stranger.call(pid=1)
    folder = captures / "unknown"
    folder.mkdir(parents=True)
    all_calls = [*made.exchanges, *(replace(e, sequence=9) for e in stranger.exchanges)]
    write_lines(folder / EXCHANGES, [exchange.to_json() for exchange in all_calls])
    write_request(folder, made.exchanges[2], {"messages": [{"role": "user", "content": "side"}]})
    claude = ClaudeDir(tmp_path / "claude")
    session = SessionReconciler(captures, claude, IMPATIENT).reconcile(folder, SESSION)
    assert session.session_id == SESSION
    assert counted(session.findings) == {"match": 3, "wire-only: auxiliary": 1}


def test_a_transcript_that_is_not_written_out_yet_is_waited_for(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call()
    made.call()
    late = made.lines.pop()
    path = write(made, tmp_path)
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            with path.open("ab") as file:
                file.write(orjson.dumps(late) + b"\n")

    patience = TranscriptWait(sleep=sleep, now=lambda: made.now + 2)
    captures = tmp_path / "captures"
    reconciler = SessionReconciler(captures, ClaudeDir(tmp_path / "claude"), patience)
    session = reconciler.reconcile(captures / SESSION)
    assert counted(session.findings) == {"match": 2}
    assert pauses == [0.05] * 3


def test_waiting_ends(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call()
    made.lines.clear()
    write(made, tmp_path)
    pauses: list[float] = []
    patience = TranscriptWait(sleep=pauses.append, now=lambda: made.now + 2)
    captures = tmp_path / "captures"
    reconciler = SessionReconciler(captures, ClaudeDir(tmp_path / "claude"), patience)
    session = reconciler.reconcile(captures / SESSION)
    assert len(pauses) == 40
    assert session.unexplained == 1


def test_a_torn_line_of_the_capture_is_noted(tmp_path: Path) -> None:
    write(made_session(), tmp_path)
    path = tmp_path / "captures" / SESSION / EXCHANGES
    path.write_bytes(path.read_bytes() + b'{"sequence": 5, "flow')
    assert reconcile(tmp_path).notes == ("exchanges.jsonl:5 is malformed",)


def test_a_damaged_request_file_is_noted_and_the_numbers_stand(tmp_path: Path) -> None:
    made = made_session()
    write(made, tmp_path)
    folder = tmp_path / "captures" / SESSION
    (folder / file_name(3, "req", made.exchanges[2].path)).write_bytes(b'{"body": {"da')
    session = reconcile(tmp_path)
    assert session.notes == ("a file of call 3 is damaged",)
    assert session.unexplained == 0


def test_a_call_in_a_wrong_folder_is_not_captured(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call()
    lost = made.call(captured=False)
    write(made, tmp_path)
    wrong = tmp_path / "captures" / OTHER
    wrong.mkdir()
    write_lines(wrong / EXCHANGES, [{**lost.to_json(), "sequence": 1}])
    name = file_name(1, "req", "/v1/messages")
    for named, verdict in ((SESSION, "not-captured"), (OTHER, "inherited")):
        request = {"headers": {"x-claude-code-session-id": named}, "body": {"data": {}}}
        (wrong / name).write_bytes(orjson.dumps(request))
        (turn,) = reconcile(tmp_path).turns_without_call
        assert turn.verdict == verdict


def write_request(folder: Path, call: Exchange, body: dict[str, Any]) -> None:
    path = folder / file_name(call.sequence, "req", call.path)
    path.write_bytes(orjson.dumps({"body": {"type": "json", "data": body}}))


def _model_usage(usage: dict[str, Any]) -> dict[str, Any]:
    tokens = Tokens.of(usage)
    return {
        "inputTokens": tokens.input,
        "outputTokens": tokens.output,
        "cacheReadInputTokens": tokens.cache_read,
        "cacheCreationInputTokens": tokens.cache_write_5m + tokens.cache_write_1h,
        "cacheCreationEphemeral1hInputTokens": tokens.cache_write_1h,
    }
