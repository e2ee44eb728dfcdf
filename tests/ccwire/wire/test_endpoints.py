import pytest

from ccwire.wire.endpoints import kind_of


@pytest.mark.parametrize(
    ("host", "path", "kind"),
    [
        ("api.anthropic.com", "/v1/messages", "messages"),
        ("api.anthropic.com", "/v1/messages?beta=true", "messages"),
        ("api.anthropic.com", "/v1/messages/count_tokens?beta=true", "count_tokens"),
        ("api.anthropic.com", "/v1/messages/batches", "messages"),
        ("api.anthropic.com", "/v1/messages_of_tomorrow", "other"),
        ("api.anthropic.com", "/api/event_logging/v2/batch", "event_logging"),
        ("api.anthropic.com", "/api/claude_code/settings", "settings"),
        ("api.anthropic.com", "/api/claude_code/policy_limits", "policy_limits"),
        ("api.anthropic.com", "/api/claude_code/other", "claude_code"),
        ("api.anthropic.com", "/api/eval/x", "eval"),
        ("api.anthropic.com", "/api/hello", "hello"),
        ("statsig.anthropic.com", "/v1/initialize", "statsig"),
        ("api.anthropic.com", "", "other"),
    ],
)
def test_the_kind_of_an_endpoint(host: str, path: str, kind: str) -> None:
    assert kind_of(host, path) == kind
