"""Made-up requests for the tests of recording."""

from typing import Any

from addon.recording.content.request import RequestRecord, request_record
from addon.recording.jobs import RequestSeen
from addon.redaction.redactor import Redactor

SESSION = "11111111-2222-3333-4444-555555555555"


def seen(body: bytes = b"", **changes: Any) -> RequestSeen:
    fields: dict[str, Any] = {
        "flow_id": "f-1",
        "started": 1000.0,
        "ended": 1000.5,
        "method": "POST",
        "scheme": "https",
        "host": "api.anthropic.com",
        "port": 443,
        "target": "/v1/messages?beta=true",
        "http_version": "HTTP/1.1",
        "headers": [("Content-Type", "application/json")],
        "body": body,
        "client_address": ("127.0.0.1", 5000),
        "connection_id": "c-1",
    }
    return RequestSeen(**{**fields, **changes})


def record(body: bytes = b"", **changes: Any) -> RequestRecord:
    return request_record(seen(body, **changes), Redactor(b"key"))
