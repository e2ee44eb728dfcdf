"""The token classes, and how they are read from a usage object, summed and compared.

To add a class, add one line to `Tokens`. Usage objects themselves are kept as the API or the
transcript wrote them; a null in them means unknown, not 0.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from operator import add, attrgetter, sub
from typing import Any, Self

from ccwire.wire.counting import (
    CountFields,
    Group,
    RawUsage,
    TokenClass,
    defined,
    is_count,
    token_class,
)
from ccwire.wire.json_text import as_dict, as_list

# Values that the client writes for fields that the API did not send.
_DEFAULTS: tuple[object, ...] = (None, 0, "", "standard", "not_available")

# Types of iterations: a fallback model's attempt, and the attempts at an answer.
FALLBACK = "fallback_message"
_ATTEMPTS = ("message", FALLBACK)

_FRESH = Group("fresh", "fresh input", column="input", heading="Fresh", level=2)
_READ = Group("read", "cache read", level=0)
_WRITE = Group(
    "write",
    "cache write",
    column="write",
    path="cache_creation_input_tokens",
    client="cacheCreationInputTokens",
    level=1,
)


@dataclass(frozen=True, slots=True)
class Tokens:
    """Counts by token class."""

    input: int = token_class(
        "input_tokens", "prompt", client="inputTokens", prices=("input_mtok",), group=_FRESH
    )
    output: int = token_class(
        "output_tokens", "output", client="outputTokens", prices=("output_mtok",)
    )
    cache_read: int = token_class(
        "cache_read_input_tokens",
        "prompt",
        client="cacheReadInputTokens",
        prices=("cache_read_mtok", "input_mtok"),
        group=_READ,
    )
    cache_write_5m: int = token_class(
        "cache_creation.ephemeral_5m_input_tokens",
        "prompt",
        client="cacheCreationEphemeral5mInputTokens",
        prices=("cache_write_5m_mtok", "cache_write_mtok", "input_mtok"),
        page_label="cache write, 5 min",
        group=_WRITE,
    )
    cache_write_1h: int = token_class(
        "cache_creation.ephemeral_1h_input_tokens",
        "prompt",
        client="cacheCreationEphemeral1hInputTokens",
        prices=("cache_write_1h_mtok", "cache_write_mtok", "input_mtok"),
        page_label="cache write, 1 h",
        group=_WRITE,
    )
    web_searches: int = token_class(
        "server_tool_use.web_search_requests",
        "requests",
        client="webSearchRequests",
        prices=("web_searches_kcount",),
    )

    @classmethod
    def of(cls, usage: RawUsage | None) -> Self:
        """Count what was billed: all `iterations` if there are any, since the top level omits some.

        Requests are counted at the top level only.
        """
        counts = cls.of_top_level(usage)
        iterations = billed_iterations(usage)
        if not iterations:
            return counts
        billed = sum((cls.of_top_level(iteration) for iteration in iterations), cls())
        return billed.with_requests_of(counts)

    @classmethod
    def of_top_level(cls, usage: RawUsage | None) -> Self:
        """Count the fields of the usage itself, without its iterations."""
        return cls(*_API.read(usage)) if usage else cls()

    @classmethod
    def of_client(cls, used: RawUsage) -> Self:
        """Read an entry of the client's `modelUsage`."""
        return cls(*_CLIENT.read(used))

    def with_requests_of(self, other: "Tokens") -> Self:
        """Return these tokens with the other's requests."""
        return replace(self, **{name: getattr(other, name) for name in _REQUESTS})

    def to_usage(self) -> dict[str, Any]:
        """Return the counts under the API's names."""
        return _API.write(_counts(self))

    def to_client(self) -> dict[str, Any]:
        """Return the counts under the client's names."""
        return _CLIENT.write(_counts(self))

    @property
    def context(self) -> int:
        """The tokens of the whole prompt, cached or not."""
        return sum(_prompt_counts(self))

    @property
    def cache_share(self) -> float | None:
        """The share of the prompt that was read from the cache; None without a prompt."""
        context = self.context
        return self.cache_read / context if context else None

    @property
    def cached(self) -> int:
        """The prompt tokens that are in the cache after the call: read from it or written to it."""
        return sum(_cached_counts(self))

    def counts(self) -> tuple[int, ...]:
        """Return the counts in the order of `TOKEN_CLASSES`."""
        return _counts(self)

    def by_class(self) -> Iterator[tuple[TokenClass, int]]:
        return zip(TOKEN_CLASSES, _counts(self), strict=True)

    def of_class(self, token_class: TokenClass) -> int:
        count: int = getattr(self, token_class.name)
        return count

    def of_group(self, group: Group) -> int:
        return sum(getattr(self, name) for name in group.members)

    def __add__(self, other: "Tokens") -> Self:
        return type(self)(*map(add, _counts(self), _counts(other)))

    def __sub__(self, other: "Tokens") -> Self:
        return type(self)(*map(sub, _counts(self), _counts(other)))

    def __bool__(self) -> bool:
        return any(_counts(self))


