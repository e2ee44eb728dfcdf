"""Determine the purpose of a call that is not in the transcript. Pure.

Explicit sources come first: the request class header, then the transcript's `querySource`. What a
request claims by its text needs a second piece of evidence if the request has tools, as those of
the conversation do: the tool call that it searches for, the session of the hook that it answers,
or the conversation that it continues; each explains one call. Probes of the quota and warm-ups,
known by the whole request, need none. A purpose derived from the text alone is marked as inferred.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from ccwire.wire.format import Exchange
from ccwire.wire.vocabulary import one_of
from correlate.reconcile.request_facts import RequestFacts
from correlate.reconcile.verdicts import WireOnlyKind
from correlate.transcript.records import ApiRequest
from correlate.transcript.turns import Turn

_SOURCE_SLACK = 2.0  # seconds between an api-request record and its call
_CLOCK_SLACK = 1.0  # between the clocks of a line and of a call
_AGAIN_SECONDS = 2.0  # until a search is repeated without streaming; measured: 0.01
_BOUNDARY_SECONDS = 10.0  # between a summary and its compact_boundary; measured: less than 1
SIDE_KINDS: tuple[WireOnlyKind, ...] = ("auxiliary", "compaction")
HOOK = "a hook"  # how the evidence of a hook's call begins
_MAIN_SOURCES = ("sdk", "repl_main_thread", "agent:")
# A process by its id and the time of its start.
type Process = tuple[int | None, float | None]

# Purposes that a request only claims, and that are proven by texts.
TO_PROVE = ("web search", "hook", "compaction")
# Purposes of requests that continue a conversation with a prompt of the client.
CONTINUING = ("prompt suggestion", "side question")


@dataclass(frozen=True, slots=True)
class Reason:
    """The purpose of a call without a turn, with its evidence."""

    name: WireOnlyKind
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Search:
    """A call of the client's tool for web searches, as the transcript has it."""

    query: str
    started: float
    tool_use_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The evidence around a call: the transcript's, and that of other calls.

    `sources` are the api-request records that no turn refers to, `compacted` the times of the
    compact_boundary records.
    """

    session_id: str
    sources: tuple[ApiRequest, ...] = ()
    searches: tuple[Search, ...] = ()
    compacted: tuple[float, ...] = ()
    turns_offer_tools: bool = False
    calls: tuple[Exchange, ...] = ()
    facts: Mapping[int, RequestFacts]


def searches_in(turns: Iterable[Turn]) -> tuple[Search, ...]:
    return tuple(
        Search(block.query, turn.started, block.tool_use_id)
        for turn in turns
        for block in turn.blocks
        if block.query is not None and turn.started is not None
    )


def purpose_of(call: Exchange, around: Surroundings) -> Reason | None:
    """Return the purpose of a finished call without a turn; None if it is unknown."""
    facts = around.facts.get(call.sequence)
    inferred = f", {facts.purpose} (inferred from the request)" if facts and facts.purpose else ""
    if named := one_of(SIDE_KINDS, call.request_class):
        return Reason(named, (f"request class {named}{inferred}",))
    for source in around.sources:
        name = source.query_source or ""
        is_side = name and not name.startswith(_MAIN_SOURCES)
        if is_side and call.request_class is None and _same_moment(call, source):
            evidence = (f"api-request.querySource {name}{inferred}",)
            return Reason("compaction" if "compact" in name else "auxiliary", evidence)
    return None if facts is None else _claimed(call, facts, around)


def is_of_program(call: Exchange, clients: Container[Process]) -> bool:
    """Whether another program made the call: nothing in it names a client, nor does its process."""
    is_named = call.claude_version or call.request_class or call.agent_id
    if is_named or call.identified_by in ("header", "user_id"):
        return False
    return call.pid is not None and (call.pid, call.process_started) not in clients


def clients_of(calls: Iterable[Exchange]) -> set[Process]:
    """Return the processes whose calls name the client."""
    return {(c.pid, c.process_started) for c in calls if c.claude_version and c.pid is not None}


def _claimed(call: Exchange, facts: RequestFacts, around: Surroundings) -> Reason | None:
    """Return the purpose that the request claims, if there is evidence for it."""
    if facts.purpose == "hook":  # the client's header calls an agent of a hook a subagent
        return None if call.request_class == "main" else _hook(facts, around)
    if call.request_class is not None:
        return None  # the client says that it is part of a conversation
    match facts.purpose:
        case None:
            if facts.tools or not around.turns_offer_tools:
                return None
            return _auxiliary("inferred: the request has no tools, unlike calls with a turn")
        case "web search":
            return _web_search(call, facts, around)
        case "compaction":
            return _compaction(call, facts, around)
        case purpose if purpose in CONTINUING and facts.tools:
            return _continuing(call, facts, around)
        case purpose:
            return _auxiliary(f"inferred from the request: {purpose}")


def _web_search(call: Exchange, facts: RequestFacts, around: Surroundings) -> Reason | None:
    """Each call of the client's tool explains one search, of its query."""
    if facts.recorded:
        return _auxiliary("web search, as recorded when the copy was scrubbed")
    searches = [
        search
        for search in around.searches
        if search.started <= call.started + _CLOCK_SLACK and _asks_for(facts, search.query)
    ]
    before = [
        other
        for other in around.calls
        if not other.broken and other.started < call.started and _is_same(facts, other, around)
    ]
    same = [other for other in before if other.stream == call.stream]
    if call.stream is False and not any(_follows(call, other) for other in before if other.stream):
        same = before
    if len(searches) <= len(same):
        return None
    called = f"the transcript's WebSearch call {searches[len(same)].tool_use_id} has its query"
    return _auxiliary(f"web search: its only tool is the API's own, and {called}")


