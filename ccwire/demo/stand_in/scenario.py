"""The types of a scenario, which defines how the stand-in answers each call.

A `Scenario` is a list of `Rule`s, tried in order: the first whose `When` matches the request gives
the answer, else `fallback`. The client decides the order of calls, so a rule matches the request's
content and never counts calls. `Rule.answers` is indexed by attempt: a call gets answers[0], its
first retry answers[1], and so on; the last answer repeats.

    Scenario(
        name="bash",
        prompt="lab:bash please",                      # the prompt that the rules match
        rules=(
            Rule(When(says="lab:bash", tools=True), (Answer((bash("echo hi"),)),)),
            Rule(When(after_tool=True), (overloaded(), Answer((Text("All done."),)))),
        ),
    )

No I/O here: `stream` turns an `Answer` into bytes, `server` sends them.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from ccwire.demo.stand_in.request import Request

PARTIAL_OUTPUT = 2  # output_tokens in message_start


@dataclass(frozen=True, slots=True)
class Text:
    """A text block, streamed word by word."""

    text: str


@dataclass(frozen=True, slots=True)
class Filler:
    """A text block of exactly `deltas` events of made-up words, for long streams."""

    deltas: int
    size: int = 6


@dataclass(frozen=True, slots=True)
class Thinking:
    text: str
    signature: str = "bGFiLXNpZ25hdHVyZQ=="


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call, to the first of `names` that the request offers, else to the first."""

    names: tuple[str, ...]
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ServerToolUse:
    """A tool that the API runs itself; its result block must follow it."""

    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WebSearchResult:
    """The result of the `ServerToolUse` before it: (title, url) pairs."""

    hits: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Raw:
    """Any other block, sent unchanged in content_block_start, without deltas."""

    block: Mapping[str, Any]


