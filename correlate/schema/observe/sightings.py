"""Split an exchange, transcript record or hook payload and observe each part in its bucket.

Of exchanges with Bedrock, Vertex and Foundry only the API's own events are observed: requests and
errors have other fields there, and the baselines were recorded with Anthropic's API.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ccwire.wire.endpoints import endpoint_of, kind_of
from ccwire.wire.hosts import is_anthropic
from ccwire.wire.json_text import dicts
from ccwire.wire.stream.message import BEDROCK_METRICS
from ccwire.wire.versions import is_version
from ccwire.wire.vocabulary import Provider
from correlate.schema.observe.buckets import hook_target, record_target, sse_target
from correlate.schema.observe.shapes import Shapes
from correlate.schema.observe.vocabulary import is_beta, is_field_name

_CLIENTS = ("claude-cli/", "claude-code/", "claude-vscode/")
_BETA = "anthropic-beta"
_ERROR = 400
_CLOUDS: tuple[Provider, ...] = ("bedrock", "vertex", "foundry")
_CALLS = {"messages": "/v1/messages", "count_tokens": "/v1/messages/count_tokens"}


def see_request(shapes: Shapes, request: Mapping[str, Any]) -> None:
    """Observe a request file of a capture."""
    if _is_cloud(request):
        return
    kind = _kind(request)
    headers = _headers(request)
    shapes.see("wire/endpoint", endpoint(request))
    shapes.see(f"wire/header/request/{kind}", headers)
    if betas := headers.get(_BETA):
        for name in str(betas).split(","):
            shapes.see("wire/beta", name.strip() if is_beta(name.strip()) else "other")
    body = _body(request)
    if body.get("type") in ("json", "form"):
        shapes.see(f"wire/request/{kind}", body.get("data"))


def see_response(shapes: Shapes, response: Mapping[str, Any]) -> None:
    """Observe a response file, except the message that ccwire assembled from the events."""
    if _is_cloud(response):
        found = [event.get("data") for event in dicts(_body(response).get("events"))]
        see_events(shapes, filter(None, map(_api_event, found)))
        return
    kind = _kind(response)
    of = kind if kind == "messages" else "other"
    shapes.see(f"wire/header/response/{of}", _headers(response))
    body = _body(response)
    if isinstance(events := body.get("events"), list):
        see_events(shapes, [event.get("data") for event in events if type(event) is dict])
    elif body.get("type") == "json":
        status = response.get("status_code")
        failed = isinstance(status, int) and status >= _ERROR
        shapes.see("wire/answer/error" if failed else f"wire/answer/{kind}", body.get("data"))


def see_events(shapes: Shapes, events: Iterable[Any]) -> None:
    """Observe the data of SSE events."""
    roots = shapes.by_event
    for data in events:
        try:
            root = roots[data["type"]]
        except (KeyError, TypeError):
            if type(data) is not dict:
                shapes.see("wire/sse/?", data)
                continue
            found = sse_target(data)
            root = shapes.root(found)
            if found.tags:
                roots[data["type"]] = root
        root.see_object(data)


def see_record(shapes: Shapes, record: dict[str, Any]) -> None:
    """Observe a transcript line or a hook payload."""
    found = hook_target(record) if is_hook(record) else record_target(record)
    shapes.root(found).see_object(record)


def is_hook(record: Mapping[str, Any]) -> bool:
    return "hook_event_name" in record and "type" not in record


def endpoint(exchange: Mapping[str, Any]) -> str:
    """Return e.g. `POST /v1/messages`, with ids replaced by `:id` and foreign hosts omitted."""
    method, host = str(exchange.get("method")), str(exchange.get("host"))
    if not is_anthropic(host):
        called = _CALLS.get(_kind(exchange))  # a gateway may put any prefix before it
        return f"{method} {called or 'elsewhere'}"
    steps = str(exchange.get("path")).partition("?")[0].strip("/").split("/")
    path = "/".join(step if is_field_name(step) else ":id" for step in steps)
    name = host.partition(".")[0]
    return f"{method} /{path}" if name == "api" else f"{method} {name} /{path}"


def client_version(request: Mapping[str, Any]) -> str | None:
    """Return the client version from a request's user agent."""
    for word in str(_headers(request).get("user-agent", "")).split():
        if word.startswith(_CLIENTS):
            version = word.partition("/")[2].rstrip(",;)")
            return version if is_version(version) else None
    return None


def _is_cloud(exchange: Mapping[str, Any]) -> bool:
    return endpoint_of(str(exchange.get("host")), str(exchange.get("path"))).provider in _CLOUDS


def _api_event(data: Any) -> dict[str, Any] | None:
    """Return an event as the API sent it: Bedrock adds its metrics to the last."""
    if not isinstance(data, dict) or "type" not in data:
        return None
    return {name: value for name, value in data.items() if name != BEDROCK_METRICS}


def _kind(exchange: Mapping[str, Any]) -> str:
    return kind_of(str(exchange.get("host")), str(exchange.get("path")))


def _headers(exchange: Mapping[str, Any]) -> dict[str, Any]:
    headers = exchange.get("headers")
    if not isinstance(headers, Mapping):
        return {}
    named = {str(name).lower(): value for name, value in headers.items()}
    named.pop("proxy-connection", None)  # for this proxy, with a plain http base URL
    return named


def _body(exchange: Mapping[str, Any]) -> Mapping[str, Any]:
    body = exchange.get("body")
    return body if isinstance(body, Mapping) else {}
