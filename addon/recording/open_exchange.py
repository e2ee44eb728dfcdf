"""An exchange in flight: what is known of it so far, and what is written of that. Pure."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from addon.identity.processes import ClientProcess
from addon.identity.session import Identity
from addon.recording.content.body import joined_headers
from addon.recording.content.exchange_files import FinishedAnswer, head, whole_file
from addon.recording.content.request import RequestRecord
from addon.recording.content.response import NoAnswer, PlainAnswer, as_asked
from addon.recording.content.streamed import StreamedAnswer
from addon.recording.jobs import RequestSeen, ResponseSeen
from addon.storage.folder import Slot
from ccwire.wire.vocabulary import EndedBy


@dataclass(slots=True)
class OpenExchange:
    """An exchange in flight."""

    flow_id: str
    slot: Slot
    record: RequestRecord
    identity: Identity
    process: ClientProcess | None
    request_ended: float
    response: ResponseSeen | None = None
    answer: StreamedAnswer | PlainAnswer | NoAnswer = field(default_factory=NoAnswer)
    first_byte: float | None = None
    last_byte: float | None = None
    lost: bool = False
    unwritten: list[bytes] = field(default_factory=list)  # lines for the part file
    unwritten_size: int = 0

    @property
    def ids(self) -> dict[str, Any]:
        return {"flow_id": self.flow_id, "sequence": self.slot.sequence}

    @property
    def process_fields(self) -> dict[str, Any]:
        process = self.process
        return {
            "pid": process.pid if process else None,
            "process_started": process.created if process else None,
        }

    @property
    def last_seen(self) -> float:
        """When something of it was seen last."""
        return self.last_byte or (self.response.at if self.response else self.request_ended)

    def finish(self, ended_by: EndedBy, error: str | None) -> FinishedAnswer:
        """Return the answer, incomplete if it is not what was asked for.

        A status below 200 announces another answer or another protocol.
        """
        answer, response, base = (
            self.answer.finish(ended_by, error),
            self.response,
            self.record.base,
        )
        if response is None:
            return answer
        if 100 <= response.status < 200:
            error = answer.error or f"what follows status {response.status} is not captured"
            return replace(answer, complete=False, error=error)
        if base["method"] != "POST":
            return answer
        return as_asked(
            answer,
            base["kind"],
            stream=base["stream"] is True,
            status=response.status,
            content_type=joined_headers(response.headers).get("content-type", ""),
        )

    def request_file(self, seen: RequestSeen) -> bytes:
        address = seen.client_address
        client = {
            "address": address[0] if address else None,
            "port": address[1] if address else None,
            "pid": self.process.pid if self.process else None,
        }
        tail = {**self.record.tail, "client": client}
        tail["body"] = tail.pop("body")  # the largest last
        top = head(self.ids, self.identity, "request", seen.started)
        return whole_file(top, {**self.record.fields, **tail})

    def part_head(self) -> dict[str, Any]:
        """Return the parts of a request that recovery needs."""
        return {
            "flow_id": self.flow_id,
            "identified_by": self.identity.identified_by,
            **self.process_fields,
            "fields": self.record.fields,
            "base": self.record.base,
            "facts": asdict(self.record.facts),
            "request_ended": self.request_ended,
        }
