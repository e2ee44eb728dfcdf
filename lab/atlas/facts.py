"""Find the first and last release of each fact. Pure: snapshots in, spans out."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ccwire.wire.versions import parse_version
from correlate.schema.snapshot.snapshot import JSON_STRING, NAME_LISTS, Field, Snapshot, paths

# Produced by the stand-in, not by the client.
_NOT_THE_CLIENTS = (
    "wire/sse/",
    "wire/delta/",
    "wire/answer/",
    "wire/usage",
    "wire/header/response/",
)
# Formats that ccwire depends on; changes in them are bisected first.
_HEADLINES = ("wire/header/request/messages", "wire/request/messages", "transcript/", "hook/")
_HEADLINE_WEIGHT = 4


class Fact(NamedTuple):
    """Something that a release has or lacks: a bucket, a field, or a field's type or value."""

    bucket: str
    path: str = ""
    detail: str = ""

    @property
    def parent(self) -> "Fact | None":
        """Return the fact that this one implies, such as the object that contains a field."""
        if self.detail and self.bucket not in NAME_LISTS:
            return Fact(self.bucket, self.path)
        if not self.path:
            return None
        above = self.path.removesuffix("[]")
        if above == self.path:
            above = self.path.rpartition(".")[0]
        return Fact(self.bucket, above)


@dataclass(frozen=True, slots=True)
class Span:
    """The first and last release in which a fact was observed.

    `before` is the newest run release before `first`, `after` the oldest run release after `last`;
    None if there is none. `first_exact`, `last_exact`: no release lies between that was not run.
    `steady`: observed in every run release from `first` to `last`.
    """

    fact: Fact
    first: str
    last: str
    before: str | None
    after: str | None
    first_exact: bool
    last_exact: bool
    steady: bool


def facts_of(snapshot: Snapshot) -> frozenset[Fact]:
    """Return all facts about the client's own formats in a release's snapshot."""
    return frozenset(
        fact
        for bucket, root in snapshot.items()
        if not bucket.startswith(_NOT_THE_CLIENTS)
        for fact in _facts(bucket, root)
    )


def spans(seen: Mapping[str, frozenset[Fact]], known: Sequence[str]) -> list[Span]:
    """Return every fact's span; `seen` contains the releases that ran, `known` all, in order.

    `known` must not contain releases that failed to run.
    """
    tried = sorted(seen, key=parse_version)
    place = {version: number for number, version in enumerate(known)}
    found: list[Span] = []
    for fact in sorted(frozenset().union(*seen.values())):
        at = [number for number, version in enumerate(tried) if fact in seen[version]]
        first, last = at[0], at[-1]
        before = tried[first - 1] if first else None
        after = tried[last + 1] if last + 1 < len(tried) else None
        found.append(
            Span(
                fact,
                tried[first],
                tried[last],
                before,
                after,
                before is None or place[tried[first]] - place[before] == 1,
                after is None or place[after] - place[tried[last]] == 1,
                len(at) == last - first + 1,
            )
        )
    return found


def next_to_try(found: Sequence[Span], known: Sequence[str]) -> str | None:
    """Return the release in the middle of the gap that contains the most changes."""
    place = {version: number for number, version in enumerate(known)}
    gaps: Counter[tuple[int, int]] = Counter()
    for span in found:
        weight = _HEADLINE_WEIGHT if span.fact.bucket.startswith(_HEADLINES) else 1
        if span.before is not None and not span.first_exact:
            gaps[place[span.before], place[span.first]] += weight
        if span.after is not None and not span.last_exact:
            gaps[place[span.last], place[span.after]] += weight
    if not gaps:
        return None
    low, high = max(gaps, key=lambda gap: (gaps[gap], gap))
    return known[(low + high) // 2]


def spread(known: Sequence[str], count: int) -> list[str]:
    """Return `count` evenly spread releases, including the first and the newest."""
    if count >= len(known):
        return list(known)
    step = (len(known) - 1) / (count - 1)
    return [known[round(number * step)] for number in range(count)]


def _facts(bucket: str, root: Field) -> Iterator[Fact]:
    if bucket in NAME_LISTS:
        yield from (Fact(bucket, "", value) for value in root.values)
        return
    for path, field in paths(root):
        yield Fact(bucket, path)
        if JSON_STRING in field.types:
            yield Fact(bucket, path, "JSON in a string")
        yield from (Fact(bucket, path, value) for value in field.values)
