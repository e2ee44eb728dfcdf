"""Made-up examples of the API's documented answers and content blocks.

The atlas observes the stand-in's answers only, so the shipped baselines take the API's formats from
here. Maintained by hand: add what the API's documentation adds.
"""

from itertools import zip_longest
from typing import Any

from correlate.schema.observe.freeze import snapshot_of
from correlate.schema.observe.shapes import Shapes
from correlate.schema.observe.sightings import see_events, see_record
from correlate.schema.snapshot.snapshot import Field

STOP_REASONS = (
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "refusal",
    "compaction",
    "model_context_window_exceeded",
)
ERRORS = (
    "invalid_request_error",
    "authentication_error",
    "billing_error",
    "permission_error",
    "not_found_error",
    "request_too_large",
    "rate_limit_error",
    "api_error",
    "overloaded_error",
    "timeout_error",
)
SERVER_TOOLS = (
    "web_search",
    "web_fetch",
    "code_execution",
    "bash_code_execution",
    "text_editor_code_execution",
    "tool_search",
    "advisor",
)
TIERS = ("standard", "priority", "batch", None)
SPEEDS = ("standard", "fast", None)
RESPONSE_HEADERS = (
    "anthropic-organization-id",
    "anthropic-ratelimit-input-tokens-limit",
    "cf-cache-status",
    "cf-ray",
    "content-encoding",
    "content-length",
    "content-type",
    "date",
    "request-id",
    "retry-after",
    "server",
    "strict-transport-security",
    "transfer-encoding",
    "via",
    "x-robots-tag",
    "x-should-retry",
)
# Sent only by clients that are signed in or use another connection than the atlas does.
REQUEST_HEADERS = ("authorization", "content-encoding", "transfer-encoding", "te", "priority")
REQUEST_HEADERS_OF = ("messages", "count_tokens", "event_logging", "settings", "policy_limits")

_COUNTS = {"input_tokens": 1, "output_tokens": 1}
_CACHE = {
    "cache_creation_input_tokens": 1,
    "cache_read_input_tokens": 1,
    "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 1},
}
_HIT = {
    "type": "web_search_result",
    "title": "",
    "url": "",
    "encrypted_content": "",
    "page_age": "",
}
_BLOCKS: tuple[dict[str, Any], ...] = (
    {"type": "text", "text": "", "citations": [{"type": "char_location"}]},
    {"type": "text", "text": "", "citations": None},
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "redacted_thinking", "data": ""},
    {"type": "tool_use", "id": "", "name": "", "input": {}, "caller": {"type": "direct"}},
    {"type": "server_tool_use", "id": "", "name": "", "input": {}, "caller": {"type": "direct"}},
    {"type": "mcp_tool_use", "id": "", "name": "", "server_name": "", "input": {}},
    {"type": "mcp_tool_result", "tool_use_id": "", "is_error": False, "content": ""},
    {"type": "container_upload", "file_id": ""},
    {"type": "compaction", "content": ""},
    {"type": "compaction", "content": None},
    {"type": "mcp_tool_result", "content": [{"type": "text", "text": ""}]},
    {"type": "web_search_tool_result", "content": [_HIT, {**_HIT, "page_age": None}]},
    {"type": "web_fetch_tool_result", "content": {"type": "web_fetch_result", "url": ""}},
    *({"type": f"{tool}_tool_result", "tool_use_id": "", "content": []} for tool in SERVER_TOOLS),
    *(
        {
            "type": f"{tool}_tool_result",
            "content": {"type": f"{tool}_tool_result_error", "error_code": ""},
        }
        for tool in SERVER_TOOLS
    ),
)
_CACHE_CONTROL = {"type": "ephemeral", "ttl": "1h", "scope": ""}
_REQUEST_BLOCKS: tuple[dict[str, Any], ...] = (
    {"type": "text", "text": "", "citations": []},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}},
    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": ""}},
    {"type": "document", "title": "", "context": "", "citations": {"enabled": True}},
    {"type": "tool_use", "id": "", "name": "", "input": {}},
    {"type": "tool_result", "tool_use_id": "", "is_error": True, "content": ""},
    {"type": "tool_result", "content": [{"type": "text"}, {"type": "image"}]},
    {"type": "tool_reference", "tool_name": ""},
    {"type": "server_tool_use", "id": "", "name": "", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "", "content": [_HIT]},
)
_DELTAS: tuple[dict[str, Any], ...] = (
    {"type": "text_delta", "text": ""},
    {"type": "input_json_delta", "partial_json": ""},
    {"type": "thinking_delta", "thinking": ""},
    {"type": "thinking_delta", "thinking": "", "estimated_tokens": 1},
    {"type": "signature_delta", "signature": ""},
    {"type": "citations_delta", "citation": {"type": "char_location"}},
    {"type": "compaction_delta", "content": ""},
)


