"""The frames of a journal file, sans-IO: jobs in, bytes out, and back.

A file contains the jobs of one exchange, in order. A frame is a kind, a size, and so many bytes: a
time and the data for a chunk, JSON for anything else, and the body after the JSON of a request. It
is not pickled, because a journal is read after its writer is gone.
"""

import struct
from typing import Any, NamedTuple

from addon.identity.processes import ClientProcess
from addon.recording.jobs import (
    Answered,
    Begun,
    Chunk,
    Ended,
    Job,
    Lost,
    RequestSeen,
    ResponseSeen,
)
from ccwire.wire.json_text import dump, parse_json


class Owned(NamedTuple):
    """The client's process was found after its request was written; None: it cannot be found."""

    flow_id: str
    process: ClientProcess | None


type JournalJob = Job | Owned

CHUNK_HEAD = struct.Struct("!BId")  # kind, size of time and data, time: the first bytes of a chunk
CHUNK = 2
TIME_SIZE = 8

_HEAD = struct.Struct("!BI")
_LENGTH = struct.Struct("!I")
_TIME = struct.Struct("!d")
_BEGUN, _ANSWERED, _LOST, _ENDED, _OWNED = 0, 1, 3, 4, 5
_REQUEST_FIELDS = tuple(name for name in RequestSeen.__slots__ if name != "body")
_RESPONSE_FIELDS = tuple(ResponseSeen.__slots__)


def begun_frame(
    request: RequestSeen, owner: ClientProcess | None, *, is_owned: bool
) -> tuple[bytes, bytes]:
    """Return the first frame of a file, its body apart; an `Owned` follows unless `is_owned`."""
    fields = {name: getattr(request, name) for name in _REQUEST_FIELDS}
    about = dump({"request": fields, "owned": is_owned, "process": _process_json(owner)})
    size = _LENGTH.size + len(about) + len(request.body)
    return _HEAD.pack(_BEGUN, size) + _LENGTH.pack(len(about)) + about, request.body


def frame_of(job: Answered | Lost | Ended | Owned) -> bytes:
    match job:
        case Answered(_, response):
            value: Any = {name: getattr(response, name) for name in _RESPONSE_FIELDS}
            kind = _ANSWERED
        case Ended(_, at, ended_by, error):
            kind, value = _ENDED, [at, ended_by, error]
        case Owned(_, process):
            kind, value = _OWNED, _process_json(process)
        case Lost():
            kind, value = _LOST, None
    payload = dump(value)
    return _HEAD.pack(kind, len(payload)) + payload


class FrameParser:
    """Feed it the bytes of a file; it returns the jobs they complete, and raises ValueError.

    Jobs are held back until the process of the request is known.
    """

    def __init__(self, flow_id: str) -> None:
        self._flow_id = flow_id
        self._buffer = bytearray()
        self._held: list[Job] | None = None

    def feed(self, data: bytes) -> list[Job]:
        buffer = self._buffer
        buffer += data
        jobs: list[Job] = []
        start, end = 0, len(buffer)
        while end - start >= _HEAD.size:
            kind, size = _HEAD.unpack_from(buffer, start)
            after = start + _HEAD.size + size
            if after > end:
                break
            job = self._job(kind, bytes(buffer[start + _HEAD.size : after]))
            if isinstance(job, Owned):
                jobs += self.flush(job.process)
            elif self._held is not None:
                self._held.append(job)
            else:
                jobs.append(job)
            start = after
        del buffer[:start]
        return jobs

    def flush(self, owner: ClientProcess | None = None) -> list[Job]:
        """Return what was held back, because the process was found, or because it never will be."""
        held, self._held = self._held or [], None
        return [Begun(job.request, owner) if isinstance(job, Begun) else job for job in held]

    def drop_cut(self) -> None:
        """Drop a frame that its segment does not complete."""
        self._buffer.clear()

    def _job(self, kind: int, payload: bytes) -> JournalJob:
        flow_id = self._flow_id
        try:
            if kind == CHUNK:
                (at,) = _TIME.unpack_from(payload)
                return Chunk(flow_id, at, payload[TIME_SIZE:])
            if kind == _BEGUN:
                return self._begun(payload)
            if kind == _ANSWERED:
                return Answered(flow_id, _response(parse_json(payload)))
            if kind == _LOST:
                return Lost(flow_id)
            if kind == _ENDED:
                at, ended_by, error = parse_json(payload)
                return Ended(flow_id, at, ended_by, error)
            if kind == _OWNED:
                return Owned(flow_id, _process(parse_json(payload)))
        except (KeyError, TypeError, struct.error) as error:
            raise ValueError("not a frame") from error
        raise ValueError("not a frame")

    def _begun(self, payload: bytes) -> Begun:
        (size,) = _LENGTH.unpack_from(payload)
        start = _LENGTH.size + size
        about = parse_json(payload[_LENGTH.size : start])
        fields = about["request"]
        address = fields["client_address"]
        fields["headers"] = _pairs(fields["headers"])
        fields["client_address"] = None if address is None else (address[0], address[1])
        if not about["owned"]:
            self._held = []
        return Begun(RequestSeen(**fields, body=payload[start:]), _process(about["process"]))


def _response(fields: dict[str, Any]) -> ResponseSeen:
    return ResponseSeen(**{**fields, "headers": _pairs(fields["headers"])})


def _pairs(headers: list[list[str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers]


def _process_json(process: ClientProcess | None) -> list[Any] | None:
    return None if process is None else [process.pid, process.created, process.ancestors]


def _process(value: list[Any] | None) -> ClientProcess | None:
    if value is None:
        return None
    pid, created, ancestors = value
    return ClientProcess(pid, created, tuple((above, at) for above, at in ancestors))
