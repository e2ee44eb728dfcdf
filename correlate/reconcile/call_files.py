"""Read the files of the calls that need an explanation: those without a turn, and calls like them.

All other calls are judged by their lines in the index alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ccwire.wire.format import Exchange
from ccwire.wire.json_text import as_dict, dicts, text
from ccwire.wire.pack.files import PackDamaged
from ccwire.wire.usage import output_of
from correlate.captures.content import CaptureFiles, answer_blocks, body_of
from correlate.reconcile.match import Joined, Pair
from correlate.reconcile.purpose import CONTINUING
from correlate.reconcile.repeats import may_repeat
from correlate.reconcile.request_facts import RequestFacts, facts_of

_MOST_EARLIER = 4  # conversations that a request is compared with


@dataclass(frozen=True, slots=True)
class CallFiles:
    """By sequence: what requests say, whole answers without content, and damaged files.

    `cut_texts` is the number of characters of each answer that was cut off, `sent_outputs` the
    output counts of the events of an answer that the transcript has with another count.
    """

    facts: Mapping[int, RequestFacts]
    empty_answers: frozenset[int]
    cut_texts: Mapping[int, int]
    sent_outputs: Mapping[int, frozenset[int]]
    damaged: tuple[int, ...]


def read_call_files(folder: Path, calls: Sequence[Exchange], joined: Joined) -> CallFiles:
    """Read the request files of calls without a turn, and of calls that may be like them."""
    reader = _Reader(CaptureFiles(folder))
    alone = [call for call in joined.calls_alone if call.kind == "messages"]
    reader.read(call.sequence for call in alone)
    reader.read(call.sequence for call in _possible_retries(alone, calls))
    reader.read(call.sequence for call in _conversations(alone, calls, reader.facts))
    empty = frozenset(call.sequence for call in alone if not call.broken and reader.is_empty(call))
    cut = [call for call in calls if call.usage_at_start and not call.complete]
    cut_texts = {call.sequence: reader.characters(call) for call in cut}
    sent = {p.call.sequence: reader.outputs(p.call) for p in joined.pairs if _may_be_partial(p)}
    return CallFiles(reader.facts, empty, cut_texts, sent, tuple(sorted(reader.damaged)))


@dataclass(slots=True)
class _Reader:
    """Reads each file once. Missing files are skipped."""

    files: CaptureFiles
    facts: dict[int, RequestFacts] = field(default_factory=dict)
    damaged: set[int] = field(default_factory=set)

    def read(self, sequences: Iterable[int]) -> None:
        for sequence in sorted(set(sequences) - self.facts.keys() - self.damaged):
            request = self._file(sequence, is_request=True)
            if request is not None and isinstance(body := body_of(request), dict):
                self.facts[sequence] = facts_of(body, request.get("purpose"))

    def is_empty(self, call: Exchange) -> bool:
        """Whether the answer has no content block, so that the client has nothing to write."""
        if call.stop_reason == "tool_use":
            return False
        response = self._file(call.sequence, is_request=False)
        return response is not None and as_dict(response.get("message")).get("content") == []

    def characters(self, call: Exchange) -> int:
        """Return the length of the text that was received."""
        response = self._file(call.sequence, is_request=False)
        blocks = (answer_blocks(response) if response is not None else None) or []
        return sum(len(text(block.get("text")) or "") for block in blocks)

    def outputs(self, call: Exchange) -> frozenset[int]:
        """Return the output counts that the events of an answer had."""
        response = self._file(call.sequence, is_request=False)
        events = dicts(as_dict((response or {}).get("body")).get("events"))
        usages = (as_dict(as_dict(event.get("data")).get("usage")) for event in events)
        return frozenset(n for usage in usages if (n := output_of(usage)) is not None)

    def _file(self, sequence: int, *, is_request: bool) -> Mapping[str, Any] | None:
        read = self.files.request if is_request else self.files.response
        try:
            return read(sequence)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, PackDamaged):
            self.damaged.add(sequence)
            return None


def _may_be_partial(pair: Pair) -> bool:
    written = output_of(pair.turn.usage)
    return pair.turn.stop_reason is None and written not in (
        output_of(pair.call.usage_at_start),
        output_of(pair.call.usage),
    )


def _possible_retries(alone: Sequence[Exchange], calls: Sequence[Exchange]) -> Iterable[Exchange]:
    """Yield the calls whose requests may repeat one that has no answer in the transcript."""
    as_long: dict[int | None, list[Exchange]] = {}
    for call in calls:
        as_long.setdefault(call.messages, []).append(call)
    for first in alone:
        if not first.broken and first.usage_at_start is not None:
            continue
        candidates = [c for c in as_long.get(first.messages, ()) if may_repeat(first, c)]
        if not any(c.request_sha256 == first.request_sha256 for c in candidates):
            yield from candidates


def _conversations(
    alone: Sequence[Exchange], calls: Sequence[Exchange], facts: Mapping[int, RequestFacts]
) -> Iterable[Exchange]:
    """Yield the calls whose conversation a side call may continue: the last shorter ones."""
    for call in alone:
        claimed = facts.get(call.sequence)
        if claimed is None or claimed.purpose not in CONTINUING:
            continue
        shorter = [
            other
            for other in calls
            if other.kind == "messages"
            and other.started < call.started
            and (other.messages or 0) < (call.messages or 0)
        ]
        yield from sorted(shorter, key=lambda other: other.started)[-_MOST_EARLIER:]
