"""Answer one request as its scenario prescribes, with its delays, and record it in the ledger."""

import asyncio
import json
import time
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from ccwire.demo.stand_in import bedrock
from ccwire.demo.stand_in.compression import Compressor, compressor
from ccwire.demo.stand_in.http_messages import LAST_CHUNK, chunk, head
from ccwire.demo.stand_in.ledger import Ledger, Sent
from ccwire.demo.stand_in.scenario import Answer, Failure, Scenario, Usage
from ccwire.demo.stand_in.stream import (
    Call,
    error_body,
    error_event,
    events,
    message,
    stop_reason,
    usage_of,
)

_ORGANIZATION = "00000000-1ab0-4000-8000-00000000c1a0"
_LIMITS = {"requests": 4_000, "tokens": 480_000, "input-tokens": 400_000, "output-tokens": 80_000}
# Valid answers to startup calls: without them the client requests policy_limits four times in four
# seconds, and shows a warning about its settings.
_KNOWN: dict[str, Any] = {
    "hello": {"message": "hello"},
    "policy_limits": {"restrictions": {}},
    "settings": {"uuid": _ORGANIZATION, "checksum": "sha256:lab", "settings": {}},
}
_BLOCK = b"event: content_block"  # most events are these; they change neither the end nor the usage
_GLANCE = 0.05  # seconds between checks that the client is still connected during a delay
_BREATHE = 16  # chunks sent before yielding to the event loop, so that parallel streams share it


