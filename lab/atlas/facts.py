"""What is true of each release, since which and until which. Pure: snapshots in, spans out."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ccwire.wire.versions import parse_version
from correlate.schema.snapshot.snapshot import JSON_STRING, NAME_LISTS, Field, Snapshot, paths

# Made up by the stand-in, not by the client.
_NOT_THE_CLIENTS = (
    "wire/sse/",
    "wire/delta/",
    "wire/answer/",
    "wire/usage",
    "wire/header/response/",
)
# What readers and proxies rely on: the first release of a change here is looked for first.
_HEADLINES = ("wire/header/request/messages", "wire/request/messages", "transcript/", "hook/")
_HEADLINE_WEIGHT = 4


class Fact(NamedTuple):
    """Something to be seen, or not, in a release: a bucket, a field, a type or value of it."""

    bucket: str
    path: str = ""
    detail: str = ""

    @property
    def parent(self) -> "Fact | None":
        """The fact without which there cannot be this one."""
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
    """From which release to which a fact was seen.

    `before` is the newest release tried in which it was not seen yet, `after` the oldest in which
    it was no more; None: it was there from the first, or is to the last. `exact`: no release that
    was not tried lies between. `steady`: seen in every release tried from first to last.
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
    """All that a release shows of the client's own formats."""
    return frozenset(
        fact
        for bucket, root in snapshot.items()
        if not bucket.startswith(_NOT_THE_CLIENTS)
        for fact in _facts(bucket, root)
    )


def spans(seen: Mapping[str, frozenset[Fact]], known: Sequence[str]) -> list[Span]:
    """Every fact's span; `seen` has the releases that ran, `known` all there are, in order.

    Releases that were tried and would not run are to be left out of `known`.
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
    """The release that tells most: in the middle of the gap in which most changes lie."""
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
    """So many releases, evenly over all of them, the first and the newest among them."""
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
