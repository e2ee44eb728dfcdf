"""The endpoints by host and path, and what the path of a call contains. Pure.

A call is recognised by the end of its path, because a gateway may put any prefix before it:

    …/v1/messages                                       Anthropic, Foundry, most gateways
    …/model/ID/invoke                                   Bedrock; -with-response-stream if streamed
    …/publishers/anthropic/models/ID:rawPredict         Vertex; streamRawPredict if streamed
"""

import re
from typing import NamedTuple
from urllib.parse import unquote

from ccwire.wire.hosts import provider_of
from ccwire.wire.vocabulary import EndpointKind, Provider

# The exchanges that are calls to the model; their bodies are the user's own words.
CALL_KINDS: tuple[EndpointKind, ...] = ("messages", "count_tokens")

_KINDS: tuple[tuple[str, EndpointKind], ...] = (  # the first prefix that fits decides
    ("/v1/messages/batches", "batches"),
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
_ANTHROPIC = re.compile(r"/v1/messages(/count_tokens)?/?\Z")
_BEDROCK = re.compile(
    r"/model/((?:arn:[^/]+/)?[^/]+)/(invoke|invoke-with-response-stream|count-tokens)\Z"
)
_VERTEX = re.compile(r"/publishers/anthropic/models/([^/:]+):(rawPredict|streamRawPredict)\Z")
_PROFILES = re.compile(r"/inference-profiles(?:/[^/]+)?\Z")
_VERTEX_COUNT = "count-tokens"  # in the place of the model's id


class Endpoint(NamedTuple):
    """An endpoint; `model` and `stream` are those in the path, None if the body has them."""

    kind: EndpointKind
    provider: Provider
    model: str | None = None
    stream: bool | None = None


def kind_of(host: str, path: str) -> EndpointKind:
    """Return which endpoint an exchange is with, by host and path alone."""
    return endpoint_of(host, path).kind


def endpoint_of(host: str, path: str) -> Endpoint:
    """Return the endpoint; a shape that only one provider has outweighs the host."""
    path = path.partition("?")[0]
    if host.startswith("statsig."):
        return Endpoint("statsig", "anthropic")
    if found := _BEDROCK.search(path):
        model, action = unquote(found[1]), found[2]
        if not _may_be_claude(model):
            return Endpoint("other", "bedrock")
        if action == "count-tokens":
            return Endpoint("count_tokens", "bedrock", model)
        return Endpoint("messages", "bedrock", model, action != "invoke")
    if found := _VERTEX.search(path):
        if found[1] == _VERTEX_COUNT:
            return Endpoint("count_tokens", "vertex")
        return Endpoint("messages", "vertex", unquote(found[1]), found[2] == "streamRawPredict")
    if found := _ANTHROPIC.search(path):
        return Endpoint("count_tokens" if found[1] else "messages", provider_of(host))
    if _PROFILES.search(path):
        return Endpoint("models", "bedrock")
    for prefix, kind in _KINDS:
        if path == prefix or path.startswith(prefix + "/"):
            return Endpoint(kind, provider_of(host))
    return Endpoint("other", provider_of(host))


def _may_be_claude(model: str) -> bool:
    """Return False for a Bedrock id that names another model; some ARNs name none."""
    is_opaque = model.startswith("arn:") and "." not in model.rpartition("/")[2]
    return "anthropic" in model or "claude" in model or is_opaque
