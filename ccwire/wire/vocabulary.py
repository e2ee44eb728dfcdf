"""The closed vocabularies of the capture format, each defined once.

They are `Literal` types: plain strings at run time, and a misspelt one is an error for mypy. The
verdicts are in `correlate.reconcile.verdicts`.
"""

from typing import Literal, get_args

# How an exchange ended: by its last event, or by what the connection did.
EndedBy = Literal[
    "message_stop",
    "error_event",
    "client_disconnect",
    "server_disconnect",
    "proxy_stopped",
    "http_end",
]

# What tied an exchange to its session, strongest evidence first.
IdentifiedBy = Literal[
    "header", "user_id", "process", "live_record", "message_id", "telemetry", "run", "none"
]

# Why something is missing from a session's capture.
GapKind = Literal["capture_error", "recovered", "manifest_lost"]

# Which endpoint an exchange is with.
EndpointKind = Literal[
    "count_tokens",
    "messages",
    "batches",
    "event_logging",
    "settings",
    "policy_limits",
    "claude_code",
    "claude_cli",
    "eval",
    "hello",
    "oauth",
    "models",
    "files",
    "statsig",
    "other",
]

# Whose API a call is sent to; a gateway is any host that none of the others is known to use.
Provider = Literal["anthropic", "gateway", "bedrock", "vertex", "foundry"]

Direction = Literal["req", "resp"]  # in the names of exchange files
RecordDirection = Literal["request", "response"]  # in the `direction` field of the same files

# The hook events that ccwire handles; `addon.hooks.events` has one line for each.
HookEvent = Literal[
    "SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop"
]

# The state of a session in `sessions.json`.
SessionState = Literal["active", "exited", "crashed"]

ENDPOINT_KINDS: tuple[EndpointKind, ...] = get_args(EndpointKind)
IDENTIFIED_BY: tuple[IdentifiedBy, ...] = get_args(IdentifiedBy)
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
SESSION_STATES: tuple[SessionState, ...] = get_args(SessionState)


def one_of[Name: str](names: tuple[Name, ...], value: object) -> Name | None:
    """Return the value if it is a name of this vocabulary, else None."""
    return next((name for name in names if name == value), None)
