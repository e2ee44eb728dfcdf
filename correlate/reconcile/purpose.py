"""Determine the purpose of a call that is not in the transcript. Pure.

Explicit sources come first: the request class header, then the transcript's `querySource`. A
purpose derived from the request's text is marked as inferred.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ccwire.wire.format import Exchange
from ccwire.wire.json_text import as_list, dicts
from ccwire.wire.vocabulary import one_of
from correlate.captures.content import without_markers
from correlate.reconcile.verdicts import WireOnlyKind
from correlate.transcript.records import ApiRequest

_SOURCE_SLACK = 2.0  # seconds between an api-request record and its call
_SIDE_CLASSES: tuple[WireOnlyKind, ...] = ("auxiliary", "compaction")
_MAIN_SOURCES = ("sdk", "repl_main_thread", "agent:")

# The purposes that can be inferred from a request's text.
RequestPurpose = Literal[
    "quota probe",
    "warm-up",
    "compaction",
    "title",
    "topic",
    "permission check",
    "file paths",
    "summary",
    "prompt suggestion",
]
PURPOSES: tuple[RequestPurpose, ...] = get_args(RequestPurpose)

# Phrases in the system prompt or first message that identify the client's side requests.
_SYSTEM_PHRASES: tuple[tuple[RequestPurpose, tuple[str, ...]], ...] = (
    ("title", ("title",)),
    ("topic", ("isNewTopic", "new conversation topic")),
    (
        "permission check",
        ("policy_spec", "command prefix", "command injection", "safety classifier"),
    ),
    ("file paths", ("Extract any file paths",)),
    ("summary", ("summarizing conversations", "Summarize this coding conversation")),
    ("prompt suggestion", ("SUGGESTION MODE", "predict what the user")),
)
_COMPACTION_PHRASES = (
    "create a detailed summary of the conversation",
    "Your task is to create a detailed summary",
)


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """The purpose found in a request file, and a digest that identifies retries."""

    purpose: RequestPurpose | None
    tools: int
    digest: str


@dataclass(frozen=True, slots=True)
class Reason:
    """The purpose of a call without a turn, with its evidence."""

    name: WireOnlyKind
    evidence: tuple[str, ...]


def facts_of(body: Mapping[str, Any], recorded: object = None) -> RequestFacts:
    """Return the facts of a request body; `recorded` is the purpose stored in a scrubbed copy."""
    purpose = one_of(PURPOSES, recorded) or _purpose(body)
    return RequestFacts(purpose, len(as_list(body.get("tools"))), _digest(body))


def purpose_of(
    call: Exchange,
    facts: RequestFacts | None,
    sources: Iterable[ApiRequest],
    *,
    turns_offer_tools: bool,
) -> Reason | None:
    """Return the purpose of a finished call without a turn; None if it is unknown."""
    inferred = f", {facts.purpose} (inferred from the request)" if facts and facts.purpose else ""
    if named := one_of(_SIDE_CLASSES, call.request_class):
        return Reason(named, (f"request class {named}{inferred}",))
    for source in sources:
        name = source.query_source or ""
        if _same_moment(call, source) and name and not name.startswith(_MAIN_SOURCES):
            evidence = (f"api-request.querySource {name}{inferred}",)
            return Reason("compaction" if "compact" in name else "auxiliary", evidence)
    if facts is None:
        return None
    if facts.purpose is not None:
        evidence = (f"inferred from the request: {facts.purpose}",)
        return Reason("compaction" if facts.purpose == "compaction" else "auxiliary", evidence)
    if not facts.tools and turns_offer_tools:
        reason = "inferred: the request has no tools, unlike calls with a turn"
        return Reason("auxiliary", (reason,))
    return None


def is_of_program(call: Exchange) -> bool:
    """Whether another program made the call, which only its process ties to the session."""
    return call.claude_version is None and call.identified_by == "process"


def repeats(
    earlier: Exchange,
    later: Exchange,
    facts: Mapping[int, RequestFacts],
) -> str | None:
    """Return why `later` is a retry of `earlier`, or None."""
    if later.kind != earlier.kind or later.agent_id != earlier.agent_id:
        return None
    if later.started < earlier.started or later.sequence == earlier.sequence:
        return None
    if earlier.request_sha256 and earlier.request_sha256 == later.request_sha256:
        return "identical request"
    ours, theirs = facts.get(earlier.sequence), facts.get(later.sequence)
    if ours is not None and theirs is not None and ours.digest == theirs.digest:
        return "same messages"
    return None


class Alike:
    """An index of calls by request, to find calls with the same request."""

    def __init__(self, calls: Iterable[Exchange], facts: Mapping[int, RequestFacts]) -> None:
        self._facts = facts
        self._groups: dict[object, list[Exchange]] = {}
        for call in sorted(calls, key=lambda call: call.started):
            for key in self._keys(call):
                self._groups.setdefault(key, []).append(call)

    def to(self, call: Exchange) -> list[Exchange]:
        """Return the calls with the same request, in the order in which they started."""
        found = {c.sequence: c for key in self._keys(call) for c in self._groups.get(key, ())}
        return sorted(found.values(), key=lambda call: call.started)

    def _keys(self, call: Exchange) -> Iterator[object]:
        if call.request_sha256:
            yield "sha256", call.request_sha256
        if facts := self._facts.get(call.sequence):
            yield "digest", facts.digest


def may_repeat(earlier: Exchange, later: Exchange) -> bool:
    """Whether two request files are worth comparing, as a cheap test."""
    return (
        later.kind == earlier.kind
        and later.agent_id == earlier.agent_id
        and later.sequence != earlier.sequence
        and later.started >= earlier.started
        and later.messages == earlier.messages
    )


def _same_moment(call: Exchange, source: ApiRequest) -> bool:
    if source.timestamp is None or (source.agent_id or None) != call.agent_id:
        return False
    return abs(call.started - source.timestamp) <= _SOURCE_SLACK


def _purpose(body: Mapping[str, Any]) -> RequestPurpose | None:
    messages = as_list(body.get("messages"))
    first = _text(messages[0]) if messages else ""
    last = _text(messages[-1]) if messages else ""
    if body.get("max_tokens") == 1 or first.strip() == "quota":
        return "quota probe"
    if first.strip().endswith("Warmup"):
        return "warm-up"
    if any(phrase in last for phrase in _COMPACTION_PHRASES):
        return "compaction"
    if body.get("tools"):
        return None
    words = f"{_joined(body.get('system'))}\n{first}"
    for purpose, phrases in _SYSTEM_PHRASES:
        if any(phrase in words for phrase in phrases):
            return purpose
    return None


def _digest(body: Mapping[str, Any]) -> str:
    """Return a digest of the messages; streaming, limits and cache markers may differ."""
    asked = without_markers(body.get("messages"))
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def _text(message: object) -> str:
    return _joined(message.get("content")) if isinstance(message, Mapping) else ""


def _joined(content: object) -> str:
    if isinstance(content, str):
        return content
    texts = (block.get("text") for block in dicts(content))
    return "\n".join(text for text in texts if isinstance(text, str))
