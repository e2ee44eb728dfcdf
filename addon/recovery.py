"""Turns what a killed proxy left in flight into responses, so that every exchange is told."""

import time
from pathlib import Path
from typing import Any

import orjson

from addon import manifest as manifests
from addon.answer import recovered_answer
from addon.format import EXCHANGES, MANIFEST, Exchange
from addon.identity import Identity
from addon.record import ResponseSeen, exchange_line, head, response_fields, whole_file
from addon.store import CaptureStore, append_lines, locked, read_lines, read_manifest, write_whole


def recover(store: CaptureStore) -> int:
    """Finishes every abandoned part; gives how many there were."""
    count = 0
    for part, file in store.abandoned_parts():
        lines = _whole_lines(file.read())
        if lines and "request" in lines[0][1]:
            _finish(part, lines)
        elif lines and "exchange" in lines[0][1]:  # it was being moved here from `unknown`
            line = Exchange.from_json(lines[0][1]["exchange"])
            _note(part.parent, line)
            store.remove_exchange(store.folder(None), line.flow_id)
        part.unlink(missing_ok=True)
        count += 1
    return count


def _finish(part: Path, lines: list[tuple[bytes, dict[str, Any]]]) -> None:
    request: dict[str, Any] = lines[0][1]["request"]
    response = None
    events = lines[1:]
    if events and "response" in events[0][1]:
        response = ResponseSeen(**events[0][1]["response"])
        events = events[1:]
    answer = recovered_answer(events)
    identity = Identity(request["session_id"], request["identified_by"])
    sequence = request["sequence"]
    ended = part.stat().st_mtime
    first = response.at if response else None
    line = exchange_line(
        flow_id=request["flow_id"],
        sequence=sequence,
        identity=identity,
        request=request["base"],
        facts=request["facts"],
        pid=request["pid"],
        response=response,
        answer=answer,
        ended=ended,
        first_byte=first,
    )
    timing = {
        "request_start": request["base"]["started"],
        "request_end": request["request_ended"],
        "first_byte": first,
        "last_byte": ended,
        "seconds": round(ended - request["base"]["started"], 6),
    }
    target = part.with_suffix(".json")
    if not target.exists():  # else it was killed between the response and its line
        top = head(
            {"flow_id": request["flow_id"], "sequence": sequence}, identity, "response", ended
        )
        fields = response_fields(request["fields"], response, answer, timing)
        write_whole(target, whole_file(top, fields))
    else:
        line = _told_by(target, line)
    _note(part.parent, line)


def _told_by(response_file: Path, line: Exchange) -> Exchange:
    """The response was whole: its own account goes before the part's."""
    told = orjson.loads(response_file.read_bytes())
    message = told.get("message") or {}
    return Exchange.from_json(
        {
            **line.to_json(),
            "ended": told["timestamp"],
            "complete": told["complete"],
            "ended_by": told["ended_by"],
            "error": told["error"],
            "message_id": message.get("id"),
            "stop_reason": message.get("stop_reason"),
            "usage": message.get("usage"),
            "usage_at_start": message.get("usage_at_start"),
        }
    )


def _note(folder: Path, line: Exchange) -> None:
    with locked(folder):
        known = read_lines(folder / EXCHANGES)
        if all(exchange.flow_id != line.flow_id for exchange in known):
            append_lines(folder / EXCHANGES, [orjson.dumps(line.to_json())])
            known.append(line)
        manifest = manifests.recounted(read_manifest(folder), known)
        gap = {
            "kind": "recovered",
            "at": time.time(),
            "sequence": line.sequence,
            "detail": "the proxy was killed while this exchange was in flight",
        }
        data = orjson.dumps(manifests.with_gap(manifest, gap).to_json(), option=orjson.OPT_INDENT_2)
        write_whole(folder / MANIFEST, data)


def _whole_lines(data: bytes) -> list[tuple[bytes, dict[str, Any]]]:
    """The lines that were written whole; a kill can cut only the last."""
    lines = []
    for raw in data.split(b"\n"):
        try:
            value = orjson.loads(raw)
        except ValueError:
            continue
        if isinstance(value, dict):
            lines.append((raw, value))
    return lines
