import pytest

from ccwire.wire.hosts import (
    DEFAULT_HOSTS,
    describe_hosts,
    is_loopback,
    join_port,
    matches_host,
    parse_base_url,
    port_of,
    provider_of,
    split_port,
)


@pytest.mark.parametrize(
    ("host", "patterns", "expected"),
    [
        ("api.anthropic.com", DEFAULT_HOSTS, True),
        ("API.Anthropic.com", DEFAULT_HOSTS, True),
        ("anthropic.com", DEFAULT_HOSTS, False),
        ("api.anthropic.com.example.org", DEFAULT_HOSTS, False),
        ("bedrock-runtime.us-east-1.amazonaws.com", DEFAULT_HOSTS, True),
        ("bedrock-runtime-fips.us-gov-west-1.amazonaws.com", DEFAULT_HOSTS, True),
        ("bedrock.eu-west-3.amazonaws.com", DEFAULT_HOSTS, True),
        ("bedrock-runtime.cn-north-1.amazonaws.com.cn", DEFAULT_HOSTS, True),
        ("s3.us-east-1.amazonaws.com", DEFAULT_HOSTS, False),
        ("aiplatform.googleapis.com", DEFAULT_HOSTS, True),
        ("us-east5-aiplatform.googleapis.com", DEFAULT_HOSTS, True),
        ("aiplatform.eu.rep.googleapis.com", DEFAULT_HOSTS, True),
        ("oauth2.googleapis.com", DEFAULT_HOSTS, False),
        ("my-resource.services.ai.azure.com", DEFAULT_HOSTS, True),
        ("login.microsoftonline.com", DEFAULT_HOSTS, False),
        ("eu.gateway.example.org", ["*.example.org"], True),
        ("api.anthropic.com", [], False),
    ],
)
def test_a_host_matches_a_pattern(host: str, patterns: list[str], expected: bool) -> None:
    assert matches_host(host, patterns) is expected


@pytest.mark.parametrize(
    ("host", "port", "pattern", "expected"),
    [
        ("127.0.0.1", 4000, "127.0.0.1:4000", True),
        ("127.0.0.1", 4001, "127.0.0.1:4000", False),
        ("127.0.0.1", 4000, "127.0.0.1", True),
        ("127.0.0.1", None, "127.0.0.1:4000", False),
        ("::1", 4000, "[::1]:4000", True),
        ("::1", 4001, "[::1]:4000", False),
        ("::1", 4000, "::1", True),
        ("gateway.test", 8443, "*.test:8443", True),
    ],
)
def test_a_pattern_may_name_a_port(
    host: str, port: int | None, pattern: str, expected: bool
) -> None:
    assert matches_host(host, [pattern], port) is expected
    assert split_port(join_port(host, 80)) == (host, 80)


@pytest.mark.parametrize(
    ("host", "provider"),
    [
        ("api.anthropic.com", "anthropic"),
        ("bedrock-runtime.us-east-1.amazonaws.com", "bedrock"),
        ("aiplatform.us.rep.googleapis.com", "vertex"),
        ("my-resource.services.ai.azure.com", "foundry"),
        ("127.0.0.1", "gateway"),
    ],
)
def test_a_host_belongs_to_a_provider(host: str, provider: str) -> None:
    assert provider_of(host) == provider


def test_the_default_hosts_are_described_by_their_providers() -> None:
    assert describe_hosts(DEFAULT_HOSTS) == "the hosts of Anthropic, Bedrock, Vertex and Foundry"
    assert describe_hosts([*DEFAULT_HOSTS, "a.example"]).endswith(" and Foundry, a.example")
    assert describe_hosts(["a.example", "*.b.example"]) == "a.example, *.b.example"


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


@pytest.mark.parametrize(
    ("host", "is_here"),
    [
        ("localhost", True),
        ("LocalHost", True),
        ("api.localhost", True),
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("[::1]", True),
        ("::ffff:127.0.0.1", True),
        ("127.evil.example", False),
        ("10.0.0.1", False),
        ("fe80::1%eth0", False),
        ("api.anthropic.com", False),
        ("", False),
    ],
)
def test_which_hosts_are_this_machine(host: str, is_here: bool) -> None:
    assert is_loopback(host) is is_here
