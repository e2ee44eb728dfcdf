"""Sets a call's content beside the call before it, and its answer beside the transcript.

Reads the big files, and only those of the calls asked for; the comparing itself is pure and in
`correlate.request_diff` and `correlate.answer_diff`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from addon.format import UNKNOWN, Exchange
from correlate.adopt import adopted
from correlate.answer_diff import BlockFinding, answer_findings
from correlate.captures import read_exchanges, read_manifest, read_request, read_response
from correlate.join import CALL_KINDS, join
from correlate.lines import line_at, parse_line
from correlate.places import Places
from correlate.request_diff import Change, request_changes
from correlate.transcript import read_transcript
from correlate.turns import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDiff:
    """One call: what its request added, and how its answer stands in the transcript.

    `previous` is the call it is compared with, None for a thread's first one. `answer` is None
    where there is no answer, or no turn, to compare.
    """

    call: Exchange
    previous: int | None
    request: tuple[Change, ...]
    answer: tuple[BlockFinding, ...] | None
    places: tuple[str, ...]
    note: str | None = None

    @property
    def differs(self) -> bool:
        return any(block.verdict != "equal" for block in self.answer or ())


def session_diffs(
    folder: Path, session_id: str, places: Places, sequence: int | None = None
) -> Iterator[CallDiff]:
    """All calls of a session, or the one with this number; KeyError if there is no such call.

    `folder` is the session's capture, or `unknown/`, where its calls are found by their ids.
    """
    own = folder.name != UNKNOWN
    known = read_manifest(folder).transcript_paths if own else ()
    transcript = read_transcript(places.session(session_id, known))
    exchanges = read_exchanges(folder)
    mine = exchanges if own else adopted(exchanges, transcript.turns)
    calls = [exchange for exchange in mine if exchange.kind in CALL_KINDS]
    if sequence is not None and sequence not in {call.sequence for call in calls}:
        raise KeyError(sequence)
    turns = {pair.call.sequence: pair.turn for pair in join(calls, transcript.turns).pairs}
    for call in calls:
        if sequence in (None, call.sequence):
            yield _diff(folder, call, _previous(call, calls, turns), turns.get(call.sequence))


def _diff(folder: Path, call: Exchange, previous: Exchange | None, turn: Turn | None) -> CallDiff:
    request = _request(folder, call)
    if request is None:
        return CallDiff(
            call=call, previous=None, request=(), answer=None, places=(), note="no request file"
        )
    before = _request(folder, previous) if previous else None
    changes = request_changes(
        _body(before) if before else None, _body(request), _betas(before), _betas(request)
    )
    answer = _answer(folder, call)
    note = None
    if answer is None:
        note = "no answer was captured"
    elif turn is None:
        note = "no turn in the transcript"
    compared = (
        tuple(answer_findings(answer, _transcript_blocks(turn)))
        if turn is not None and answer is not None
        else None
    )
    return CallDiff(
        call=call,
        previous=previous.sequence if previous else None,
        request=tuple(changes),
        answer=compared,
        places=tuple(str(place) for place in turn.places) if turn else (),
        note=note,
    )


def _previous(call: Exchange, calls: list[Exchange], turns: Mapping[int, Turn]) -> Exchange | None:
    """The call before in the same thread: older clients tell threads only in the transcript."""

    def thread(one: Exchange) -> tuple[Any, ...]:
        turn = turns.get(one.sequence)
        side = one.request_class in ("auxiliary", "compaction") or not one.tools
        return (one.kind, one.agent_id or (turn.agent_id if turn else None), side)

    earlier = [
        one
        for one in calls
        if (one.started, one.sequence) < (call.started, call.sequence)
        and thread(one) == thread(call)
    ]
    return earlier[-1] if earlier else None


def _request(folder: Path, call: Exchange | None) -> Mapping[str, Any] | None:
    if call is None:
        return None
    try:
        return read_request(folder, call.sequence)
    except FileNotFoundError:
        return None


def _body(request: Mapping[str, Any]) -> Mapping[str, Any]:
    body = request.get("body")
    data = body.get("data") if isinstance(body, dict) else None
    return data if isinstance(data, dict) else {}


def _betas(request: Mapping[str, Any] | None) -> list[str]:
    headers = (request or {}).get("headers")
    given = headers.get("anthropic-beta", "") if isinstance(headers, dict) else ""
    return [beta.strip() for beta in given.split(",") if beta.strip()]


def _answer(folder: Path, call: Exchange) -> list[dict[str, Any]] | None:
    try:
        message = read_response(folder, call.sequence).get("message")
    except FileNotFoundError:
        return None
    content = message.get("content") if isinstance(message, dict) else None
    return _dicts(content) if isinstance(content, list) else None


def _transcript_blocks(turn: Turn) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for place in turn.places:
        record = parse_line(line_at(place.path, place.offset))
        message = record.get("message") if isinstance(record, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str):
            blocks.append({"type": "text", "text": content})
        elif isinstance(content, list):
            blocks += _dicts(content)
    return blocks


def _dicts(items: list[Any]) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)]
