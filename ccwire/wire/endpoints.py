"""The kinds of endpoints, by host and path. Pure."""

from ccwire.wire.vocabulary import EndpointKind

# The exchanges that are calls to the model; their bodies are the user's own words.
CALL_KINDS: tuple[EndpointKind, ...] = ("messages", "count_tokens")

_KINDS: tuple[tuple[str, EndpointKind], ...] = (  # the first prefix that fits decides
    ("/v1/messages/count_tokens", "count_tokens"),
    ("/v1/messages", "messages"),
    ("/api/event_logging", "event_logging"),
    ("/api/claude_code/settings", "settings"),
    ("/api/claude_code/policy_limits", "policy_limits"),
    ("/api/claude_code", "claude_code"),
    ("/api/claude_cli", "claude_cli"),
    ("/api/eval", "eval"),
    ("/api/hello", "hello"),
    ("/api/oauth", "oauth"),
    ("/v1/oauth", "oauth"),
    ("/v1/models", "models"),
    ("/v1/files", "files"),
)


def kind_of(host: str, path: str) -> EndpointKind:
    """Which endpoint an exchange is with, by host and path alone."""
    if host.startswith("statsig."):
        return "statsig"
    path = path.partition("?")[0]
    for prefix, kind in _KINDS:
        if path == prefix or path.startswith(prefix + "/"):
            return kind
    return "other"
