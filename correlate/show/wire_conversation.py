"""A captured session's conversation from its requests, in the shape of transcript lines.

The last request of a thread repeats all that was said before it, since the last compaction. Used
for a session without a transcript, and for an answer that the transcript lacks.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ccwire.wire.format import Exchange
from ccwire.wire.json_text import as_dict, dicts
from ccwire.wire.pack.files import PackDamaged
from correlate.captures.content import CaptureFiles, body_of
from correlate.reconcile.request_facts import facts_of
from correlate.transcript.conversation import Entry


def wire_entries(folder: Path, exchanges: Sequence[Exchange]) -> list[Entry]:
    """Return the main thread, then each subagent, from the last request that can be read."""
    files = CaptureFiles(folder)
    threads: dict[str | None, list[Exchange]] = {}
    for call in exchanges:
        if is_of_thread(call):
            threads.setdefault(call.agent_id, []).append(call)
    found: list[Entry] = []
    for name in sorted(threads, key=lambda name: name is not None):
        found += _thread(folder, files, threads[name])
    return found


def is_of_thread(call: Exchange) -> bool:
    """Whether a call is a part of the conversation: not a title, a count or a compaction."""
    return _is_said(call) and call.status == 200


def is_in_flight(call: Exchange) -> bool:
    """Whether a call is of the main thread and has not ended."""
    return _is_said(call) and call.agent_id is None and call.status is None and call.ended is None


def _is_said(call: Exchange) -> bool:
    of_thread = call.request_class in (None, "main", "subagent")
    return call.kind == "messages" and bool(call.tools) and of_thread


def answer_entry(folder: Path, call: Exchange) -> Entry | None:
    """Return the answer of a call as a transcript line; None if it is none, or cannot be read."""
    files = CaptureFiles(folder)
    body, message = _body(files, call), _answer(files, call)
    if not message or (body is not None and _is_aside(call, body)):
        return None
    return _entry(folder, call, "assistant", message, call.agent_id)


def _is_aside(call: Exchange, body: Mapping[str, Any]) -> bool:
    """Whether an older client, which names no class, asks for a summary or a suggestion."""
    return call.request_class is None and facts_of(body).purpose is not None


def _thread(folder: Path, files: CaptureFiles, calls: Sequence[Exchange]) -> Iterator[Entry]:
    for call in reversed(calls):
        body = _body(files, call)
        if body is not None and not _is_aside(call, body):
            break
    else:
        return
    # A call with n messages got the answer that later requests repeat as message n + 1.
    asked: dict[int, Exchange] = {}
    for earlier in calls:
        asked = {n: one for n, one in asked.items() if n < (earlier.messages or 0)}
        if earlier.messages:
            asked[earlier.messages] = earlier
    messages = dicts(body.get("messages"))
    for number, message in enumerate(messages):
        answered = asked.get(number) if message.get("role") == "assistant" else None
        kind = "assistant" if message.get("role") == "assistant" else "user"
        follows = asked.get(number + 1) if kind == "user" else None
        yield _entry(folder, answered or follows, kind, message, call.agent_id)
    answer = _answer(files, call)
    if answer:
        yield _entry(folder, call, "assistant", answer, call.agent_id)


def _entry(
    folder: Path, call: Exchange | None, kind: str, message: Mapping[str, Any], agent: str | None
) -> Entry:
    at = None
    if call is not None:
        at = call.started if kind == "user" else call.ended
        if kind == "assistant":
            message = {**message, "id": call.message_id, "stop_reason": call.stop_reason}
            message.setdefault("model", call.served_model or call.model)
    return Entry(
        path=folder,
        line=0,
        type=kind,
        subtype=None,
        uuid=None,
        parent_uuid=None,
        timestamp=at,
        prompt_id=None,
        agent_id=agent,
        sidechain=agent is not None,
        record={
            "type": kind,
            "message": message,
            "requestId": call.request_id if call is not None and kind == "assistant" else None,
        },
    )


def _body(files: CaptureFiles, call: Exchange) -> dict[str, Any] | None:
    try:
        body = as_dict(body_of(files.request(call.sequence)))
    except (OSError, ValueError, PackDamaged):
        return None
    return body if isinstance(body.get("messages"), list) else None


def _answer(files: CaptureFiles, call: Exchange) -> dict[str, Any] | None:
    try:
        message = as_dict(files.response(call.sequence).get("message"))
    except (OSError, ValueError, PackDamaged):
        return None
    return message if isinstance(message.get("content"), list) else None
