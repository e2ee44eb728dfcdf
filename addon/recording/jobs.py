"""What the proxy hands over to be recorded: one message type for the queue, the pipe and the disk.

The proxy puts jobs into a queue (`addon.recording.queue`). A thread takes them out in order and
passes each to a `Sink`: the recorder itself, or the near end of the pipe to the writer process
(`addon.recording.process`), whose far end passes the same job to its recorder. Every job names the
flow that it belongs to.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from addon.identity.processes import ClientProcess
from ccwire.wire.vocabulary import EndedBy

logger = logging.getLogger("ccwire")

Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSeen:
    """A request as the proxy saw it, not yet redacted: never written as it is."""

    flow_id: str
    started: float
    ended: float
    method: str
    scheme: str
    host: str
    port: int
    target: str  # path and query
    http_version: str
    headers: Headers
    body: bytes
    client_address: tuple[str, int] | None
    connection_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseSeen:
    """The head of a response as the proxy saw it."""

    at: float
    status: int
    reason: str
    http_version: str
    headers: Headers


# Named tuples: a stream makes one per chunk, and no other kind of record is made so quickly.


class Begun(NamedTuple):
    """A request was sent; `process` is the client's, once it has been looked up."""

    request: RequestSeen
    process: ClientProcess | None = None

    @property
    def flow_id(self) -> str:
        return self.request.flow_id


class Answered(NamedTuple):
    """The head of the response arrived."""

    flow_id: str
    response: ResponseSeen


class Chunk(NamedTuple):
    """Bytes of the response's body."""

    flow_id: str
    at: float
    data: bytes


class Lost(NamedTuple):
    """Part of the exchange could not be queued; the rest of it is not recorded."""

    flow_id: str


class Ended(NamedTuple):
    """The exchange is over, as far as the connection can tell."""

    flow_id: str
    at: float
    ended_by: EndedBy
    error: str | None


class Failed(NamedTuple):
    """Recording went wrong. An empty flow id: some exchange was lost; None: perhaps none was."""

    flow_id: str | None
    error: Exception


Job = Begun | Answered | Chunk | Lost | Ended | Failed


class Sink(Protocol):
    """Whatever takes jobs: the recorder, or the pipe to the process that has one."""

    def handle(self, job: Job) -> None: ...

    def settle(self) -> None:
        """Called after a batch of jobs."""

    def idle(self) -> None:
        """Called when no job has come for a while."""

    def close(self) -> None: ...


def handle_safely(sink: Sink, job: Job) -> None:
    """Whatever goes wrong in recording is recorded itself, and the next job is handled."""
    try:
        sink.handle(job)
    except Exception as error:
        _record_failure(sink, Failed(job.flow_id, error))


def safely(sink: Sink, act: Callable[[], None]) -> None:
    """The same for what concerns no single exchange."""
    try:
        act()
    except Exception as error:
        _record_failure(sink, Failed(None, error))


def _record_failure(sink: Sink, failure: Failed) -> None:
    try:
        sink.handle(failure)
    except Exception:
        logger.exception("ccwire: a loss could not be recorded")
