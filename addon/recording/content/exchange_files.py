"""The content of an exchange's two files and of its line in the index. Pure.

JSON that came over the wire is embedded byte for byte; only secrets are replaced.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from addon.identity.session import Identity
from addon.recording.content.body import joined_headers
from addon.recording.jobs import ResponseSeen
from ccwire.wire.format import FORMAT, Exchange
from ccwire.wire.json_text import dicts, dump, text
from ccwire.wire.times import iso
from ccwire.wire.vocabulary import EndedBy, RecordDirection


@dataclass(frozen=True, slots=True)
class SpilledBody:
    """A body too large for memory: its lines are in the part file, except the last ones.

    Each line of the part file is a JSON object of which `prefix` and `suffix` are left out.
    """

    start: bytes
    last: list[bytes]
    separator: bytes
    end: bytes
    prefix: bytes = b""
    suffix: bytes = b""

    def pieces(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the `body` field from the lines of the part file."""
        yield self.start
        separator = b""
        for line in lines:
            yield separator + line.removeprefix(self.prefix).removesuffix(self.suffix)
            separator = self.separator
        yield self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedAnswer:
    """The outcome of a response, streamed or not."""

    body: Any  # or a `SpilledBody`
    message: dict[str, Any] | None
    usage_at_start: dict[str, Any] | None
    usage: dict[str, Any] | None
    error: str | None
    complete: bool
    ended_by: EndedBy
    wire_size: int
    metrics: dict[str, Any] | None = None


def head(
    record_id: Mapping[str, Any], identity: Identity, direction: RecordDirection, at: float
) -> bytes:
    """Return the first lines of a file: those that change when an exchange moves."""
    return lines(
        {
            "format": FORMAT,
            "session_id": identity.session_id,
            "identified_by": identity.identified_by,
            "flow_id": record_id["flow_id"],
            "sequence": record_id["sequence"],
            "direction": direction,
            "timestamp": at,
            "timestamp_iso": iso(at),
        }
    )


def exchange_line(
    *,
    flow_id: str,
    sequence: int,
    identity: Identity,
    request: Mapping[str, Any],
    facts: Mapping[str, Any],
    process: Mapping[str, Any],
    response: ResponseSeen | None,
    answer: FinishedAnswer,
    ended: float,
    first_byte: float | None,
) -> Exchange:
    """Return the `exchanges.jsonl` line of a finished exchange."""
    headers = joined_headers(response.headers) if response else {}
    message = answer.message or {}
    started = request["started"]
    return Exchange(
        **request,
        **facts,
        flow_id=flow_id,
        sequence=sequence,
        ended=ended,
        first_byte_ms=round(elapsed(started, first_byte) * 1000, 3) if first_byte else None,
        status=response.status if response else None,
        request_id=request_id(headers),
        message_id=text(message.get("id")),
        served_model=text(message.get("model")),
        stop_reason=text(message.get("stop_reason")),
        blocks=block_counts(message),
        usage_at_start=answer.usage_at_start,
        usage=answer.usage,
        invocation_metrics=answer.metrics,
        complete=answer.complete,
        ended_by=answer.ended_by,
        error=answer.error,
        response_bytes=answer.wire_size,
        identified_by=identity.identified_by,
        **process,
    )


def block_counts(message: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the number of content blocks by type, without empty texts; None without a message."""
    if not isinstance(content := message.get("content"), list):
        return None
    found = [block for block in dicts(content) if block.get("text") != ""]
    return dict(Counter(text(block.get("type")) or "unknown" for block in found))


def response_fields(
    request_fields: Mapping[str, Any],
    response: ResponseSeen | None,
    answer: FinishedAnswer,
    timing: Mapping[str, float | None],
) -> dict[str, Any]:
    """Return the fields of a response file after its head; `response` is already redacted."""
    headers = joined_headers(response.headers) if response else {}
    return {
        **request_fields,
        "http_version": response.http_version if response else None,
        "status_code": response.status if response else None,
        "reason": response.reason if response else None,
        "headers": headers,
        "request_id": request_id(headers),
        "rate_limits": rate_limits(headers),
        "timing": timing,
        "complete": answer.complete,
        "ended_by": answer.ended_by,
        "error": answer.error,
        "message": answer.message,
        "invocation_metrics": answer.metrics,
        "body": answer.body,
    }


def request_id(headers: Mapping[str, str]) -> str | None:
    """Return the API's id of the request; Bedrock's has another name."""
    return headers.get("request-id") or headers.get("x-amzn-requestid")


def lines(fields: Mapping[str, Any]) -> bytes:
    """Write one top-level field per line, so that a head can be replaced without the rest."""
    return b"".join(b'"%s": %s,\n' % (name.encode(), dump(value)) for name, value in fields.items())


def whole_file(head_lines: bytes, fields: Mapping[str, Any]) -> bytes:
    return b"{\n" + head_lines + lines(fields).removesuffix(b",\n") + b"\n}\n"


def response_pieces(
    head_lines: bytes, fields: Mapping[str, Any], part_lines: Callable[[], Iterator[bytes]]
) -> Iterator[bytes]:
    """Yield a response file; `part_lines` returns the lines of a body that is not in memory."""
    body = fields["body"]
    if not isinstance(body, SpilledBody):
        yield whole_file(head_lines, fields)
        return
    yield b"{\n" + head_lines + lines({n: v for n, v in fields.items() if n != "body"})
    yield b'"body": '
    yield from body.pieces(part_lines())
    yield b"\n}\n"


def rate_limits(headers: Mapping[str, str]) -> dict[str, str]:
    prefix = "anthropic-ratelimit-"
    limits = {n.removeprefix(prefix): v for n, v in headers.items() if n.startswith(prefix)}
    if "retry-after" in headers:
        limits["retry-after"] = headers["retry-after"]
    return limits


def elapsed(start: float, end: float) -> float:
    """Return the seconds between two times; 0 if the clock was set back in between."""
    return max(0.0, end - start)
