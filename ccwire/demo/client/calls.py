"""Bodies and headers of the simulated client's calls, per release.

Prompts and tool descriptions are made up.
"""

import hashlib
import json
import uuid
from typing import Any

from ccwire.demo.client.profiles import Profile
from ccwire.demo.client.transcript import SimulatedAgent

_SYSTEM = "You are the model behind a simulated client in a lab. " * 12
_TOOLS = ("Bash", "Read", "Edit", "Write")


def message_body(
    profile: Profile,
    session_id: str,
    messages: list[dict[str, Any]],
    *,
    agent: SimulatedAgent | None = None,
    small: bool = False,
    stream: bool = True,
) -> dict[str, Any]:
    """Return a body for /v1/messages; `small` is an auxiliary call: small model, no tools."""
    body: dict[str, Any] = {
        "model": profile.small_model if small else profile.model,
        "messages": messages,
        "system": [{"type": "text", "text": _SYSTEM}],
        "metadata": {"user_id": user_id(profile, session_id)},
        "max_tokens": 512 if small else 32_000,
    }
    if not small:
        body["tools"] = tools(profile, agent)
    if stream:
        body["stream"] = True
    return body


def headers(
    profile: Profile,
    session_id: str,
    *,
    entrypoint: str,
    request_class: str,
    prompt_id: str = "",
    agent: SimulatedAgent | None = None,
) -> dict[str, str]:
    named = {
        "user-agent": f"claude-cli/{profile.version} (external, {entrypoint})",
        "x-app": "cli",
        "x-api-key": "sk-ant-api03-made-up",
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "lab-2026-01-01",
        "x-stainless-retry-count": "0",
    }
    if profile.session_header:
        named["x-claude-code-session-id"] = session_id
    if profile.call_header:
        named["x-client-request-id"] = str(uuid.uuid4())
    if profile.class_header:
        named["x-claude-code-request-class"] = request_class
    if profile.prompt_header:
        named["x-claude-code-prompt-id"] = prompt_id
    if agent is not None and profile.agent_header:
        named["x-claude-code-agent-id"] = agent.id
        if profile.class_header:
            named["x-claude-code-agent-type"] = agent.type
    return named


def user_id(profile: Profile, session_id: str) -> str:
    device = hashlib.sha256(b"lab device").hexdigest()
    match profile.user_id:
        case "hash":
            return device
        case "text":
            return f"user_{device}_account__session_{session_id}"
    return json.dumps({"device_id": device, "account_uuid": "", "session_id": session_id})


def tools(profile: Profile, agent: SimulatedAgent | None = None) -> list[dict[str, Any]]:
    """Return the tools of a call; a subagent has no tool to start subagents."""
    names = _TOOLS if agent is not None else (profile.agent_tool, *_TOOLS)
    return [
        {
            "name": name,
            "description": f"The lab's tool of the name {name}. " * 4,
            "input_schema": {"type": "object", "properties": {}},
        }
        for name in names
    ]


def telemetry(profile: Profile, session_id: str, name: str) -> dict[str, Any]:
    """Return an event_logging batch, with the session id in each event."""
    data = {
        "event_name": name,
        "session_id": session_id,
        "model": profile.model,
        "user_type": "external",
        "env": {"version": profile.version},
    }
    return {"events": [{"event_type": "ClaudeCodeInternalEvent", "event_data": data}]}


def statsig(profile: Profile, session_id: str, name: str) -> dict[str, Any]:
    user = {"customIDs": {"sessionId": session_id}, "appVersion": profile.version}
    return {"events": [{"eventName": name, "user": user, "metadata": {"sessionId": session_id}}]}
