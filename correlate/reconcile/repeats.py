"""Find the calls that ask the same as another one: retries of a failed call. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from ccwire.wire.format import Exchange
from correlate.reconcile.request_facts import RequestFacts


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


def may_repeat(earlier: Exchange, later: Exchange) -> bool:
    """Whether two request files are worth comparing, as a cheap test."""
    return (
        later.kind == earlier.kind
        and later.agent_id == earlier.agent_id
        and later.sequence != earlier.sequence
        and later.started >= earlier.started
        and later.messages == earlier.messages
    )


class Alike:
    """An index of calls by request, to find calls with the same request."""

    def __init__(self, calls: Iterable[Exchange], facts: Mapping[int, RequestFacts]) -> None:
        self._facts = facts
        self._groups: dict[object, list[Exchange]] = {}
        for call in sorted(calls, key=lambda call: call.started):
            for key in self._keys(call):
                self._groups.setdefault(key, []).append(call)

    def retry_of(self, call: Exchange) -> tuple[Exchange, str] | None:
        """Return the first call that repeats this one, and why it does."""
        for later in self._to(call):
            if reason := repeats(call, later, self._facts):
                return later, reason
        return None

    def _to(self, call: Exchange) -> list[Exchange]:
        found = {c.sequence: c for key in self._keys(call) for c in self._groups.get(key, ())}
        return sorted(found.values(), key=lambda call: call.started)

    def _keys(self, call: Exchange) -> Iterator[object]:
        if call.request_sha256:
            yield "sha256", call.request_sha256
        if facts := self._facts.get(call.sequence):
            yield "digest", facts.digest
