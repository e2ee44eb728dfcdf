"""Made-up captures, transcripts and hook payloads in their real folders."""

import copy
import json
from pathlib import Path
from typing import Any

SESSION = "5e551011-0000-4000-8000-00000000c0de"
VERSION = "2.1.325"


def request(sequence: int = 1, **body: Any) -> dict[str, Any]:
    """Return a parsed request file."""
    data = {
        "model": "claude-opus-5-5",
        "max_tokens": 32000,
        "stream": True,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "Bash", "description": "d", "input_schema": {"type": "object"}}],
        "metadata": {"user_id": json.dumps({"device_id": "d", "session_id": SESSION})},
        "messages": [
            {"role": "user", "content": "hello"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "hi"},
                    {
                        "type": "tool_use",
                        "id": "toolu_1",
                        "name": "Bash",
                        "input": {"command": "ls"},
                    },
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}],
            },
        ],
        **body,
    }
    headers = {
        "User-Agent": f"claude-cli/{VERSION} (external, cli)",
        "anthropic-beta": "context-management-2025-06-27,effort-2025-11-24",
        "X-Claude-Code-Session-Id": SESSION,
        "x-claude-code-request-class": "main",
        "x-api-key": "<redacted>",
    }
    return {
        **_head(sequence, "request"),
        "headers": headers,
        "body": {"type": "json", "size": 1, "data": data},
    }


def response(sequence: int = 1, *more_events: dict[str, Any]) -> dict[str, Any]:
    """Return a parsed response file."""
    usage = {"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 7}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "usage": usage,
    }
    datas: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *[
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": t}}
            for t in ("well", " then")
        ],
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        *more_events,
        {"type": "message_stop"},
    ]
    return {
        **_head(sequence, "response"),
        "status_code": 200,
        "headers": {"content-type": "text/event-stream", "request-id": "req_1"},
        "message": {"not": "of the wire"},
        "body": {
            "type": "sse",
            "events": [{"event": d["type"], "at_ms": 1.0, "data": d} for d in copy.deepcopy(datas)],
        },
    }


def record(kind: str = "user", **more: Any) -> dict[str, Any]:
    """Return a transcript line."""
    return {
        "type": kind,
        "uuid": "u",
        "sessionId": SESSION,
        "version": VERSION,
        "cwd": "/home/x",
        "message": {"role": kind, "content": [{"type": "text", "text": "x"}]},
        **more,
    }


def write_captures(folder: Path, exchanges: int = 1) -> Path:
    session = folder / SESSION
    session.mkdir(parents=True)
    for sequence in range(1, exchanges + 1):
        write_exchange(session, sequence, request(sequence), response(sequence))
    (session / "manifest.json").write_text(json.dumps({"claude_versions": [VERSION]}))
    (session / "exchanges.jsonl").write_text('{"sequence": 1}\n')
    return folder


def write_exchange(session: Path, sequence: int, req: Any, resp: Any) -> None:
    (session / f"{sequence:04d}_req_v1_messages.json").write_text(json.dumps(req))
    (session / f"{sequence:04d}_resp_v1_messages.json").write_text(json.dumps(resp))


def write_lines(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    return path


def _head(sequence: int, direction: str) -> dict[str, Any]:
    return {
        "format": 1,
        "session_id": SESSION,
        "sequence": sequence,
        "direction": direction,
        "method": "POST",
        "host": "api.anthropic.com",
        "path": "/v1/messages",
    }
