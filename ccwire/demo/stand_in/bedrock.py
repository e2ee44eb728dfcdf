"""Render an answer as Amazon Bedrock sends it: event stream frames around the API's own events.

Pure. The encoder is independent of `ccwire.wire.stream.eventstream`, because it tests that decoder.
"""

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ccwire.demo.stand_in.scenario import Failure, Usage
from ccwire.wire.stream.message import BEDROCK_METRICS

CONTENT_TYPE = "application/vnd.amazon.eventstream"
REQUEST_ID = "x-amzn-requestid"
_STRING = 7
_EXCEPTIONS = {
    "overloaded_error": "serviceUnavailableException",
    "rate_limit_error": "throttlingException",
    "invalid_request_error": "validationException",
    "api_error": "internalServerException",
}


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Return one message of the encoding: prelude, headers, payload, and both checksums."""
    named = b"".join(map(_header, headers.items()))
    prelude = (16 + len(named) + len(payload)).to_bytes(4) + len(named).to_bytes(4)
    message = prelude + zlib.crc32(prelude).to_bytes(4) + named + payload
    return message + zlib.crc32(message).to_bytes(4)


def frames(events: Iterable[bytes], usage: Usage) -> Iterator[bytes]:
    """Yield a frame per SSE event; Bedrock sends no pings, and adds its metrics to the last."""
    for event in events:
        name, _, data = event[7:-2].partition(b"\ndata: ")
        if name == b"message_stop":
            value = json.loads(data)
            data = json.dumps(value | {BEDROCK_METRICS: metrics(usage)}).encode()
        if name == b"error":
            yield exception(json.loads(data)["error"])
        elif name != b"ping":
            yield chunk(data)


def chunk(data: bytes) -> bytes:
    """Return the frame of one event of the API, padded as Bedrock pads it."""
    payload = {"bytes": base64.b64encode(data).decode(), "p": "abcdefghij"[: len(data) % 11]}
    headers = {
        ":event-type": "chunk",
        ":content-type": "application/json",
        ":message-type": "event",
    }
    return frame(headers, json.dumps(payload, separators=(",", ":")).encode())


def exception(error: Mapping[str, str]) -> bytes:
    headers = {
        ":exception-type": _EXCEPTIONS.get(error["type"], "modelStreamErrorException"),
        ":content-type": "application/json",
        ":message-type": "exception",
    }
    return frame(headers, json.dumps({"message": error["message"]}).encode())


def metrics(usage: Usage) -> dict[str, int]:
    """Return `amazon-bedrock-invocationMetrics` for an answer with this usage."""
    final = usage.final()
    return {
        "inputTokenCount": final["input_tokens"],
        "outputTokenCount": final["output_tokens"],
        "invocationLatency": 1200,
        "firstByteLatency": 300,
        "cacheReadInputTokenCount": final.get("cache_read_input_tokens") or 0,
        "cacheWriteInputTokenCount": final.get("cache_creation_input_tokens") or 0,
    }


def metrics_headers(usage: Usage) -> dict[str, str]:
    """Return the same counts as the headers of an answer without a stream."""
    counts = metrics(usage)
    return {
        "x-amzn-bedrock-input-token-count": str(counts["inputTokenCount"]),
        "x-amzn-bedrock-output-token-count": str(counts["outputTokenCount"]),
        "x-amzn-bedrock-cache-read-input-token-count": str(counts["cacheReadInputTokenCount"]),
        "x-amzn-bedrock-cache-write-input-token-count": str(counts["cacheWriteInputTokenCount"]),
        "x-amzn-bedrock-invocation-latency": str(counts["invocationLatency"]),
    }


def error_body(failure: Failure) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the headers and the body of a failed call."""
    name = _EXCEPTIONS.get(failure.type, "internalServerException")
    return {"x-amzn-errortype": name[0].upper() + name[1:]}, {"message": failure.message}


def inference_profiles() -> dict[str, Any]:
    """Return the answer to `GET /inference-profiles`: no profile of this account."""
    return {"inferenceProfileSummaries": []}


def _header(item: tuple[str, str]) -> bytes:
    name, value = (part.encode() for part in item)
    return bytes([len(name)]) + name + bytes([_STRING]) + len(value).to_bytes(2) + value