def documented() -> dict[str, Field]:
    """Return a snapshot of the documented formats."""
    shapes = Shapes()
    see_events(shapes, _events())
    for reason in STOP_REASONS:
        message = {**_message(reason, _usage()[0]), "content": list(_BLOCKS)}
        shapes.see("wire/answer/messages", message)
    shapes.see("wire/answer/count_tokens", {"input_tokens": 1})
    for name in ERRORS:
        error = {"type": name, "message": "", "details": None}
        shapes.see("wire/answer/error", {"type": "error", "error": error, "request_id": ""})
    for usage in _usage():
        see_record(shapes, {"type": "assistant", "message": _message("end_turn", usage)})
    for block in _BLOCKS:
        see_record(shapes, {"type": "assistant", "message": {"content": [block]}})
    for block in _REQUEST_BLOCKS:
        content = [{**block, "cache_control": _CACHE_CONTROL}]
        shapes.see("wire/request/messages", {"messages": [{"role": "user", "content": content}]})
    shapes.see("wire/header/response/messages", dict.fromkeys(RESPONSE_HEADERS, ""))
    for kind in REQUEST_HEADERS_OF:
        shapes.see(f"wire/header/request/{kind}", dict.fromkeys(REQUEST_HEADERS, ""))
    return snapshot_of(shapes)


def _events() -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"type": "ping"}, {"type": "message_stop"}]
    for usage in _usage():
        events.append({"type": "message_start", "message": _message(None, usage)})
        events.append({"type": "message_delta", "delta": {}, "usage": usage})
    for reason in STOP_REASONS:
        for text in (None, ""):
            delta = {"stop_reason": reason, "stop_sequence": text, "stop_details": None}
            context: dict[str, Any] = {"applied_edits": []}
            events.append({"type": "message_delta", "delta": delta, "context_management": context})
    for block in _BLOCKS:
        events.append({"type": "content_block_start", "index": 0, "content_block": block})
    for delta in _DELTAS:
        events.append({"type": "content_block_delta", "index": 0, "delta": delta})
    events.append({"type": "content_block_stop", "index": 0})
    for name in ERRORS:
        error = {"type": name, "message": "", "details": None}
        events.append({"type": "error", "error": error, "request_id": ""})
    return events


def _message(reason: str | None, usage: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "",
        "type": "message",
        "role": "assistant",
        "model": "",
        "content": [],
        "stop_reason": reason,
        "stop_sequence": None,
        "stop_details": None,
        "container": None,
        "context_management": None,
        "diagnostics": None,
        "input_transformations": [],
        "usage": usage,
    }


def _usage() -> list[dict[str, Any]]:
    more = {
        "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 1},
        "output_tokens_details": {"thinking_tokens": 1},
        "inference_geo": "",
    }
    kinds = ("message", "compaction", "advisor_message")
    passes = [{"type": kind, **_COUNTS, **_CACHE} for kind in kinds]
    nothing = dict.fromkeys((*more, "cache_creation", "iterations"))
    full = [
        {**_COUNTS, **_CACHE, **more, "service_tier": tier, "speed": speed, "iterations": passes}
        for tier, speed in zip_longest(TIERS, SPEEDS)
    ]
    return [*full, {**_COUNTS, **nothing}]