TOKEN_CLASSES = defined((field.name, field.metadata) for field in fields(Tokens))
TOKEN_GROUPS = tuple(dict.fromkeys(c.group for c in TOKEN_CLASSES))

_SUMMED = [group for group in TOKEN_GROUPS if len(group.members) > 1]
_API = CountFields(
    {c.name: c.path for c in TOKEN_CLASSES},
    {group.path: group.members for group in _SUMMED},
)
_CLIENT = CountFields(
    {c.name: c.client for c in TOKEN_CLASSES},
    {group.client: group.members for group in _SUMMED if group.client},
)
_counts: Callable[[Tokens], tuple[int, ...]] = attrgetter(*(c.name for c in TOKEN_CLASSES))
_prompt_counts: Callable[[Tokens], tuple[int, ...]] = attrgetter(
    *(c.name for c in TOKEN_CLASSES if c.kind == "prompt")
)
_cached_counts: Callable[[Tokens], tuple[int, ...]] = attrgetter(
    *(c.name for c in TOKEN_CLASSES if c.group.key in (_READ.key, _WRITE.key))
)
_REQUESTS = [c.name for c in TOKEN_CLASSES if c.kind == "requests"]


@dataclass(frozen=True, slots=True)
class Difference:
    """A field in which two usage objects contradict each other."""

    field: str
    wire: Any
    transcript: Any

    def __str__(self) -> str:
        return f"{self.field}: wire {self.wire}, transcript {self.transcript}"


def differences(wire: RawUsage | None, transcript: RawUsage | None) -> tuple[Difference, ...]:
    """Return the fields that contradict each other.

    A field that one side lacks is no contradiction: older clients drop details, newer ones write
    defaults. A count on one side against 0 or null on the other is one.
    """
    wire, transcript = wire or {}, transcript or {}
    return tuple(
        Difference(name, left, right)
        for name, left, right in _pairs(wire, transcript, "")
        if _contradict(left, right)
    )


def output_of(usage: RawUsage | None) -> int | None:
    value = (usage or {}).get("output_tokens")
    return value if is_count(value) else None


def thinking_of(usage: RawUsage | None) -> int | None:
    """Return the output tokens spent on thinking, where the API counts them apart."""
    value = as_dict((usage or {}).get("output_tokens_details")).get("thinking_tokens")
    return value if is_count(value) else None


def fingerprint(usage: RawUsage | None) -> tuple[Any, ...] | None:
    """Return the four main counts, the last resort for distinguishing lines without an id."""
    if not usage:
        return None
    names = ("input_tokens", "output_tokens")
    cache = ("cache_creation_input_tokens", "cache_read_input_tokens")
    return tuple(usage[name] if is_count(usage.get(name)) else None for name in names + cache)


def _pairs(left: RawUsage, right: RawUsage, path: str) -> Iterator[tuple[str, Any, Any]]:
    for name in {**left, **right}:
        a, b = left.get(name), right.get(name)
        if isinstance(a, dict) and isinstance(b, dict):
            yield from _pairs(a, b, f"{path}{name}.")
        elif isinstance(a, dict) or isinstance(b, dict):
            continue  # one side has no breakdown of this count
        else:
            yield f"{path}{name}", a, b


def _contradict(left: Any, right: Any) -> bool:
    if left == right:
        return False
    if is_count(left) or is_count(right):
        return bool((left or 0) != (right or 0))
    if isinstance(left, list) or isinstance(right, list):
        return bool(left) and bool(right)
    return left not in _DEFAULTS and right not in _DEFAULTS


def billed_iterations(usage: RawUsage | None) -> list[RawUsage]:
    """Return the iterations of a usage that are billed; none if it has no breakdown.

    A breakdown of less than the top level is none. An attempt that declined before any output, and
    for which a fallback model answered, is reported in `iterations` but not billed.
    """
    listed = usage.get("iterations") if usage else None
    found = [part for part in as_list(listed) if _has_counts(part)] if listed else []
    fallbacks = [place for place, part in enumerate(found) if part.get("type") == FALLBACK]
    served = fallbacks[-1] if fallbacks else 0
    billed = [
        part
        for place, part in enumerate(found)
        if place >= served or part.get("type") not in _ATTEMPTS or part.get("output_tokens")
    ]
    total = sum((Tokens.of_top_level(part) for part in billed), Tokens())
    least = Tokens.of_top_level(usage)
    groups = (group for group in TOKEN_GROUPS if group.kind != "requests")
    return [] if any(total.of_group(g) < least.of_group(g) for g in groups) else billed


def _has_counts(iteration: object) -> bool:
    return isinstance(iteration, dict) and is_count(iteration.get("output_tokens"))
