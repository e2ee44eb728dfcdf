"""The capture format: what each file on disk is called and what stands in it.

Both rooms share this module, and only this one: `addon` writes by it, `correlate` reads by it.
Nothing here touches a file.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

import orjson

FORMAT = 1

UNKNOWN = "unknown"
MANIFEST = "manifest.json"
EXCHANGES = "exchanges.jsonl"
TRAFFIC_LOG = "traffic.log"
PART_SUFFIX = ".part"

_SESSION_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
_FILE = re.compile(r"(\d{4,})_(req|resp)_(.+)\.json")

ENDED_BY = (
    "message_stop",
    "error_event",
    "client_disconnect",
    "server_disconnect",
    "proxy_stopped",
    "http_end",
)

IDENTIFIED_BY = ("header", "user_id", "process", "live_record", "telemetry", "none")

_KINDS = (
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One finished exchange: a line of `exchanges.jsonl`, all that accounting needs."""

    sequence: int
    flow_id: str
    started: float
    ended: float | None = None
    first_byte_ms: float | None = None
    method: str
    host: str
    path: str
    status: int | None = None
    kind: str
    agent_id: str | None = None
    parent_agent_id: str | None = None
    agent_type: str | None = None
    request_class: str | None = None
    prompt_id: str | None = None
    model: str | None = None
    stream: bool | None = None
    max_tokens: int | None = None
    messages: int | None = None
    tools: int | None = None
    request_id: str | None = None
    client_request_id: str | None = None
    message_id: str | None = None
    stop_reason: str | None = None
    usage_at_start: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    complete: bool = False
    ended_by: str | None = None
    error: str | None = None
    request_bytes: int = 0
    response_bytes: int = 0
    request_sha256: str | None = None
    identified_by: str = "none"
    claude_version: str | None = None
    entrypoint: str | None = None
    pid: int | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Reads a line; fields of a later format are passed over."""
        return cls(**{name: value[name] for name in _EXCHANGE_FIELDS if name in value})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


_EXCHANGE_FIELDS = tuple(f.name for f in fields(Exchange))


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a session is, what of it was captured, and what is missing: `manifest.json`."""

    format: int = FORMAT
    session_id: str
    first_seen: float | None = None
    last_seen: float | None = None
    claude_versions: list[str] = field(default_factory=list)
    cwd: str | None = None
    transcript_paths: list[str] = field(default_factory=list)
    pids: list[int] = field(default_factory=list)
    entrypoint: str | None = None
    models: list[str] = field(default_factory=list)
    agents: dict[str, str | None] = field(default_factory=dict)  # id -> type, where known
    counts: dict[str, int] = field(default_factory=dict)
    evidence: dict[str, int] = field(default_factory=dict)
    conflicts: int = 0
    drift: dict[str, int] = field(default_factory=dict)
    gaps: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**{f.name: value[f.name] for f in fields(cls) if f.name in value})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def is_session_id(value: object) -> bool:
    """Only such a string may become a folder's name."""
    return isinstance(value, str) and _SESSION_ID.fullmatch(value) is not None


def kind_of(host: str, path: str) -> str:
    """Which endpoint an exchange is with, told by host and path alone."""
    if host.startswith("statsig."):
        return "statsig"
    path = path.partition("?")[0]
    for prefix, kind in _KINDS:
        if path == prefix or path.startswith(prefix + "/"):
            return kind
    return "other"


def file_name(sequence: int, direction: str, path: str) -> str:
    """`0001_req_v1_messages.json`; a pair stays adjacent when sorted."""
    slug = re.sub(r"[^A-Za-z0-9]+", "_", path.partition("?")[0]).strip("_")[:80] or "root"
    return f"{sequence:04d}_{direction}_{slug}.json"


def parse_file_name(name: str) -> tuple[int, str] | None:
    """Sequence and direction of an exchange file, or None for any other name."""
    found = _FILE.fullmatch(name)
    return (int(found[1]), found[2]) if found else None


def parse_json(data: bytes | str) -> Any:
    """JSON as any client may write it; raises ValueError.

    orjson refuses lone surrogates, which JavaScript writes; the standard library reads them.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            return json.loads(data)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
