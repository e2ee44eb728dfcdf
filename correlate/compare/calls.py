"""Compare a call's request with the previous one, and its answer with the transcript.

Reads only the files of the selected calls; the comparison itself is pure, in
`correlate.compare.requests` and `correlate.compare.answers`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccwire.wire.endpoints import CALL_KINDS
from ccwire.wire.format import Exchange
from ccwire.wire.json_text import as_dict
from ccwire.wire.pack.files import PackDamaged
from correlate.captures.content import (
    CaptureFiles,
    answer_blocks,
    betas_of,
    body_of,
    thread_of,
    turn_blocks,
)
from correlate.captures.folder import has_session, read_exchanges, transcript_files
from correlate.compare.answers import BlockFinding, answer_findings
from correlate.compare.requests import RequestChange, request_changes
from correlate.reconcile.match import join
from correlate.reconcile.unassigned import unassigned_calls
from correlate.transcript.locate import ClaudeDir
from correlate.transcript.reader import read_transcript
from correlate.transcript.turns import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDiff:
    """One call: the changes of its request, and its answer compared with the transcript.

    `previous` is the call it is compared with, None for the first of a thread. `answer` is None
    if there is no answer or no turn to compare.
    """

    call: Exchange
    previous: int | None
    request: tuple[RequestChange, ...]
    answer: tuple[BlockFinding, ...] | None
    places: tuple[str, ...]
    note: str | None = None

    @property
    def differs(self) -> bool:
        return any(block.verdict != "equal" for block in self.answer or ())


def session_diffs(
    folder: Path, session_id: str, claude: ClaudeDir, sequence: int | None = None
) -> Iterator[CallDiff]:
    """Yield all calls of a session, or the one with this number; KeyError if there is none.

    `folder` is the session's capture, or `unknown/`, where its calls are found by their ids.
    """
    transcript = read_transcript(transcript_files(claude, folder, session_id))
    exchanges = read_exchanges(folder)
    mine = exchanges if has_session(folder) else unassigned_calls(exchanges, transcript.turns)
    calls = [exchange for exchange in mine if exchange.kind in CALL_KINDS]
    if sequence is not None and sequence not in {call.sequence for call in calls}:
        raise KeyError(sequence)
    turns = {pair.call.sequence: pair.turn for pair in join(calls, transcript.turns).pairs}
    files = CaptureFiles(folder)
    for call in calls:
        if sequence in (None, call.sequence):
            yield _diff(files, call, _previous(call, calls, turns), turns.get(call.sequence))


def _diff(
    files: CaptureFiles, call: Exchange, previous: Exchange | None, turn: Turn | None
) -> CallDiff:
    request = _file(files.request, call)
    if request is None:
        return CallDiff(
            call=call,
            previous=None,
            request=(),
            answer=None,
            places=(),
            note="request file missing or damaged",
        )
    before = _file(files.request, previous) if previous else None
    changes = request_changes(
        _parameters(before, previous),
        _parameters(request, call),
        betas_of(before) if before else [],
        betas_of(request),
    )
    response = _file(files.response, call)
    answer = answer_blocks(response) if response else None
    compared = None
    if turn is not None and answer is not None:
        compared = tuple(answer_findings(answer, [block for block, _ in turn_blocks(turn)]))
    note = None
    if answer is None and call.status is None:
        note = f"no response: {call.error or call.ended_by}"
    elif answer is None:
        note = "response contains no message" if call.complete else "response is incomplete"
    elif turn is None:
        note = "not in the transcript"
    return CallDiff(
        call=call,
        previous=previous.sequence if previous else None,
        request=tuple(changes),
        answer=compared,
        places=tuple(str(place) for place in turn.places) if turn else (),
        note=note,
    )


def _previous(call: Exchange, calls: list[Exchange], turns: Mapping[int, Turn]) -> Exchange | None:
    """Return the previous call of the same thread."""
    thread = thread_of(call, turns.get(call.sequence))
    earlier = [
        one
        for one in calls
        if (one.started, one.sequence) < (call.started, call.sequence)
        and thread_of(one, turns.get(one.sequence)) == thread
    ]
    return earlier[-1] if earlier else None


def _file(read: Callable[[int], Mapping[str, Any]], call: Exchange) -> Mapping[str, Any] | None:
    try:
        return read(call.sequence)
    except (OSError, ValueError, PackDamaged):
        return None


def _parameters(request: Mapping[str, Any] | None, call: Exchange | None) -> Mapping[str, Any]:
    """Return a request's body; Bedrock and Vertex have the model in the path instead."""
    body = as_dict(body_of(request)) if request else {}
    return {"model": call.model, **body} if call and call.model else body
