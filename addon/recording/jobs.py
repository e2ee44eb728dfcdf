"""The jobs that the proxy sends to the recorder: one set of messages for both ways to it.

They go through a journal to the writer process (`addon.recording.process`), or through a queue in
memory (`addon.recording.queue`). Every job contains the id of its flow.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from addon.identity.processes import ClientProcess
from ccwire.wire.vocabulary import EndedBy

logger = logging.getLogger("ccwire")

Headers = Sequence[tuple[str, str]]

LIMIT = 256 * 1024 * 1024  # bytes that the recorder has not read: past that, bodies are dropped
CROWDED = 16 * 1024 * 1024  # past that, answers are slowed down


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSeen:
    """A request as the proxy received it; not redacted, so never written as it is."""

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
    """Status line and headers of a response as the proxy received them."""

    at: float
    status: int
    reason: str
    http_version: str
    headers: Headers


# Named tuples, because a stream creates one per chunk and they are the fastest to create.


class Begun(NamedTuple):
    """A request was received; `process` is the client's, once it has been looked up."""

    request: RequestSeen
    process: ClientProcess | None = None

    @property
    def flow_id(self) -> str:
        return self.request.flow_id


class Answered(NamedTuple):
    """The response's headers arrived."""

    flow_id: str
    response: ResponseSeen


class Chunk(NamedTuple):
    """A chunk of the response body arrived."""

    flow_id: str
    at: float
    data: bytes


class Lost(NamedTuple):
    """Part of the exchange could not be queued; the rest of it is not recorded."""

    flow_id: str


class Ended(NamedTuple):
    """The exchange ended; `ended_by` is judged by the connection alone."""

    flow_id: str
    at: float
    ended_by: EndedBy
    error: str | None


class Failed(NamedTuple):
    """Recording failed. Empty flow id: an unknown exchange was lost; None: possibly none was."""

    flow_id: str | None
    error: Exception


Job = Chunk | Begun | Answered | Lost | Ended | Failed


class Sink(Protocol):
    """A consumer of jobs: the recorder."""

    def handle(self, job: Job) -> None: ...

    def settle(self) -> None:
        """Called after a batch of jobs."""

    def idle(self) -> None:
        """Called when no job has arrived for a while."""

    def close(self) -> None: ...


def handle_safely(sink: Sink, job: Job) -> None:
    """Handle a job; on an exception, record the failure and continue."""
    try:
        sink.handle(job)
    except Exception as error:
        _record_failure(sink, Failed(job.flow_id, error))


def safely(sink: Sink, act: Callable[[], None]) -> None:
    """Call a method that concerns no single exchange; on an exception, record the failure."""
    try:
        act()
    except Exception as error:
        _record_failure(sink, Failed(None, error))


def _record_failure(sink: Sink, failure: Failed) -> None:
    try:
        sink.handle(failure)
    except Exception:
        logger.exception("ccwire: could not record a capture error")