type ScriptedBlock = Text | Filler | Thinking | ToolUse | ServerToolUse | WebSearchResult | Raw


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The usage of one answer, at its start (message_start) and at its end."""

    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int = 0
    ephemeral_5m_input_tokens: int = 0
    ephemeral_1h_input_tokens: int = 0
    web_search_requests: int = 0
    start_input_tokens: int | None = None  # None: same as at the end
    extra: Mapping[str, Any] = field(default_factory=dict)  # further fields of the final usage

    def start(self) -> dict[str, Any]:
        start_input = self.start_input_tokens
        return {
            "input_tokens": self.input_tokens if start_input is None else start_input,
            **self._cache(),
            "output_tokens": min(PARTIAL_OUTPUT, self.output_tokens),
            "service_tier": "standard",
            "inference_geo": "not_available",
        }

    def delta(self) -> dict[str, Any]:
        """Return the usage in message_delta, which has no cache breakdown in the real API."""
        cache = self._cache()
        del cache["cache_creation"]
        searches = self.web_search_requests
        server = {"server_tool_use": {"web_search_requests": searches}} if searches else {}
        return {
            "input_tokens": self.input_tokens,
            **cache,
            "output_tokens": self.output_tokens,
            **server,
            **self.extra,
        }

    def final(self) -> dict[str, Any]:
        """Return the complete usage, as in a non-streamed answer."""
        return {**self.start(), **self.delta()}

    def _cache(self) -> dict[str, Any]:
        written = {
            "ephemeral_5m_input_tokens": self.ephemeral_5m_input_tokens,
            "ephemeral_1h_input_tokens": self.ephemeral_1h_input_tokens,
        }
        return {
            "cache_creation_input_tokens": sum(written.values()),
            "cache_read_input_tokens": self.cache_read_input_tokens,
            "cache_creation": written,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An API error: an HTTP response, or an `error` event in the middle of a stream."""

    status: int
    type: str
    message: str
    retry_after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherBody:
    """Any bytes with status 200 instead of a message, such as the page of a captive portal."""

    type: str  # its content type
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: its content blocks, and how it is sent.

    failure        an HTTP error instead of a message
    body           other bytes with status 200 instead of a message
    whole          the message as one JSON, although a stream was requested
    bare_start     message_start has no usage
    usage          fixed numbers; None: distinct numbers per call
    cache_writes   lifetimes of the cache writes in distinct numbers: "5m", "1h"
    stop_reason    None: tool_use if a tool is called, else end_turn
    encoding       gzip, br, zstd or deflate, even if not requested (node supports zstd since 22)
    first_delay    seconds before the status line
    event_delay    seconds between events
    stall_after    number of events before a pause of `stall` seconds
    cut_after      number of events before the connection is closed (`reset`: by RST)
    error_after    number of events before `mid_stream` is sent as an error event; the answer ends
    batch          events per chunk
    shred          bytes per chunk, regardless of event boundaries; 0: chunks of whole events
    claim          added to the content-length of a non-streamed answer, to make it wrong
    inserted       raw SSE events sent after message_start
    model          the model that served it; None: the one that was asked
    """

    content: tuple[ScriptedBlock, ...] = ()
    _: KW_ONLY
    failure: Failure | None = None
    body: OtherBody | None = None
    whole: bool = False
    bare_start: bool = False
    usage: Usage | None = None
    cache_writes: tuple[str, ...] = ("5m",)
    stop_reason: str | None = None
    encoding: str | None = None
    first_delay: float = 0.0
    event_delay: float = 0.0
    stall_after: int | None = None
    stall: float = 0.0
    cut_after: int | None = None
    reset: bool = False
    error_after: int | None = None
    mid_stream: Failure | None = None
    batch: int = 1
    shred: int = 0
    claim: int = 0
    inserted: tuple[bytes, ...] = ()
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """The conditions of a rule; None matches any request. Texts match as substrings.

    says           in the last message, if it is a prompt and not a tool's result
    opens          in the messages before the first answer, such as a subagent's prompt
    after_tool     whether the last message contains a tool's result
    tools          whether the request has tools (most auxiliary calls have none)
    offers         the name of a tool that the request has
    """

    says: str | None = None
    opens: str | None = None
    after_tool: bool | None = None
    tools: bool | None = None
    offers: str | None = None
    stream: bool | None = None
    model: str | None = None

    def fits(self, request: Request) -> bool:
        return (
            (self.after_tool is None or self.after_tool == request.after_tool)
            and (self.tools is None or self.tools == bool(request.tools))
            and (self.offers is None or self.offers in request.tools)
            and (self.stream is None or self.stream == request.stream)
            and (self.model is None or self.model in request.model)
            and (self.opens is None or self.opens in request.opening)
            and (self.says is None or self.says in request.prompt)
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """Requests that match `when` get `answers`, one per attempt; the last one repeats."""

    when: When
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A name, the prompt that starts it, its rules, and the tools that a client must be allowed."""

    name: str
    prompt: str
    rules: tuple[Rule, ...] = ()
    fallback: Answer = Answer((Text("Understood."),))
    tools: tuple[str, ...] = ()

    def answer(self, request: Request, attempt: int) -> Answer:
        """Return the answer to a request's `attempt`-th attempt, counted from 0."""
        for rule in self.rules:
            if rule.when.fits(request):
                return rule.answers[min(attempt, len(rule.answers) - 1)]
        return self.fallback


def bash(command: str, description: str = "Run a command of the lab") -> ToolUse:
    return ToolUse(("Bash",), {"command": command, "description": description})


def agent(prompt: str, description: str = "Lab errand", kind: str = "general-purpose") -> ToolUse:
    """A call that starts a subagent; the tool is Task in older clients, Agent in newer ones."""
    return ToolUse(
        ("Agent", "Task"), {"description": description, "prompt": prompt, "subagent_type": kind}
    )


def overloaded() -> Answer:
    return Answer(failure=Failure(status=529, type="overloaded_error", message="Overloaded"))


def rate_limited(retry_after: int = 0) -> Answer:
    message = "This request would exceed the rate limit of your organization."
    return Answer(
        failure=Failure(
            status=429, type="rate_limit_error", message=message, retry_after=retry_after
        )
    )


def server_error() -> Answer:
    return Answer(failure=Failure(status=500, type="api_error", message="Internal server error"))


def too_long(tokens: int = 203_117, limit: int = 200_000) -> Answer:
    message = f"prompt is too long: {tokens} tokens > {limit} maximum"
    return Answer(failure=Failure(status=400, type="invalid_request_error", message=message))