class Answering:
    """Sends one answer. The ledger is written before the last byte is sent, so that a client which
    has read the whole answer finds it there."""

    def __init__(
        self,
        sent: Sent,
        call: Call,
        scenario: Scenario,
        ledger: Ledger,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._sent = sent
        self._call = call
        self._scenario = scenario
        self._ledger = ledger
        self._reader = reader
        self._writer = writer
        self._recorded = False
        self._is_bedrock = sent.request.is_bedrock

    async def run(self) -> None:
        try:
            await self._answer()
        finally:
            self._record(self._sent.ended)

    async def _answer(self) -> None:
        request = self._sent.request
        if request.path == "/lab/ledger":
            await self._send_json(200, self._ledger.to_json())
        elif request.kind == "count_tokens":
            self._sent.usage = {"input_tokens": 1_000 + request.body_bytes // 4}
            counted = self._sent.usage
            if self._is_bedrock:
                counted = {"inputTokens": counted["input_tokens"]}
            await self._send_json(200, counted)
        elif self._is_bedrock and request.kind == "models":
            await self._send_json(200, bedrock.inference_profiles())
        elif request.kind != "messages" or request.method != "POST":
            await self._send_json(200, _KNOWN.get(request.kind, {}))
        else:
            answer = self._scenario.answer(request, self._sent.attempt)
            await self._sleep(answer.first_delay)
            if answer.failure is not None:
                await self._send_failure(answer.failure)
            elif answer.body is not None:
                await self._send_bytes(200, answer.body.type, answer.body.data, ended="other_body")
            elif request.stream and not answer.whole:
                await self._send_stream(answer, usage_of(answer, self._call))
            else:
                await self._send_message(answer, usage_of(answer, self._call))

    async def _send_failure(self, failure: Failure) -> None:
        extra = {"x-should-retry": "true" if failure.status in (429, 500, 529) else "false"}
        if failure.retry_after is not None:
            extra["retry-after"] = str(failure.retry_after)
        body = error_body(failure, self._call.request_id)
        if self._is_bedrock:
            named, body = bedrock.error_body(failure)
            extra |= named
        await self._send_json(failure.status, body, ended="failed", extra=extra)

    async def _send_message(self, answer: Answer, usage: Usage) -> None:
        sent = self._sent
        sent.message_id, sent.stop_reason = self._call.message_id, stop_reason(answer)
        sent.start_usage = sent.usage = usage.final()
        body = message(answer, self._call, usage)
        extra = bedrock.metrics_headers(usage) if self._is_bedrock else {}
        await self._send_json(200, body, encoding=answer.encoding, claim=answer.claim, extra=extra)

    async def _send_json(
        self,
        status: int,
        body: Any,
        *,
        ended: str = "complete",
        encoding: str | None = None,
        claim: int = 0,
        extra: dict[str, str] | None = None,
    ) -> None:
        data = json.dumps(body, separators=(",", ":")).encode()
        await self._send_bytes(
            status,
            "application/json",
            data,
            ended=ended,
            encoding=encoding,
            claim=claim,
            extra=extra,
        )

    async def _send_bytes(
        self,
        status: int,
        content_type: str,
        data: bytes,
        *,
        ended: str,
        encoding: str | None = None,
        claim: int = 0,
        extra: dict[str, str] | None = None,
    ) -> None:
        headers = self._headers(content_type, encoding) | (extra or {})
        if encoding:
            packer = compressor(encoding)
            data = packer.piece(data) + packer.end()
        headers["content-length"] = str(len(data) + claim)
        self._sent.status = status
        self._record(ended)
        self._writer.write(head(status, headers))
        if self._sent.request.method != "HEAD":
            self._writer.write(data)
        await self._writer.drain()
        if claim:
            self._writer.close()

    async def _send_stream(self, answer: Answer, usage: Usage) -> None:
        sent = self._sent
        sent.message_id = self._call.message_id
        kind = bedrock.CONTENT_TYPE if self._is_bedrock else "text/event-stream; charset=utf-8"
        headers = self._headers(kind, answer.encoding)
        headers |= {"cache-control": "no-cache", "transfer-encoding": "chunked"}
        self._writer.write(head(200, headers))
        packer = compressor(answer.encoding) if answer.encoding else None
        paced = bool(answer.event_delay) or answer.stall_after is not None
        stream = self._noted(answer, usage)
        if self._is_bedrock:
            stream = bedrock.frames(stream, usage)
        for count, data in enumerate(_chunks(stream, answer)):
            if count and (paced or count % _BREATHE == 0):
                await self._pace(answer, count)
            self._writer.write(chunk(packer.piece(data) if packer else data))
        await self._end_stream(answer, packer)

    def _noted(self, answer: Answer, usage: Usage) -> Iterator[bytes]:
        """Yield the events, recording each in the ledger just before it is sent."""
        sent = self._sent
        for event in _planned(answer, self._call, usage):
            sent.event(event)
            match None if event.startswith(_BLOCK) else event[7 : event.find(b"\n")]:
                case b"message_start" if not answer.bare_start:
                    sent.start_usage = usage.start()
                case b"message_delta":
                    sent.usage, sent.stop_reason = usage.final(), stop_reason(answer)
                case b"message_stop":
                    self._record("complete")
                case b"error":
                    self._record("error_event")
            yield event

    async def _end_stream(self, answer: Answer, packer: Compressor | None) -> None:
        self._record("dropped")  # no effect if the last event has recorded another end
        if answer.cut_after is None:
            rest = packer.end() if packer else b""
            self._writer.write((chunk(rest) if rest else b"") + LAST_CHUNK)
            await self._writer.drain()
        elif answer.reset:
            self._writer.transport.abort()
        else:
            await self._writer.drain()
            self._writer.close()

    async def _pace(self, answer: Answer, count: int) -> None:
        if answer.stall_after == count:
            await self._sleep(answer.stall)
        elif answer.event_delay:
            await self._sleep(answer.event_delay)
        else:
            await self._writer.drain()
            await asyncio.sleep(0)
        self._check_client()

    async def _sleep(self, seconds: float) -> None:
        while seconds > 0:
            await asyncio.sleep(min(seconds, _GLANCE))
            self._check_client()
            seconds -= _GLANCE

    def _check_client(self) -> None:
        if self._reader.at_eof() or self._writer.transport.is_closing():
            raise ConnectionResetError("the client closed the connection")

    def _record(self, ended: str) -> None:
        if not self._recorded:
            self._recorded = True
            self._sent.ended = ended
            self._ledger.close(self._sent.served(time.time()))

    def _headers(self, content_type: str, encoding: str | None) -> dict[str, str]:
        self._sent.encoding = encoding
        headers = {"content-type": content_type, "server": "lab"}
        if encoding:
            headers["content-encoding"] = encoding
        if self._is_bedrock:
            return headers | {bedrock.REQUEST_ID: self._call.request_id}
        headers["request-id"] = self._call.request_id
        headers["anthropic-organization-id"] = _ORGANIZATION
        reset = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._sent.started + 60))
        for name, limit in _LIMITS.items():
            headers[f"anthropic-ratelimit-{name}-limit"] = str(limit)
            headers[f"anthropic-ratelimit-{name}-remaining"] = str(limit - self._sent.order % limit)
            headers[f"anthropic-ratelimit-{name}-reset"] = reset
        return headers


def _planned(answer: Answer, call: Call, usage: Usage) -> Iterator[bytes]:
    """Yield the events to send before the stream ends or is cut."""
    whole = events(answer, call, usage)
    if answer.cut_after is not None:
        return islice(whole, answer.cut_after)
    if answer.error_after is not None:
        failure = answer.mid_stream or Failure(
            status=529, type="overloaded_error", message="Overloaded"
        )
        return chain(islice(whole, answer.error_after), [error_event(failure)])
    return whole


def _chunks(stream: Iterator[bytes], answer: Answer) -> Iterator[bytes]:
    if answer.shred:
        rest = b""
        for event in stream:
            rest += event
            while len(rest) >= answer.shred:
                yield rest[: answer.shred]
                rest = rest[answer.shred :]
        if rest:
            yield rest
    elif answer.batch > 1:
        while batch := b"".join(islice(stream, answer.batch)):
            yield batch
    else:
        yield from stream
