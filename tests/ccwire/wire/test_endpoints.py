import pytest

from ccwire.wire.endpoints import DEFAULT_HOSTS, kind_of, matches_host, parse_base_url, port_of


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


@pytest.mark.parametrize(
    ("host", "patterns", "expected"),
    [
        ("api.anthropic.com", DEFAULT_HOSTS, True),
        ("API.Anthropic.com", DEFAULT_HOSTS, True),
        ("anthropic.com", DEFAULT_HOSTS, False),
        ("api.anthropic.com.example.org", DEFAULT_HOSTS, False),
        ("eu.gateway.example.org", ["*.example.org"], True),
        ("api.anthropic.com", [], False),
    ],
)
def test_a_host_matches_a_pattern(host: str, patterns: list[str], expected: bool) -> None:
    assert matches_host(host, patterns) is expected


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1", 8000),
        ("http://[::1]:8000/prefix", "::1", 8000),
        ("https://gateway.example.org", "gateway.example.org", 443),
        ("http://gateway.example.org", "gateway.example.org", 80),
    ],
)
def test_a_base_url_has_a_host_and_a_port(url: str, host: str, port: int) -> None:
    parts = parse_base_url(url)
    assert (parts.hostname, port_of(parts)) == (host, port)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8000",
        "ftp://x",
        "http://",
        "http://[",
        "http://x:99999",
        "http://x:0",
        "http://x:y",
    ],
)
def test_anything_else_is_no_base_url(url: str) -> None:
    with pytest.raises(ValueError, match=r"not a base URL such as http://127\.0\.0\.1:8000"):
        parse_base_url(url)
