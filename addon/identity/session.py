"""Which session an exchange belongs to: a pure function from evidence to a name.

The order is the strength of the evidence; when two disagree the stronger wins and the conflict is
told. Where the evidence comes from (headers, bodies, processes, files) is not known here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ccwire.wire.format import UNKNOWN, is_session_id
from ccwire.wire.json_text import parse_json
from ccwire.wire.vocabulary import IdentifiedBy

SESSION_HEADER = "x-claude-code-session-id"

_USER_ID = re.compile(r"_session_([A-Za-z0-9-]+)$")
_USER_AGENT = re.compile(r"claude-(?:cli|code)/([0-9][^\s(;,]*)\s*(?:\(([^)]*)\))?")
_TELEMETRY_SESSION = re.compile(rb'"session_?[iI][dD]\\*"\s*:\s*\\*"([A-Za-z0-9-]{1,64})\\*"')


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEvidence:
    """What is known of an exchange's session, by source; None where a source is silent."""

    header: str | None = None
    user_id: str | None = None
    process: str | None = None
    live_record: str | None = None
    telemetry: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    session_id: str | None
    identified_by: IdentifiedBy
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFacts:
    """What a request says of itself in its headers, besides the session."""

    agent_id: str | None = None
    parent_agent_id: str | None = None
    agent_type: str | None = None
    request_class: str | None = None
    prompt_id: str | None = None
    client_request_id: str | None = None
    claude_version: str | None = None
    entrypoint: str | None = None


def identify(evidence: SessionEvidence) -> Identity:
    """The strongest evidence that names a usable session."""
    ranked: list[tuple[IdentifiedBy, str | None]] = [
        ("header", evidence.header),
        ("user_id", evidence.user_id),
        ("process", evidence.process),
        ("live_record", evidence.live_record),
        ("telemetry", evidence.telemetry),
    ]
    usable = [(source, value) for source, value in ranked if is_usable(value)]
    if not usable:
        return Identity(None, "none")
    winner, session_id = usable[0]
    conflicts = tuple(source for source, value in usable[1:] if value != session_id)
    return Identity(session_id, winner, conflicts)


def is_usable(session_id: object) -> bool:
    """Whether a session of that name can have a folder of its own, also where case is nothing."""
    return is_session_id(session_id) and str(session_id).lower() != UNKNOWN


def wire_facts(headers: Mapping[str, str]) -> WireFacts:
    """Reads the client's own headers; names are lower case."""
    version, entrypoint = _user_agent(headers.get("user-agent", ""))
    return WireFacts(
        agent_id=headers.get("x-claude-code-agent-id"),
        parent_agent_id=headers.get("x-claude-code-parent-agent-id"),
        agent_type=headers.get("x-claude-code-agent-type"),
        request_class=headers.get("x-claude-code-request-class"),
        prompt_id=headers.get("x-claude-code-prompt-id"),
        client_request_id=headers.get("x-client-request-id"),
        claude_version=version,
        entrypoint=entrypoint,
    )


def session_in_user_id(body: object) -> str | None:
    """The session in `metadata.user_id`: `user_…_session_<id>`, or a JSON object as a string."""
    metadata = body.get("metadata") if isinstance(body, dict) else None
    user_id = metadata.get("user_id") if isinstance(metadata, dict) else None
    if not isinstance(user_id, str):
        return None
    if found := _USER_ID.search(user_id):
        return found[1]
    if not user_id.startswith("{"):
        return None
    try:
        fields: Any = parse_json(user_id)
    except ValueError:
        return None
    session = fields.get("session_id") if isinstance(fields, dict) else None
    return session if isinstance(session, str) else None


def session_in_telemetry(body: bytes) -> str | None:
    """The one session that a telemetry body names; None where it names several or none."""
    named = {found[1] for found in _TELEMETRY_SESSION.finditer(body)}
    return named.pop().decode() if len(named) == 1 else None


def _user_agent(value: str) -> tuple[str | None, str | None]:
    found = _USER_AGENT.search(value)
    if not found:
        return None, None
    words = [word.strip() for word in (found[2] or "").split(",")]
    return found[1], words[1] if len(words) > 1 else None
