"""The endpoint and client version of a request."""

import pytest

from correlate.schema.observe.sightings import client_version, endpoint


@pytest.mark.parametrize(
    ("host", "path", "name"),
    [
        ("api.anthropic.com", "/v1/messages?beta=true", "POST /v1/messages"),
        ("api.anthropic.com", "/api/eval/sdk-zAZezfDKGoZuXX", "POST /api/eval/:id"),
        ("api.anthropic.com", "/api/event_logging/v2/batch", "POST /api/event_logging/v2/batch"),
        ("statsig.anthropic.com", "/v1/rgstr", "POST statsig /v1/rgstr"),
        ("llm.example.org", "/secret/place", "POST elsewhere"),
        ("llm.example.org", "/secret/place/v1/messages", "POST /v1/messages"),
    ],
)
def test_endpoints(host: str, path: str, name: str) -> None:
    assert endpoint({"method": "POST", "host": host, "path": path}) == name


@pytest.mark.parametrize(
    ("agent", "version"),
    [
        ("claude-cli/2.1.39 (external, cli)", "2.1.39"),
        ("claude-code/2.1.325", "2.1.325"),
        ("claude-cli/2.2.0-beta.1 (external)", "2.2.0-beta.1"),
        ("axios/1.8.4", None),
        ("claude-cli/secret", None),
        ("", None),
    ],
)
def test_the_client_s_version(agent: str, version: str | None) -> None:
    assert client_version({"headers": {"User-Agent": agent}}) == version
