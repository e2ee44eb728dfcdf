"""What the body of a request says: its purpose, its tools, and the conversation that it continues.

Pure. A purpose is named by phrases that the client writes at a certain place, or by the shape of
the request. It is a claim: `purpose` decides whether other evidence supports it.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ccwire.wire.json_text import as_list, dicts, text
from ccwire.wire.vocabulary import one_of
from correlate.captures.content import without_markers

RequestPurpose = Literal[
    "quota probe",
    "warm-up",
    "compaction",
    "web search",
    "hook",
    "prompt suggestion",
    "side question",
    "title",
    "topic",
    "permission check",
    "file paths",
    "summary",
]
PURPOSES: tuple[RequestPurpose, ...] = get_args(RequestPurpose)

_SUMMARIZER = "summarizing conversations"
# Phrases of requests without tools. The first place of each is the system prompt alone, because a
# user may write such words; the second is the system prompt or the first message.
_SYSTEM_PHRASES: tuple[tuple[RequestPurpose, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "title",
        (
            "word title",
            "-case title",
            "issue title",
            "Write a title",
            "naming a coding session",
        ),
        (),
    ),
    ("topic", ("new conversation topic",), ("isNewTopic",)),
    (
        "permission check",
        ("command prefix", "command injection", "safety classifier"),
        ("policy_spec",),
    ),
    ("file paths", ("Extract any file paths",), ()),
    ("summary", (_SUMMARIZER, "Summarize this coding conversation"), ()),
)
# Phrases in the last message, which the client adds to a conversation.
_PROMPT_PHRASES: tuple[tuple[RequestPurpose, tuple[str, ...]], ...] = (
    (
        "compaction",
        (
            "create a detailed summary of the conversation",
            "Your task is to create a detailed summary",
        ),
    ),
    ("prompt suggestion", ("[SUGGESTION MODE", "You are now a prompt suggestion generator")),
    ("side question", ("This is a side question from the user",)),
)
_SEARCH_TOOL = "web_search_"
_HOOK_EVENT = re.compile(r'"hook_event_name"\s*:\s*"(\w+)"')
_HOOK_SESSION = re.compile(r'"session_id"\s*:\s*"([^"]+)"')
# The client's system prompts for hooks, and the tool by which an agent reports to one.
_HOOK_PHRASES = ("evaluating a hook", "verifying a stop condition", "verifying a condition")
_HOOK_TOOL = "StructuredOutput"


@dataclass(frozen=True, slots=True)
class HookInput:
    """The input of a hook that a request quotes."""

    event: str
    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """The facts of one request.

    `history` has a digest of the conversation up to each message, so that two requests can be
    compared without their texts. `prompt` is the last message, kept for a web search only.
    `summarizer`: the system prompt is that of a summary. `recorded`: the purpose is that of a
    scrubbed copy, whose texts are replaced; it was proven before.
    """

    purpose: RequestPurpose | None
    tools: int
    history: tuple[bytes, ...]
    roles: tuple[str, ...]
    hook: HookInput | None = None
    prompt: str | None = None
    summarizer: bool = False
    recorded: bool = False

    @property
    def digest(self) -> bytes:
        """Identifies the messages; streaming, limits and cache markers may differ."""
        return self.history[-1] if self.history else b""

    def continues(self, earlier: "RequestFacts") -> bool:
        """Whether this is the earlier conversation with its answer, and one more prompt."""
        length = len(earlier.history)
        if not 0 < length < len(self.history) or self.history[length - 1] != earlier.digest:
            return False
        added = [role for role in self.roles[length:] if role != "system"]
        return added == ["assistant", "user"]


def facts_of(body: Mapping[str, Any], recorded: object = None) -> RequestFacts:
    """Return the facts of a request body; `recorded` is the purpose stored in a scrubbed copy."""
    messages = dicts(body.get("messages"))
    stored = one_of(PURPOSES, recorded)
    hook = _hook_input(body, messages)
    purpose = stored or ("hook" if hook else _purpose(body, messages))
    return RequestFacts(
        purpose=purpose,
        tools=len(as_list(body.get("tools"))),
        history=_history(messages),
        roles=tuple(text(message.get("role")) or "" for message in messages),
        hook=hook,
        prompt=_text(messages[-1]) if purpose == "web search" and messages else None,
        summarizer=_SUMMARIZER in _joined(body.get("system")),
        recorded=stored is not None,
    )


def _purpose(
    body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]
) -> RequestPurpose | None:
    first = _text(messages[0]) if messages else ""
    last = _text(_last_prompt(messages))
    if len(messages) == 1:
        is_quota = first.strip() == "quota" and not body.get("tools")
        if body.get("max_tokens") == 1 or is_quota:
            return "quota probe"
        if _last_text(messages[0]) == "Warmup":
            return "warm-up"
    for purpose, phrases in _PROMPT_PHRASES:
        if any(phrase in last for phrase in phrases):
            return purpose
    tools = dicts(body.get("tools"))
    if tools:
        is_search = all(str(tool.get("type")).startswith(_SEARCH_TOOL) for tool in tools)
        return "web search" if is_search else None
    system = _joined(body.get("system"))
    for purpose, in_system, anywhere in _SYSTEM_PHRASES:
        if any(phrase in system for phrase in (*in_system, *anywhere)):
            return purpose
        if any(phrase in first for phrase in anywhere):
            return purpose
    return None


def _hook_input(body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> HookInput | None:
    """Return the input of a hook that is a prompt (its last message) or an agent (its first)."""
    offered = {text(tool.get("name")) for tool in dicts(body.get("tools"))}
    system = _joined(body.get("system"))
    if _HOOK_TOOL not in offered and not any(phrase in system for phrase in _HOOK_PHRASES):
        return None
    for message in (_last_prompt(messages), *messages[:1]):
        words = _text(message)
        event, session = _HOOK_EVENT.search(words), _HOOK_SESSION.search(words)
        if event and session:
            return HookInput(event[1], session[1])
    return None


def _last_prompt(messages: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the last message of the user; the beginning of the answer may follow it."""
    return next((m for m in reversed(messages) if m.get("role") == "user"), {})


def _history(messages: Sequence[Mapping[str, Any]]) -> tuple[bytes, ...]:
    found = []
    chain = hashlib.sha256()
    for message in messages:
        chain.update(json.dumps(_plain(message)).encode() + b"\n")
        found.append(chain.digest())
    return tuple(found)


def _plain(message: Mapping[str, Any]) -> Any:
    """Return a message as it is compared: a text and a single text block are the same."""
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    return {**message, "content": without_markers(content)}


def _last_text(message: Mapping[str, Any]) -> str | None:
    """Return the last text of a message: the client puts reminders before the prompt."""
    content = message.get("content")
    found = content if isinstance(content, str) else (dicts(content) or [{}])[-1].get("text")
    return found.strip() if isinstance(found, str) else None


def _text(message: Mapping[str, Any]) -> str:
    return _joined(message.get("content"))


def _joined(content: object) -> str:
    if isinstance(content, str):
        return content
    texts = (block.get("text") for block in dicts(content))
    return "\n".join(found for found in texts if isinstance(found, str))
