"""Read an exchange's two files, and the list of a session's exchanges.

A file may be missing, damaged or not written yet: what can be read is returned, with the problems.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccwire.wire.endpoints import endpoint_of
from ccwire.wire.format import PART_SUFFIX, UNKNOWN, Exchange, parse_file_name
from ccwire.wire.json_text import as_dict, text
from ccwire.wire.pack.files import PackDamaged
from correlate.captures.content import body_of
from correlate.captures.folder import (
    has_session,
    read_exchanges,
    read_request,
    read_response,
    transcript_files,
)
from correlate.reconcile.unassigned import unassigned_calls
from correlate.transcript.locate import ClaudeDir
from correlate.transcript.reader import read_transcript

type File = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredExchange:
    """An exchange and its files; a file is None if it cannot be read, or is not asked for."""

    call: Exchange
    request: File | None
    response: File | None
    problems: tuple[str, ...]
    in_flight: bool


def session_exchanges(folder: Path, session_id: str, claude: ClaudeDir) -> list[Exchange]:
    """Return the exchanges of a session by number, those in flight included.

    `folder` is the session's capture, or `unknown/`, where its calls are found by their ids.
    The session `unknown` is all of that folder.
    """
    finished = read_exchanges(folder)
    if has_others(folder, session_id):
        turns = read_transcript(transcript_files(claude, folder, session_id)).turns
        return sorted(unassigned_calls(finished, turns), key=lambda call: call.sequence)
    known = {call.sequence for call in finished}
    in_flight = (_from_files(folder, number) for number in parts_in(folder) - known)
    return sorted([*finished, *filter(None, in_flight)], key=lambda call: call.sequence)


def has_others(folder: Path, session_id: str) -> bool:
    """Whether a folder may have calls of other sessions too, as `unknown/` has."""
    return not has_session(folder) and session_id != UNKNOWN


def parts_in(folder: Path) -> set[int]:
    """Return the numbers of the exchanges that are in flight, or were interrupted by a kill."""
    names = (part.with_suffix(".json").name for part in folder.glob(f"*{PART_SUFFIX}"))
    return {found[0] for name in names if (found := parse_file_name(name))}


def read_stored(
    folder: Path,
    exchanges: Sequence[Exchange],
    sequence: int,
    *,
    only_listed: bool = False,
    request: bool = True,
    response: bool = True,
) -> StoredExchange:
    """Read the files of an exchange; raise KeyError if the session has none of that number.

    With `only_listed`, any exchange that is not among those given is another session's.
    """
    problems: list[str] = []
    in_flight = sequence in parts_in(folder)
    call = next((one for one in exchanges if one.sequence == sequence), None)
    if call is None and not only_listed:
        call = _from_files(folder, sequence)
    if call is None:
        raise KeyError(sequence)
    sent = _file(read_request, folder, sequence, "request", problems) if request else None
    received = None
    if response and not in_flight:
        received = _file(read_response, folder, sequence, "response", problems)
    return StoredExchange(
        call=call,
        request=sent,
        response=received,
        problems=tuple(problems),
        in_flight=in_flight,
    )


def _file(
    read: Callable[[Path, int], File], folder: Path, sequence: int, what: str, problems: list[str]
) -> File | None:
    try:
        return read(folder, sequence)
    except FileNotFoundError:
        problems.append(f"The {what} file is missing.")
    except (ValueError, PackDamaged) as error:
        problems.append(f"The {what} file is damaged ({error}).")
    except OSError as error:
        problems.append(f"The {what} file cannot be read ({error.strerror}).")
    return None


def _from_files(folder: Path, sequence: int) -> Exchange | None:
    """Return what the files contain of an exchange that has no line in the index."""
    ignored: list[str] = []
    request = _file(read_request, folder, sequence, "request", ignored) or {}
    response = _file(read_response, folder, sequence, "response", ignored) or {}
    head = request or response
    host, path = text(head.get("host")) or "", text(head.get("path")) or ""
    endpoint = endpoint_of(host, path)
    body, message = as_dict(body_of(request)), as_dict(response.get("message"))
    timing = as_dict(response.get("timing"))
    headers = as_dict(request.get("headers"))
    found = {
        "sequence": sequence,
        "flow_id": head.get("flow_id"),
        "started": timing.get("request_start", request.get("timestamp")),
        "ended": response.get("timestamp"),
        "method": head.get("method"),
        "host": host,
        "path": path,
        "kind": endpoint.kind,
        "agent_id": text(headers.get("x-claude-code-agent-id")),
        "request_class": text(headers.get("x-claude-code-request-class")),
        "model": endpoint.model or text(body.get("model")),
        "messages": _length(body.get("messages")),
        "tools": _length(body.get("tools")),
        "served_model": text(message.get("model")),
        "status": response.get("status_code"),
        "usage": message.get("usage"),
        "complete": response.get("complete") is True,
        "ended_by": response.get("ended_by"),
        "error": response.get("error"),
    }
    try:
        return Exchange.from_json(found)
    except ValueError:
        return None


def _length(value: object) -> int | None:
    return len(value) if isinstance(value, list) else None
