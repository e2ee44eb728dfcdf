"""Builds what is written for an exchange: the two files and the line. Pure: values in, bytes out.

JSON that came over the wire is embedded as it came, its own bytes; only secrets are replaced.
"""

import hashlib
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from addon.decode import decode_all
from addon.format import FORMAT, Exchange, kind_of
from addon.identity import (
    SESSION_HEADER,
    Identity,
    WireFacts,
    session_in_telemetry,
    session_in_user_id,
    wire_facts,
)
from addon.redact import Redactor, auth_kind
from addon.wire_json import dump, embeddable

Headers = Sequence[tuple[str, str]]

# Bodies of these kinds are the user's own words; every other kind is about the user.
_CONVERSATION = ("messages", "count_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSeen:
    """A request as the proxy saw it, nothing redacted yet: never leaves the process."""

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
    """An answer's head as the proxy saw it."""

    at: float
    status: int
    reason: str
    http_version: str
    headers: Headers


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """A request ready to be written: redacted, its body classified, its facts read."""

    fields: dict[str, Any]
    tail: dict[str, Any]
    base: dict[str, Any]  # what the exchange's line takes from the request
    facts: WireFacts
    header_session: str | None
    user_id_session: str | None
    telemetry_session: str | None


@dataclass(frozen=True, slots=True)
class Body:
    """A decoded body without its secrets: its bytes, its JSON value if any, and what is written."""

    clean: bytes
    value: Any
    field: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How an answer came out, however it was carried."""

    body: Any
    message: dict[str, Any] | None
    usage_at_start: dict[str, Any] | None
    usage: dict[str, Any] | None
    error: str | None
    complete: bool
    ended_by: str
    wire_size: int


def request_record(seen: RequestSeen, redactor: Redactor) -> RequestRecord:
    """Reads everything from what is already redacted: no secret can become a fact or a name."""
    headers = joined_headers(redactor.headers(seen.headers))
    path, _, query = redactor.url(seen.target).partition("?")
    host = redactor.text(seen.host)
    kind = kind_of(host, path)
    original = joined_headers(seen.headers)
    decoded, failed = decode_all(original.get("content-encoding", ""), seen.body)
    body = classify_body(original, decoded, failed, redactor, kind)
    known = body.value if isinstance(body.value, dict) else {}
    fields = {
        "method": redactor.text(seen.method),
        "scheme": seen.scheme,
        "host": host,
        "port": seen.port,
        "path": path,
        "query": _query(query),
        "url": f"{seen.scheme}://{host}{_port(seen)}{path}{'?' + query if query else ''}",
        "http_version": seen.http_version,
    }
    return RequestRecord(
        fields=fields,
        tail={"headers": headers, "auth": auth_kind(seen.headers), "body": body.field},
        base={
            "started": seen.started,
            "method": fields["method"],
            "host": host,
            "path": path,
            "kind": kind,
            "model": _text(known.get("model")),
            "stream": known.get("stream") is True if kind == "messages" else None,
            "max_tokens": _number(known.get("max_tokens")),
            "messages": _length(known.get("messages")),
            "tools": _length(known.get("tools")),
            "request_bytes": len(seen.body),
            "request_sha256": hashlib.sha256(seen.body).hexdigest() if seen.body else None,
        },
        facts=wire_facts(headers),
        header_session=headers.get(SESSION_HEADER),
        user_id_session=session_in_user_id(known),
        telemetry_session=None if kind in _CONVERSATION else session_in_telemetry(body.clean),
    )


def head(record_id: Mapping[str, Any], identity: Identity, direction: str, at: float) -> bytes:
    """The first lines of a file: those that change when an exchange is filed elsewhere."""
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
    pid: int | None,
    response: ResponseSeen | None,
    answer: Answer,
    ended: float,
    first_byte: float | None,
) -> Exchange:
    """The line of `exchanges.jsonl` for a finished exchange."""
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
        request_id=headers.get("request-id"),
        message_id=_text(message.get("id")),
        stop_reason=_text(message.get("stop_reason")),
        usage_at_start=answer.usage_at_start,
        usage=answer.usage,
        complete=answer.complete,
        ended_by=answer.ended_by,
        error=answer.error,
        response_bytes=answer.wire_size,
        identified_by=identity.identified_by,
        pid=pid,
    )


def response_fields(
    request_fields: Mapping[str, Any],
    response: ResponseSeen | None,
    answer: Answer,
    timing: Mapping[str, float | None],
) -> dict[str, Any]:
    """Everything of a response file after its head; `response` is already redacted."""
    headers = joined_headers(response.headers) if response else {}
    return {
        **request_fields,
        "http_version": response.http_version if response else None,
        "status_code": response.status if response else None,
        "reason": response.reason if response else None,
        "headers": headers,
        "request_id": headers.get("request-id"),
        "rate_limits": rate_limits(headers),
        "timing": timing,
        "complete": answer.complete,
        "ended_by": answer.ended_by,
        "error": answer.error,
        "message": answer.message,
        "body": answer.body,
    }


def lines(fields: Mapping[str, Any]) -> bytes:
    """One top-level field a line, so that a head can be read and replaced without the rest."""
    return b"".join(b'"%s": %s,\n' % (name.encode(), dump(value)) for name, value in fields.items())


def whole_file(head_lines: bytes, fields: Mapping[str, Any]) -> bytes:
    return b"{\n" + head_lines + lines(fields).removesuffix(b",\n") + b"\n}\n"


def classify_body(
    headers: Mapping[str, str], body: bytes, failed: str | None, redactor: Redactor, kind: str
) -> Body:
    """A decoded body; `failed` says what decoding left out."""
    clean = redactor.body(body) if kind in _CONVERSATION else redactor.telemetry(body)
    field: dict[str, Any] = {"type": "empty", "size": len(body)}
    if encoding := headers.get("content-encoding"):
        field["content_encoding"] = redactor.text(encoding)
    if failed:
        field["decode_error"] = redactor.text(failed)
    if not body:
        return Body(b"", None, field)
    try:
        value = embeddable(clean)
    except ValueError:
        content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        return Body(clean, None, field | _not_json(content_type, clean, body, redactor))
    return Body(clean, value, field | {"type": "json", "data": orjson.Fragment(clean)})


def joined_headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Header names in lower case; a repeated header's values joined."""
    joined: dict[str, str] = {}
    for name, value in pairs:
        name = name.lower()
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


def rate_limits(headers: Mapping[str, str]) -> dict[str, str]:
    prefix = "anthropic-ratelimit-"
    limits = {n.removeprefix(prefix): v for n, v in headers.items() if n.startswith(prefix)}
    if "retry-after" in headers:
        limits["retry-after"] = headers["retry-after"]
    return limits


def elapsed(start: float, end: float) -> float:
    """Seconds; none where the clock was set back meanwhile."""
    return max(0.0, end - start)


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _not_json(content_type: str, clean: bytes, body: bytes, redactor: Redactor) -> dict[str, Any]:
    try:
        text = clean.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return {"type": "binary", "sha256": hashlib.sha256(body).hexdigest()}
    if content_type == "application/x-www-form-urlencoded":
        return {"type": "form", "data": _query(redactor.url(text))}
    return {"type": "text", "data": text}


def _query(text: str) -> dict[str, str | list[str]]:
    pairs = urllib.parse.parse_qs(text, keep_blank_values=True)
    return {name: found[0] if len(found) == 1 else found for name, found in pairs.items()}


def _port(seen: RequestSeen) -> str:
    usual = {"https": 443, "http": 80}.get(seen.scheme)
    return "" if seen.port == usual else f":{seen.port}"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _length(value: object) -> int | None:
    return len(value) if isinstance(value, list) else None
