from urllib.parse import quote

import pytest

from ccwire.wire.endpoints import Endpoint, endpoint_of, kind_of


@pytest.mark.parametrize(
    ("host", "path", "kind"),
    [
        ("api.anthropic.com", "/v1/messages", "messages"),
        ("api.anthropic.com", "/v1/messages?beta=true", "messages"),
        ("api.anthropic.com", "/v1/messages/count_tokens?beta=true", "count_tokens"),
        ("api.anthropic.com", "/v1/messages/?beta=true", "messages"),
        ("api.anthropic.com", "/v1/messages/count_tokens/", "count_tokens"),
        ("api.anthropic.com", "/v1/messages/batches", "batches"),
        ("api.anthropic.com", "/v1/messages/batches/msgbatch_1/results", "batches"),
        ("api.anthropic.com", "/v1/messages/of_tomorrow", "other"),
        ("api.anthropic.com", "/v1/messages_of_tomorrow", "other"),
        ("api.anthropic.com", "/api/event_logging/v2/batch", "event_logging"),
        ("api.anthropic.com", "/api/claude_code/settings", "settings"),
        ("api.anthropic.com", "/api/claude_code/policy_limits", "policy_limits"),
        ("api.anthropic.com", "/api/claude_code/other", "claude_code"),
        ("api.anthropic.com", "/api/eval/x", "eval"),
        ("api.anthropic.com", "/api/hello", "hello"),
        ("statsig.anthropic.com", "/v1/initialize", "statsig"),
        ("api.anthropic.com", "", "other"),
        ("gateway.example", "/some/prefix/v1/messages?beta=true", "messages"),
        ("gateway.example", "/some/prefix/v1/messages/count_tokens", "count_tokens"),
        ("gateway.example", "/prefix/v1/messages/batches", "other"),
        ("gateway.example", "/notv1/messages", "other"),
        ("gateway.example", "/docs/v1/messages.html", "other"),
        ("lab.services.ai.azure.com", "/anthropic/v1/messages?beta=true", "messages"),
        ("bedrock.us-east-1.amazonaws.com", "/inference-profiles?type=X", "models"),
        ("gateway.example", "/bedrock/inference-profiles/arn%3Aaws%3Ax", "models"),
        ("h", "/model/amazon.titan-embed-text-v2%3A0/invoke", "other"),
        ("h", "/model/arn%3Aaws%3Abedrock%3Aus%3A%3Afoundation-model%2Fmeta.x/invoke", "other"),
        ("h", "/model/anthropic.claude-haiku-4-5/converse", "other"),
        ("h", "/v1/projects/p/locations/r/publishers/google/models/x:rawPredict", "other"),
        ("h", "/v1/projects/p/locations/r/publishers/anthropic/models", "other"),
    ],
)
def test_the_kind_of_an_endpoint(host: str, path: str, kind: str) -> None:
    assert kind_of(host, path) == kind


_CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1"
_PROFILE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/ab12cd"
_VERTEX = "/v1/projects/p/locations/us-east5/publishers/anthropic/models"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"/model/{_CLAUDE}%3A0/invoke", ("messages", "bedrock", f"{_CLAUDE}:0", False)),
        (
            f"/prefix/model/{_CLAUDE}:0/invoke-with-response-stream",
            ("messages", "bedrock", f"{_CLAUDE}:0", True),
        ),
        (f"/model/{_CLAUDE}/count-tokens", ("count_tokens", "bedrock", _CLAUDE, None)),
        (f"/model/{quote(_PROFILE, safe='')}/invoke", ("messages", "bedrock", _PROFILE, False)),
        (f"/model/{_PROFILE}/invoke", ("messages", "bedrock", _PROFILE, False)),
        (
            f"{_VERTEX}/claude-sonnet-4-5@20250929:streamRawPredict",
            ("messages", "vertex", "claude-sonnet-4-5@20250929", True),
        ),
        (f"/gw{_VERTEX}/claude-x:rawPredict", ("messages", "vertex", "claude-x", False)),
        (f"{_VERTEX}/count-tokens:rawPredict", ("count_tokens", "vertex", None, None)),
        ("/v1/messages", ("messages", "gateway", None, None)),
    ],
)
def test_a_path_names_model_and_stream_of_a_call_on_any_host(
    path: str, expected: tuple[object, ...]
) -> None:
    assert endpoint_of("127.0.0.1", path) == expected


def test_the_shape_of_a_path_outweighs_the_host() -> None:
    path = "/model/anthropic.claude-x/invoke"
    assert endpoint_of("api.anthropic.com", path).provider == "bedrock"
    assert endpoint_of("lab.services.ai.azure.com", "/anthropic/v1/messages") == Endpoint(
        "messages", "foundry"
    )
