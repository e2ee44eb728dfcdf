"""What a usage object says: the one place that knows its fields. Sums tokens, finds differences.

Raw objects stay as the API or the transcript wrote them; a null there is "not told", not 0.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

RawUsage = Mapping[str, Any]

# What the client fills in where the API said nothing.
_DEFAULTS: tuple[object, ...] = (None, 0, "", "standard", "not_available")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Counts by token class: what is summed and priced."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    web_searches: int = 0

    @classmethod
    def of(cls, usage: RawUsage | None) -> Self:
        """What was billed: with `iterations`, all of them, as the top level leaves some out."""
        if not usage:
            return cls()
        searches = _count(_nested(usage, "server_tool_use").get("web_search_requests"))
        iterations = usage.get("iterations")
        told = [part for part in iterations if _is_told(part)] if iterations else []
        if not told:
            return cls._of_one(usage, searches)
        return sum((cls._of_one(part) for part in told), cls(web_searches=searches))

    @classmethod
    def _of_one(cls, usage: RawUsage, searches: int = 0) -> Self:
        written = _count(usage.get("cache_creation_input_tokens"))
        by_age = _nested(usage, "cache_creation")
        one_hour = _count(by_age.get("ephemeral_1h_input_tokens"))
        five_minutes = _count(by_age.get("ephemeral_5m_input_tokens"))
        return cls(
            input=_count(usage.get("input_tokens")),
            output=_count(usage.get("output_tokens")),
            cache_read=_count(usage.get("cache_read_input_tokens")),
            cache_write_5m=max(written - one_hour, five_minutes),
            cache_write_1h=one_hour,
            web_searches=searches,
        )

    @classmethod
    def of_client(cls, used: RawUsage) -> Self:
        """The same of a `modelUsage` entry, the client's own names.

        Older clients do not tell 5 m and 1 h cache writes apart: all then stand as 5 m.
        """
        one_hour = _count(used.get("cacheCreationEphemeral1hInputTokens"))
        return cls(
            input=_count(used.get("inputTokens")),
            output=_count(used.get("outputTokens")),
            cache_read=_count(used.get("cacheReadInputTokens")),
            cache_write_5m=_count(used.get("cacheCreationInputTokens")) - one_hour,
            cache_write_1h=one_hour,
            web_searches=_count(used.get("webSearchRequests")),
        )

    @property
    def context(self) -> int:
        """The prompt as the model saw it, cached or not."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h

    def __add__(self, other: "Tokens") -> Self:
        return type(self)(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write_5m + other.cache_write_5m,
            self.cache_write_1h + other.cache_write_1h,
            self.web_searches + other.web_searches,
        )

    def __neg__(self) -> Self:
        return type(self)(*(-getattr(self, name) for name in TOKEN_CLASSES))

    def __sub__(self, other: "Tokens") -> Self:
        return self + -other

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in TOKEN_CLASSES)

    def to_usage(self) -> dict[str, Any]:
        """The same counts under the API's names."""
        return {
            "input_tokens": self.input,
            "output_tokens": self.output,
            "cache_creation_input_tokens": self.cache_write_5m + self.cache_write_1h,
            "cache_read_input_tokens": self.cache_read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.cache_write_5m,
                "ephemeral_1h_input_tokens": self.cache_write_1h,
            },
            "server_tool_use": {"web_search_requests": self.web_searches},
        }


TOKEN_CLASSES = tuple(f.name for f in fields(Tokens))


@dataclass(frozen=True, slots=True)
class Difference:
    """One field in which two usage objects contradict each other."""

    field: str
    wire: Any
    transcript: Any

    def __str__(self) -> str:
        return f"{self.field}: wire {self.wire}, transcript {self.transcript}"


def differences(wire: RawUsage | None, transcript: RawUsage | None) -> tuple[Difference, ...]:
    """Fields that contradict each other.

    What one side does not tell at all (older clients drop details, newer ones fill in defaults) is
    no contradiction; a count that one side tells and the other has as 0 or null is one.
    """
    wire, transcript = wire or {}, transcript or {}
    return tuple(
        Difference(name, left, right)
        for name, left, right in _pairs(wire, transcript, "")
        if _contradict(left, right)
    )


def output_of(usage: RawUsage | None) -> int | None:
    value = (usage or {}).get("output_tokens")
    return value if _is_count(value) else None


def fingerprint(usage: RawUsage | None) -> tuple[Any, ...] | None:
    """The four core counts: the last resort for telling lines apart that carry no id."""
    if not usage:
        return None
    names = ("input_tokens", "output_tokens")
    cache = ("cache_creation_input_tokens", "cache_read_input_tokens")
    return tuple(usage.get(name) for name in names + cache)


def _pairs(left: RawUsage, right: RawUsage, path: str) -> Iterator[tuple[str, Any, Any]]:
    for name in {**left, **right}:
        a, b = left.get(name), right.get(name)
        if isinstance(a, dict) and isinstance(b, dict):
            yield from _pairs(a, b, f"{path}{name}.")
        elif isinstance(a, dict) or isinstance(b, dict):
            continue  # one side does not break this count down
        else:
            yield f"{path}{name}", a, b


def _contradict(left: Any, right: Any) -> bool:
    if left == right:
        return False
    if _is_count(left) or _is_count(right):
        return bool((left or 0) != (right or 0))
    if isinstance(left, list) or isinstance(right, list):
        return bool(left) and bool(right)
    return left not in _DEFAULTS and right not in _DEFAULTS


def _nested(usage: RawUsage, name: str) -> RawUsage:
    value = usage.get(name)
    return value if isinstance(value, dict) else {}


def _is_told(iteration: object) -> bool:
    return isinstance(iteration, dict) and "output_tokens" in iteration


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
