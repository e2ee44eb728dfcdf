"""The answer of an exchange: a stream, any other body, none, or one that a kill cut off. Pure.

Each takes the bytes as they arrive, returns lines for the part file, and at the end the outcome.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from addon.recording.content.body import body_fields, classify_body
from addon.recording.content.decode import decoded_pieces, decoder_for
from addon.recording.content.event_lines import (
    IN_MEMORY,
    error_text,
    events_body,
    stream_start,
    stream_type_of,
)
from addon.recording.content.exchange_files import FinishedAnswer, SpilledBody
from addon.recording.content.large_body import LARGEST_IN_MEMORY, TEXT, LargeBody, text_body
from addon.recording.content.streamed import StreamedAnswer
from addon.redaction.redactor import Redactor
from ccwire.wire.format import NO_STREAM
from ccwire.wire.stream.message import BEDROCK_COUNTS, MessageAssembler
from ccwire.wire.vocabulary import EndedBy, EndpointKind

_COUNT = re.compile(r"[0-9]{1,15}")


class PlainAnswer:
    """Any other response: kept in memory until it ends, or as a text in the part file if large."""

    def __init__(self, headers: dict[str, str], redactor: Redactor, kind: EndpointKind) -> None:
        self._headers = headers
        self._redactor = redactor
        self._kind = kind
        self._decoder = decoder_for(headers.get("content-encoding", ""))
        self._is_encoded = "content-encoding" in headers
        self._chunks: list[bytes] = []
        self._size = 0
        self._wire_size = 0
        self._large: LargeBody | None = None

    def feed(self, at_ms: float, chunk: bytes) -> list[bytes]:
        self._wire_size += len(chunk)
        pieces = decoded_pieces(self._decoder, chunk, is_encoded=self._is_encoded)
        return [line for piece in pieces for line in self._feed(piece)]

    def _feed(self, data: bytes) -> list[bytes]:
        self._size += len(data)
        if self._large is not None:
            return self._large.feed(data)
        self._chunks.append(data)
        if self._size <= LARGEST_IN_MEMORY:
            return []
        self._large = LargeBody(self._redactor, self._kind)
        chunks, self._chunks = self._chunks, []
        return [line for chunk in chunks for line in self._large.feed(chunk)]

    def finish(self, ended_by: EndedBy, error: str | None) -> FinishedAnswer:
        is_whole = self._headers.get("content-length") == str(self._wire_size)
        if is_whole and ended_by != "http_end":
            ended_by, error = "http_end", None  # all of it came, whatever happened afterwards
        if self._large is not None:
            about = body_fields(self._headers, self._size, self._decoder.failed, self._redactor)
            return FinishedAnswer(
                body=self._large.finish(about),
                message=None,
                metrics=_counted_in(self._headers),
                usage_at_start=None,
                usage=None,
                error=error,
                complete=ended_by == "http_end",
                ended_by=ended_by,
                wire_size=self._wire_size,
            )
        body = classify_body(
            self._headers,
            b"".join(self._chunks),
            self._decoder.failed,
            self._redactor,
            self._kind,
        )
        message = usage = None
        if isinstance(body.value, dict):
            if body.value.get("type") == "message":
                message = {**body.value, "usage_at_start": None}
                usage = message["usage"] if isinstance(message.get("usage"), dict) else None
            elif error is None:
                found = self._error_in(body.value)
                # Escapes in the JSON may have hidden a secret.
                error = self._redactor.url(found) if found else None
        return FinishedAnswer(
            body=body.field,
            message=message,
            metrics=_counted_in(self._headers),
            usage_at_start=None,
            usage=usage,
            error=error,
            complete=ended_by == "http_end",
            ended_by=ended_by,
            wire_size=self._wire_size,
        )

    def _error_in(self, value: dict[str, Any]) -> str | None:
        """Return the error in a body as Anthropic, Google and Azure, or as AWS write it."""
        if isinstance(value.get("error"), dict) or value.get("type") == "error":
            return error_text(value.get("error"))
        if named := self._headers.get("x-amzn-errortype"):
            kind = self._redactor.text(named.partition(":")[0])
            return error_text({"type": kind, "message": value.get("message")})
        return None


class NoAnswer:
    """No response arrived."""

    def feed(self, at_ms: float, chunk: bytes) -> list[bytes]:
        return []

    def finish(self, ended_by: EndedBy, error: str | None) -> FinishedAnswer:
        return FinishedAnswer(
            body={"type": "empty", "size": 0},
            message=None,
            usage_at_start=None,
            usage=None,
            error=error or "no answer",
            complete=False,
            ended_by=ended_by,
            wire_size=0,
        )


def answer_for(
    headers: dict[str, str], redactor: Redactor, kind: EndpointKind
) -> StreamedAnswer | PlainAnswer:
    if stream_type_of(headers) is not None:
        return StreamedAnswer(headers, redactor)
    return PlainAnswer(headers, redactor, kind)


def as_asked(
    answer: FinishedAnswer, kind: EndpointKind, *, stream: bool, status: int, content_type: str
) -> FinishedAnswer:
    """Return the answer to a call, incomplete if its body is not what the call asked for.

    A web page or other JSON with status 200 is no answer, however completely it arrived; neither is
    a message in one piece to a client that reads a stream.
    """
    is_success = 200 <= status < 300
    if kind != "messages" or not is_success or answer.ended_by != "http_end":
        return answer
    found = content_type.partition(";")[0].strip() or "a body without a type"
    if not answer.complete:  # a stream
        came = "has no message" if answer.message is None else "ended without message_stop"
        return replace(answer, error=answer.error or f"the stream {came}")
    is_json = found == "application/json"
    is_large = isinstance(answer.body, SpilledBody) and is_json
    if (answer.message is not None or is_large) and not stream:
        return answer
    if is_json and not stream:
        found = "other JSON"
    expected = NO_STREAM if stream else "expected a message"
    return replace(answer, complete=False, error=answer.error or f"{expected}, got {found}")


def recovered_answer(
    lines: Iterable[tuple[bytes, dict[str, Any]]], headers: Mapping[str, str]
) -> FinishedAnswer:
    """Return the outcome of a response from the lines of its part file and its headers."""
    assembler = MessageAssembler()
    kept: list[bytes] = []
    size, is_text = 0, False
    for line, value in lines:
        is_text = is_text or TEXT in value
        assembler.feed(value.get("data"))
        size += len(line)
        if size <= IN_MEMORY:
            kept.append(line)
    result = assembler.result()
    ended_by: EndedBy = "proxy_stopped"
    if result.complete:
        ended_by = "message_stop"
    elif result.error is not None:
        ended_by = "error_event"
    body: Any = {"type": "empty", "size": 0}
    if is_text:
        body = text_body({"type": "text", "size": size}, [])
    elif kept or size:
        start = stream_start(stream_type_of(headers), size, "", None)
        is_spilled = size > IN_MEMORY
        body = events_body(start, [] if is_spilled else kept, is_spilled=is_spilled)
    return FinishedAnswer(
        body=body,
        message=result.to_json(),
        metrics=result.metrics,
        usage_at_start=result.usage_at_start,
        usage=result.usage,
        error=error_text(result.error) if result.error else "the proxy was killed",
        complete=result.complete,
        ended_by=ended_by,
        wire_size=size,
    )


def _counted_in(headers: Mapping[str, str]) -> dict[str, Any] | None:
    """Return Bedrock's counts of an answer without a stream, named as in the last event of one."""
    found = {name: headers.get(header, "") for name, header, _ in BEDROCK_COUNTS}
    counts = {name: int(value) for name, value in found.items() if _COUNT.fullmatch(value)}
    return counts or None
