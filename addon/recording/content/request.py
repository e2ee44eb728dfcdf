"""Builds the record of a request: redacted, decoded and classified. Pure: values in, values out.

JSON from the wire is embedded byte for byte; only secrets are replaced.
"""

from dataclasses import dataclass
from typing import Any

from addon.identity.session import (
    WireFacts,
    session_in_telemetry,
    session_in_user_id,
    wire_facts,
)
from addon.recording.content.body import classify_body, joined_headers, query_fields
from addon.recording.content.decode import decode_all
from addon.recording.jobs import RequestSeen
from addon.redaction.headers import auth_kind
from addon.redaction.redactor import Redactor
from ccwire.wire.endpoints import CALL_KINDS, Endpoint, endpoint_of
from ccwire.wire.format import SESSION_HEADER
from ccwire.wire.json_text import text, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """A request ready to be written: redacted, with its body classified and its headers parsed."""

    fields: dict[str, Any]
    tail: dict[str, Any]
    base: dict[str, Any]  # the request's fields in the exchange's index line
    facts: WireFacts
    header_session: str | None
    user_id_session: str | None
    telemetry_session: str | None


def request_record(seen: RequestSeen, redactor: Redactor) -> RequestRecord:
    """Build the record from redacted values only, so that no secret gets into a field or a name."""
    headers = joined_headers(redactor.headers(seen.headers))
    path, _, query = redactor.url(seen.target).partition("?")
    host = redactor.text(seen.host)
    endpoint = endpoint_of(host, path)
    kind = endpoint.kind
    original = joined_headers(seen.headers)
    decoded, failed = decode_all(original.get("content-encoding", ""), seen.body)
    # Bedrock counts the tokens of a request that is in base64, and so may be a secret in it.
    is_encoded = endpoint.provider == "bedrock" and kind == "count_tokens"
    body = classify_body(original, decoded, failed, redactor, "other" if is_encoded else kind)
    known = body.value if isinstance(body.value, dict) else {}
    fields = {
        "method": redactor.text(seen.method),
        "scheme": seen.scheme,
        "host": host,
        "port": seen.port,
        "path": path,
        "query": redactor.value(query_fields(query)),
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
            "model": endpoint.model or text(known.get("model")),
            "stream": _is_streamed(endpoint, known),
            "max_tokens": whole(known.get("max_tokens")),
            "messages": _length(known.get("messages")),
            "tools": _length(known.get("tools")),
            "request_bytes": len(seen.body),
            "request_sha256": redactor.digest(seen.body) if seen.body else None,
        },
        facts=wire_facts(headers),
        header_session=headers.get(SESSION_HEADER),
        user_id_session=session_in_user_id(known),
        telemetry_session=None if kind in CALL_KINDS else session_in_telemetry(body.clean),
    )


def _is_streamed(endpoint: Endpoint, body: dict[str, Any]) -> bool | None:
    if endpoint.kind != "messages":
        return None
    return body.get("stream") is True if endpoint.stream is None else endpoint.stream


def _port(seen: RequestSeen) -> str:
    usual = {"https": 443, "http": 80}.get(seen.scheme)
    return "" if seen.port == usual else f":{seen.port}"


def _length(value: object) -> int | None:
    return len(value) if isinstance(value, list) else None