def _follows(call: Exchange, streamed: Exchange) -> bool:
    """Whether a client that could not read a streamed answer asks again at once, as 2.1.39 does."""
    return 0 <= call.started - (streamed.ended or streamed.started) <= _AGAIN_SECONDS


def _asks_for(facts: RequestFacts, query: str) -> bool:
    """Whether the prompt is the client's own words, up to the only colon in them, and the query."""
    asked, _, searched = (facts.prompt or "").strip().partition(": ")
    return bool(asked) and bool(query.strip()) and searched == query.strip()


def _is_same(facts: RequestFacts, other: Exchange, around: Surroundings) -> bool:
    is_alike = _claims_alike(facts, other, around)
    return is_alike and around.facts[other.sequence].prompt == facts.prompt


def _compaction(call: Exchange, facts: RequestFacts, around: Surroundings) -> Reason | None:
    """A user may ask for a summary in the same words, so that they need a second proof."""
    if facts.recorded:
        return Reason("compaction", ("inferred from the request: compaction",))
    if facts.summarizer or not facts.tools:
        return Reason("compaction", ("inferred from the request: compaction",))
    later = [
        other
        for other in around.calls
        if other.started > call.started and not other.broken and _claims_alike(facts, other, around)
    ]
    for boundary in around.compacted:
        if _precedes(call, boundary) and not any(_precedes(one, boundary) for one in later):
            return Reason("compaction", ("asks for a summary, and a compact_boundary follows",))
    return None


def _precedes(call: Exchange, boundary: float) -> bool:
    ended = call.ended or call.started
    return -_CLOCK_SLACK <= boundary - ended <= _BOUNDARY_SECONDS


def _claims_alike(facts: RequestFacts, other: Exchange, around: Surroundings) -> bool:
    theirs = around.facts.get(other.sequence)
    return theirs is not None and theirs.purpose == facts.purpose


def _hook(facts: RequestFacts, around: Surroundings) -> Reason | None:
    if facts.recorded:
        return _auxiliary(f"{HOOK}, as recorded when the copy was scrubbed")
    if facts.hook is None or facts.hook.session_id != around.session_id:
        return None
    return _auxiliary(
        f"{HOOK}: the request contains the input of this session's {facts.hook.event}"
    )


def _continuing(call: Exchange, facts: RequestFacts, around: Surroundings) -> Reason | None:
    if any(
        other.started < call.started
        and not other.broken
        and _claims_alike(facts, other, around)
        and around.facts[other.sequence].digest == facts.digest
        for other in around.calls
    ):
        return None  # one prompt, one call
    for earlier in around.calls:
        theirs = around.facts.get(earlier.sequence)
        if theirs is not None and earlier.started < call.started and facts.continues(theirs):
            what = f"the conversation of call {earlier.sequence} with its answer and one prompt"
            return _auxiliary(f"{facts.purpose}: {what}, which the transcript lacks")
    return None


def _auxiliary(evidence: str) -> Reason:
    return Reason("auxiliary", (evidence,))


def _same_moment(call: Exchange, source: ApiRequest) -> bool:
    if source.timestamp is None or (source.agent_id or None) != call.agent_id:
        return False
    return abs(call.started - source.timestamp) <= _SOURCE_SLACK
