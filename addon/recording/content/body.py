"""A request or response body, decoded, redacted and classified. Pure."""

import urllib.parse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from addon.redaction.redactor import Redactor
from ccwire.wire.endpoints import CALL_KINDS
from ccwire.wire.json_text import embeddable
from ccwire.wire.vocabulary import EndpointKind


@dataclass(frozen=True, slots=True)
class Body:
    """A decoded, redacted body: bytes, JSON value if any, and the `body` field of its file."""

    clean: bytes
    value: Any
    field: dict[str, Any]


def classify_body(
    headers: Mapping[str, str],
    body: bytes,
    failed: str | None,
    redactor: Redactor,
    kind: EndpointKind,
) -> Body:
    """Redact and classify a decoded body; `failed` is the decoding error, if any.

    Bodies of calls contain the user's own text; all others are redacted as telemetry.
    """
    clean = redactor.body(body) if kind in CALL_KINDS else redactor.telemetry(body)
    field = body_fields(headers, len(body), failed, redactor)
    if not body:
        return Body(b"", None, field)
    try:
        value = embeddable(clean)
    except ValueError:
        content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        return Body(clean, None, field | _not_json(content_type, clean, body, redactor))
    return Body(clean, value, field | {"type": "json", "data": orjson.Fragment(clean)})


def body_fields(
    headers: Mapping[str, str], size: int, failed: str | None, redactor: Redactor
) -> dict[str, Any]:
    """Return the fields that every body has, as those of an empty one."""
    field: dict[str, Any] = {"type": "empty", "size": size}
    if encoding := headers.get("content-encoding"):
        field["content_encoding"] = redactor.text(encoding)
    if failed:
        field["decode_error"] = redactor.text(failed)
    return field


def joined_headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers by lower-case name; values of a repeated header are joined."""
    joined: dict[str, str] = {}
    for name, value in pairs:
        name = name.lower()
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


def _not_json(content_type: str, clean: bytes, body: bytes, redactor: Redactor) -> dict[str, Any]:
    try:
        text = clean.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return {"type": "binary", "sha256": redactor.digest(body)}
    if content_type == "application/x-www-form-urlencoded":
        return {"type": "form", "data": redactor.value(query_fields(redactor.url(text)))}
    return {"type": "text", "data": text}


def query_fields(text: str) -> dict[str, str | list[str]]:
    pairs = urllib.parse.parse_qs(text, keep_blank_values=True)
    return {name: found[0] if len(found) == 1 else found for name, found in pairs.items()}
