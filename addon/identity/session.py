"""Identifies the session of an exchange: a pure function from evidence to a session id.

Evidence is ranked by strength; when two sources disagree, the stronger wins and the conflict is
reported. Collecting the evidence (headers, bodies, processes, files) is done elsewhere.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ccwire.wire.format import UNKNOWN, is_session_id
from ccwire.wire.json_text import parse_json
from ccwire.wire.vocabulary import IdentifiedBy

_USER_ID = re.compile(r"_session_([A-Za-z0-9-]+)$")
_USER_AGENT = re.compile(r"claude-(?:cli|code)/([0-9][^\s(;,]*)\s*(?:\(([^)]*)\))?")
_TELEMETRY_SESSION = re.compile(rb'"session_?[iI][dD]\\*"\s*:\s*\\*"([A-Za-z0-9-]{1,64})\\*"')


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEvidence:
    """The session id of an exchange per source; None where a source has none."""

    header: str | None = None
    user_id: str | None = None
    process: str | None = None
    live_record: str | None = None
    message_id: str | None = None
    telemetry: str | None = None
    run: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    session_id: str | None
    identified_by: IdentifiedBy
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFacts:
    """Facts from a request's headers, except the session."""

    agent_id: str | None = None
    parent_agent_id: str | None = None
    agent_type: str | None = None
    request_class: str | None = None
    prompt_id: str | None = None
    client_request_id: str | None = None
    claude_version: str | None = None
    entrypoint: str | None = None


def identify(evidence: SessionEvidence) -> Identity:
    """Return the session with the strongest evidence, ignoring unusable ids."""
    ranked: list[tuple[IdentifiedBy, str | None]] = [
        ("header", evidence.header),
        ("user_id", evidence.user_id),
        ("process", evidence.process),
        ("live_record", evidence.live_record),
        ("message_id", evidence.message_id),
        ("telemetry", evidence.telemetry),
        ("run", evidence.run),
    ]
    usable = [(source, value) for source, value in ranked if is_usable(value)]
    if not usable:
        return Identity(None, "none")
    winner, session_id = usable[0]
    conflicts = tuple(source for source, value in usable[1:] if value != session_id)
    return Identity(session_id, winner, conflicts)


def is_usable(session_id: object) -> bool:
    """Return whether the id can be a folder name, also on a case-insensitive file system."""
    return is_session_id(session_id) and str(session_id).lower() != UNKNOWN


def wire_facts(headers: Mapping[str, str]) -> WireFacts:
    """Parse the client's headers; names are lower case."""
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
    """Return the session in `metadata.user_id`: `user_…_session_<id>`, or JSON in a string."""
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
    """Return the session in a telemetry body; None if it contains several or none."""
    named = {found[1] for found in _TELEMETRY_SESSION.finditer(body)}
    return named.pop().decode() if len(named) == 1 else None


def _user_agent(value: str) -> tuple[str | None, str | None]:
    found = _USER_AGENT.search(value)
    if not found:
        return None, None
    words = [word.strip() for word in (found[2] or "").split(",")]
    return found[1], words[1] if len(words) > 1 else None
