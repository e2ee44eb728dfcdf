"""The road of a client: where it will send its calls, and which setting decides that. Pure.

The client merges the `env` of its settings into its own environment, and settings win: measured on
2.0.73, 2.1.168 and 2.1.325, with a different base URL at each level. `client_settings` reads the
levels.
"""

import contextlib
import re
import socket
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ccwire.wire.hosts import (
    API_HOST,
    is_loopback,
    join_port,
    parse_base_url,
    port_of,
    provider_of,
    split_port,
)
from ccwire.wire.vocabulary import Provider

ENVIRONMENT = "the environment"
BASE_URL = "ANTHROPIC_BASE_URL"
_NAME = re.compile(r"[\w.:-]+")
_SLASHES = re.compile(r"^(https?):[/\\]*", re.IGNORECASE)
_NUMBERS = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}\.?")
_TRUE = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True)
class SettingsEnv:
    """The `env` of one settings file; `source` is the file's name as users know it.

    `overridable` is False for the administrator's settings, which override a `--settings` argument.
    `ignored` marks a file that the client does not read, because it is not strict JSON.
    """

    source: str
    env: Mapping[str, str]
    overridable: bool = True
    ignored: bool = False


@dataclass(frozen=True, slots=True)
class Road:
    """Where a client sends: `hosts` are patterns to capture, `source` is what decided it.

    Without `hosts`, `base_url` is not a valid URL. Without `source`, it is the client's default.
    `variable` is the one that sets the base URL.
    """

    provider: Provider
    hosts: tuple[str, ...]
    base_url: str | None = None
    source: str | None = None
    variable: str = BASE_URL


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a variable, and the place that set it."""

    text: str
    source: str


@dataclass(frozen=True, slots=True)
class _Choice:
    """A provider: the variable that selects it, that of its base URL, and its default hosts."""

    flag: str
    base_url: str
    provider: Provider
    hosts: Callable[[Mapping[str, Value]], Sequence[str]]


def find_road(environment: Mapping[str, str], settings: Sequence[SettingsEnv] = ()) -> Road:
    """Return the road of a client with this environment and these settings, weakest first."""
    values = effective(environment, settings)
    for choice in _CHOICES:
        flag = values.get(choice.flag)
        if flag is not None and flag.text.strip().lower() in _TRUE:
            url = values.get(choice.base_url)
            if url is None or not url.text.strip():
                hosts = tuple(dict.fromkeys(choice.hosts(values)))
                source = f"{choice.flag} in {flag.source}"
                return Road(choice.provider, hosts, None, source, choice.base_url)
            return _to_base_url(choice.provider, choice.base_url, url, environment, settings)
    url = values.get(BASE_URL)
    if url is None or not url.text.strip():
        return Road("anthropic", (API_HOST,))
    return _to_base_url("gateway", BASE_URL, url, environment, settings)


def describe_road(road: Road, more: Sequence[str] = ()) -> str:
    """Return what a run captures and why, in one line; never a path, which may contain a key."""
    if not road.hosts:
        return f"{road.source} is not a base URL such as https://gateway.example"
    why = f" ({road.source})" if road.source else ""
    extra = f" and {', '.join(more)} (--host)" if more else ""
    return f"capturing {', '.join(road.hosts)}{why}{extra}"


def effective(
    environment: Mapping[str, str], settings: Sequence[SettingsEnv] = ()
) -> dict[str, Value]:
    """Return the variables as the client has them after it has read its settings."""
    values = {name: Value(text, ENVIRONMENT) for name, text in environment.items()}
    for level in settings:
        if not level.ignored:
            values |= {name: Value(text, level.source) for name, text in level.env.items()}
    return values


def _to_base_url(
    provider: Provider,
    name: str,
    url: Value,
    environment: Mapping[str, str],
    settings: Sequence[SettingsEnv],
) -> Road:
    source = f"{name} in {url.source}"
    deciding = _host(url.text)
    if deciding is None:
        return Road(provider, (), url.text, source, name)
    # Some calls are sent before the settings are applied, so other levels count as well.
    others = [_host(level.get(name, "")) for level in (environment, *(s.env for s in settings))]
    hosts = dict.fromkeys(host for host in (deciding, *others) if host is not None)
    if provider == "gateway":
        provider = provider_of(split_port(deciding)[0])
    return Road(provider, tuple(hosts), _as_sent(url.text), source, name)


def _host(url: str) -> str | None:
    """Return the pattern that captures a base URL: its host, and on loopback also its port.

    On loopback there are other servers (MCP, development), which are not captured.
    """
    try:
        parts = parse_base_url(_as_sent(url))
    except ValueError:
        return None
    host = (parts.hostname or "").lower()
    if not _NAME.fullmatch(host):  # a `*` or `,` would capture other hosts
        return None
    return join_port(host, port_of(parts)) if is_loopback(host) else host


def _as_sent(url: str) -> str:
    """Return a base URL as the client reads it: as WHATWG's URL parser does, for the usual forms.

    Those are other slashes, `127.1` for `127.0.0.1`, and international names. Raise ValueError.
    """
    url = _SLASHES.sub(r"\1://", url.strip())
    parts = parse_base_url(url)
    host = sent = (parts.hostname or "").lower()
    if "%" in host and ":" not in host:
        sent = urllib.parse.unquote(host)
    if _NUMBERS.fullmatch(sent):
        with contextlib.suppress(OSError):
            sent = socket.inet_ntoa(socket.inet_aton(sent.removesuffix(".")))
    elif not sent.isascii():
        sent = sent.encode("idna").decode()
    if sent == host:
        return url
    if not _NAME.fullmatch(sent):
        raise ValueError("not a host")
    return parts._replace(netloc=sent if parts.port is None else f"{sent}:{parts.port}").geturl()


def _text(values: Mapping[str, Value], *names: str) -> str | None:
    """Return the first of these variables that has a text; None if that is not a name."""
    found = (values[name].text.strip() for name in names if name in values)
    text = next((text for text in found if text), None)
    return text if text is None or _NAME.fullmatch(text) else None


def _bedrock(values: Mapping[str, Value]) -> list[str]:
    region = _text(values, "ANTHROPIC_BEDROCK_REGION", "AWS_REGION", "AWS_DEFAULT_REGION") or "*"
    small = _text(values, "ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION") or region
    hosts = [f"bedrock-runtime.{name}.amazonaws.com" for name in (region, small)]
    return [*hosts, f"bedrock.{region}.amazonaws.com"]


def _mantle(values: Mapping[str, Value]) -> list[str]:
    return [f"bedrock-mantle.{_text(values, 'AWS_REGION', 'AWS_DEFAULT_REGION') or '*'}.api.aws"]


def _anthropic_aws(values: Mapping[str, Value]) -> list[str]:
    region = _text(values, "AWS_REGION", "AWS_DEFAULT_REGION") or "*"
    return [f"aws-external-anthropic.{region}.api.aws"]


def _google_cloud(values: Mapping[str, Value]) -> list[str]:
    return ["claude.googleapis.com"]


def _vertex(values: Mapping[str, Value]) -> list[str]:
    models = sorted(name for name in values if name.startswith("VERTEX_REGION_"))
    regions = [_text(values, name) for name in ("CLOUD_ML_REGION", *models)]
    return [_vertex_host(region) for region in regions if region] or ["*-aiplatform.googleapis.com"]


def _vertex_host(region: str) -> str:
    if region == "global":
        return "aiplatform.googleapis.com"
    if region in ("us", "eu"):
        return f"aiplatform.{region}.rep.googleapis.com"
    return f"{region}-aiplatform.googleapis.com"


def _foundry(values: Mapping[str, Value]) -> list[str]:
    return [f"{_text(values, 'ANTHROPIC_FOUNDRY_RESOURCE') or '*'}.services.ai.azure.com"]


# The client tests them in this order.
_CHOICES = (
    _Choice("CLAUDE_CODE_USE_BEDROCK", "ANTHROPIC_BEDROCK_BASE_URL", "bedrock", _bedrock),
    _Choice("CLAUDE_CODE_USE_FOUNDRY", "ANTHROPIC_FOUNDRY_BASE_URL", "foundry", _foundry),
    _Choice("CLAUDE_CODE_USE_ANTHROPIC_AWS", "ANTHROPIC_AWS_BASE_URL", "anthropic", _anthropic_aws),
    _Choice(
        "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD",
        "ANTHROPIC_GOOGLE_CLOUD_BASE_URL",
        "anthropic",
        _google_cloud,
    ),
    _Choice("CLAUDE_CODE_USE_MANTLE", "ANTHROPIC_BEDROCK_MANTLE_BASE_URL", "bedrock", _mantle),
    _Choice("CLAUDE_CODE_USE_VERTEX", "ANTHROPIC_VERTEX_BASE_URL", "vertex", _vertex),
)
