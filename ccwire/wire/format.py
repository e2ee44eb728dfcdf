"""The capture format: the names of the files on disk, and the fields of their records.

`addon` writes this format, `correlate` reads it. Nothing here opens a file. Every field is
described in docs/format.md, which a test compares with these dataclasses.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NotRequired, Self, TypedDict, TypeGuard

from ccwire.wire.checked import Count, FieldChecks, Milliseconds, Moment, Whole
from ccwire.wire.json_text import parse_json
from ccwire.wire.vocabulary import Direction, EndedBy, EndpointKind, GapKind, IdentifiedBy

FORMAT = 1

SESSION_HEADER = "x-claude-code-session-id"  # in which a client names its session
UNKNOWN = "unknown"
RUN_PREFIX = "run-"
MANIFEST = "manifest.json"
EXCHANGES = "exchanges.jsonl"
TRAFFIC_LOG = "traffic.log"
PART_SUFFIX = ".part"

NO_STREAM = "expected a stream"  # how the error of an answer in one piece begins
SYNTHETIC_MODEL = "<synthetic>"  # the model of a transcript line that the client wrote itself
_ERROR_LINE_SECONDS = 5.0  # within which the client writes a line about a failed call
_CLOCK_SLACK = 0.5  # a line may be written before the end of the response is recorded

_SESSION_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
_FILE = re.compile(r"(\d{4,12})_(req|resp)_(.+)\.json")


def may_report(written_at: float, failed_at: float) -> bool:
    """Whether a line about an error may be about a call that failed at that time."""
    return -_CLOCK_SLACK <= written_at - failed_at <= _ERROR_LINE_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One finished exchange: a line of `exchanges.jsonl`, all that accounting needs."""

    sequence: Count
    flow_id: str
    started: Moment
    ended: Moment | None = None
    first_byte_ms: Milliseconds | None = None
    method: str
    host: str
    path: str
    status: Count | None = None
    kind: EndpointKind
    agent_id: str | None = None
    parent_agent_id: str | None = None
    agent_type: str | None = None
    request_class: str | None = None
    prompt_id: str | None = None
    model: str | None = None
    served_model: str | None = None
    stream: bool | None = None
    max_tokens: Whole | None = None
    messages: Count | None = None
    tools: Count | None = None
    request_id: str | None = None
    client_request_id: str | None = None
    message_id: str | None = None
    stop_reason: str | None = None
    blocks: dict[str, Count] | None = None
    usage_at_start: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    invocation_metrics: dict[str, Any] | None = None
    complete: bool = False
    ended_by: EndedBy | None = None
    error: str | None = None
    request_bytes: Count = 0
    response_bytes: Count = 0
    request_sha256: str | None = None
    identified_by: IdentifiedBy = "none"
    claude_version: str | None = None
    entrypoint: str | None = None
    pid: Count | None = None
    process_started: Moment | None = None

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Return the exchange of a parsed line; raise ValueError.

        Fields of a later format are ignored.
        """
        return cls(**_EXCHANGE_CHECKS.fitting(value))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def failed(self) -> bool:
        """Whether there was no response, or an error."""
        return self.status is None or self.status >= 400

    @property
    def broken(self) -> bool:
        """Whether it failed or was cut off: there is no complete answer."""
        return self.failed or not self.complete


_EXCHANGE_CHECKS = FieldChecks(Exchange)


class Gap(TypedDict):
    """Something that is missing from a session's capture, and why."""

    kind: GapKind
    detail: str
    at: NotRequired[Moment]
    sequence: NotRequired[Count | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """`manifest.json`: what a session is, what of it was captured, and what is missing."""

    format: Count = FORMAT
    session_id: str
    first_seen: Moment | None = None
    last_seen: Moment | None = None
    claude_versions: list[str] = field(default_factory=list)
    cwd: str | None = None
    transcript_paths: list[str] = field(default_factory=list)
    pids: list[Count] = field(default_factory=list)
    entrypoint: str | None = None
    models: list[str] = field(default_factory=list)
    agents: dict[str, str | None] = field(default_factory=dict)  # id -> type, where known
    counts: dict[str, Count] = field(default_factory=dict)
    evidence: dict[str, Count] = field(default_factory=dict)
    conflicts: Count = 0
    drift: dict[str, Count] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Return the manifest of a parsed file; raise ValueError."""
        return cls(**_MANIFEST_CHECKS.fitting(value))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


_MANIFEST_CHECKS = FieldChecks(Manifest)


def claude_dir(named: str | Path | None, environment: Mapping[str, str]) -> Path:
    """Return Claude Code's folder: as named, else `CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    return Path(named or environment.get("CLAUDE_CONFIG_DIR") or "~/.claude").expanduser()


def is_session_id(value: object) -> TypeGuard[str]:
    """Whether it may become the name of a folder. The hook has the same rule, in `apply`."""
    return isinstance(value, str) and _SESSION_ID.fullmatch(value) is not None


def is_run_id(value: object) -> TypeGuard[str]:
    """Whether it names a run: the folder of programs that have no session."""
    return is_session_id(value) and value.startswith(RUN_PREFIX)


def run_id(at: float, unique: str) -> str:
    """`run-20261116-174133-1f3a`: the name of a run that started at that time."""
    return f"{RUN_PREFIX}{time.strftime('%Y%m%d-%H%M%S', time.localtime(at))}-{unique}"


def short_id(session_id: str) -> str:
    """A session id as people read and type it: its start, of a run `run-` and its end."""
    if is_run_id(session_id):
        return RUN_PREFIX + session_id.rpartition("-")[2]
    return session_id if session_id == UNKNOWN else session_id[:8]


def file_name(sequence: int, direction: Direction, path: str) -> str:
    """`0001_req_v1_messages.json`; a pair stays adjacent when sorted."""
    slug = re.sub(r"[^A-Za-z0-9]+", "_", path.partition("?")[0]).strip("_")[:80] or "root"
    return f"{sequence:04d}_{direction}_{slug}.json"


def parse_file_name(name: str) -> tuple[int, Direction] | None:
    """Sequence and direction of an exchange file, or None for any other name."""
    found = _FILE.fullmatch(name)
    return (int(found[1]), "req" if found[2] == "req" else "resp") if found else None


def parse_manifest(data: bytes) -> Manifest:
    """Parses `manifest.json`; raises ValueError if the file cannot be continued."""
    manifest = Manifest.from_json(parse_json(data))
    if not is_session_id(manifest.session_id):
        raise ValueError("session_id is not a session id")
    return manifest


def parse_exchange(line: bytes) -> Exchange:
    """Parses a line of `exchanges.jsonl`; raises ValueError if it is cut or no exchange."""
    return Exchange.from_json(parse_json(line))


def exchange_or_none(line: bytes) -> Exchange | None:
    """Parses a line of `exchanges.jsonl`; None if it is cut or no exchange."""
    try:
        return parse_exchange(line)
    except ValueError:
        return None
