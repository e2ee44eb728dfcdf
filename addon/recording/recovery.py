"""Turns the part files that a killed proxy left into responses, so that no exchange is missing."""

import logging
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from addon.identity.session import Identity
from addon.recording.content.body import joined_headers
from addon.recording.content.exchange_files import (
    block_counts,
    elapsed,
    exchange_line,
    head,
    response_fields,
    response_pieces,
)
from addon.recording.content.response import recovered_answer
from addon.recording.jobs import ResponseSeen
from addon.storage.files import read_file, write_pieces
from addon.storage.folder import CaptureStore, part_lines
from addon.storage.index import enter_once, recount
from addon.storage.move import MOVED, finish_move
from ccwire.wire.format import UNKNOWN, Exchange, Gap, parse_file_name
from ccwire.wire.json_text import as_dict, parse_json, text
from ccwire.wire.vocabulary import IDENTIFIED_BY, IdentifiedBy, one_of

logger = logging.getLogger("ccwire")

_IN_FLIGHT = "the proxy was killed while this exchange was in flight"
_UNREADABLE = ".unreadable"


def recover(store: CaptureStore, is_replayed: Callable[[str], bool] = lambda flow_id: False) -> int:
    """Finish every abandoned part file and return how many there were.

    Those of flows that a journal replays stay as they are.
    """
    count = 0

    def is_ours(part: Path) -> bool:
        flow_id = _flow_id(next(_whole_lines(part), {}))
        return flow_id is None or not is_replayed(flow_id)

    for folder in store.session_folders():
        for part in store.abandoned_parts(folder, is_ours):
            try:
                first = next(_whole_lines(part), None)
                if first is not None:  # else the proxy was killed before it wrote anything
                    _finish(store, part, first)
                    count += 1
                part.unlink(missing_ok=True)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                _set_aside(part, error)
        store.clear_temporaries(folder)
    return count


class LeftPart(NamedTuple):
    """The part file of an exchange whose writer died, and what had identified its session."""

    path: Path
    identified_by: IdentifiedBy


class LeftParts(NamedTuple):
    """What the abandoned part files contain, by flow id."""

    exchanges: dict[str, LeftPart]
    moved: set[str]  # recorded, and in no index while its move is not finished


def left_parts(store: CaptureStore) -> LeftParts:
    """Look at the abandoned part files, and leave them as they are."""
    left = LeftParts({}, set())

    def note(part: Path) -> bool:
        first = next(_whole_lines(part), {})
        if flow_id := _flow_id(first):
            named = first["request"].get("identified_by")
            left.exchanges[flow_id] = LeftPart(part, one_of(IDENTIFIED_BY, named) or "none")
        elif flow_id := text(as_dict(as_dict(first.get(MOVED)).get("line")).get("flow_id")):
            left.moved.add(flow_id)
        return False

    for folder in store.session_folders():
        for _ in store.abandoned_parts(folder, note):
            pass
    return left


def _flow_id(first: dict[str, Any]) -> str | None:
    return text(as_dict(first.get("request")).get("flow_id"))


def _finish(store: CaptureStore, part: Path, first: dict[str, Any]) -> None:
    if MOVED in first:
        line = finish_move(store.folder(None), part.parent, first[MOVED])
        enter_once(part.parent, line)
        store.remove_exchanges(store.folder(None), {line.flow_id})
        recount(store.folder(None))
        recount(part.parent)
        return
    line = _answered(part, first["request"])
    if not enter_once(part.parent, line):  # killed between the index and the end of the part file
        recount(part.parent)
        return
    gap: Gap = {
        "kind": "recovered",
        "at": time.time(),
        "sequence": line.sequence,
        "detail": _IN_FLIGHT,
    }
    recount(part.parent, gap)


def _answered(part: Path, request: dict[str, Any]) -> Exchange:
    """Write the response file, unless it exists, and return the exchange's index line."""
    response = None
    if "response" in (second := next(islice(_whole_lines(part), 1, 2), {})):
        response = ResponseSeen(**second["response"])
    answer = recovered_answer(
        _body_lines(part), joined_headers(response.headers) if response else {}
    )
    session_id = None if part.parent.name == UNKNOWN else part.parent.name
    identity = Identity(session_id, request["identified_by"])
    target = part.with_suffix(".json")
    place = parse_file_name(target.name)
    if place is None:
        raise ValueError("not the name of a part file")
    ids = {"flow_id": request["flow_id"], "sequence": place[0]}
    ended = part.stat().st_mtime
    first_byte = response.at if response else None
    line = exchange_line(
        **ids,
        identity=identity,
        request=request["base"],
        facts=request["facts"],
        process={"pid": request["pid"], "process_started": request.get("process_started")},
        response=response,
        answer=answer,
        ended=ended,
        first_byte=first_byte,
    )
    if target.exists():  # the proxy was killed between writing the response and its index line
        return _completed_by(target, line)
    timing = {
        "request_start": request["base"]["started"],
        "request_end": request["request_ended"],
        "first_byte": first_byte,
        "last_byte": ended,
        "seconds": round(elapsed(request["base"]["started"], ended), 6),
    }
    fields = response_fields(request["fields"], response, answer, timing)
    top = head(ids, identity, "response", ended)
    written = response_pieces(top, fields, lambda: (raw for raw, _ in _body_lines(part)))
    write_pieces(target, written)
    return line


def _completed_by(response_file: Path, line: Exchange) -> Exchange:
    """Return the line with the outcome from the complete response file, not the part file."""
    recorded = parse_json(read_file(response_file))
    message = recorded.get("message") or {}
    return Exchange.from_json(
        {
            **line.to_json(),
            "ended": recorded["timestamp"],
            "complete": recorded["complete"],
            "ended_by": recorded["ended_by"],
            "error": recorded["error"],
            "message_id": text(message.get("id")),
            "served_model": text(message.get("model")),
            "stop_reason": text(message.get("stop_reason")),
            "blocks": block_counts(message),
            "usage": message.get("usage"),
            "usage_at_start": message.get("usage_at_start"),
            "invocation_metrics": recorded.get("invocation_metrics"),
        }
    )


def _set_aside(part: Path, error: Exception) -> None:
    """Rename a part file that cannot be parsed, and record a gap."""
    part.rename(part.with_name(part.name + _UNREADABLE))
    name = type(error).__name__
    logger.warning(f"ccwire: {part.name} could not be recovered ({name}) and was set aside")
    place = parse_file_name(part.with_suffix(".json").name)
    recount(
        part.parent,
        {
            "kind": "capture_error",
            "at": time.time(),
            "sequence": place[0] if place else None,
            "detail": f"a part file could not be recovered: {name}",
        },
    )


def _body_lines(part: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yield the lines after those of request and response, each also parsed."""
    for raw, value in _objects(part):
        if not value.keys() & {"request", "response"}:
            yield raw, value


def _whole_lines(part: Path) -> Iterator[dict[str, Any]]:
    return (value for _, value in _objects(part))


def _objects(part: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yield the lines that are objects, each also parsed."""
    for raw in part_lines(part):
        try:
            value = parse_json(raw)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield raw, value
