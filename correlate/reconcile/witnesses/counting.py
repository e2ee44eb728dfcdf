"""What the client adds to its own totals for a call, by the rules of its releases. Pure.

The wire counts what was billed: each iteration, at the rates of the model that ran it. No measured
release does so for every answer (docs/proof.md lists them). All add the top level of a call's
usage, which leaves out compactions, attempts that declined and, in some answers, later iterations.
They differ in four ways:

advisors   releases from 2.1.86 on also add each advisor's iteration, under its own model
fallback   an answer of a fallback model is added under that model if the request asked for
           `fallbacks` (from 2.1.290 on); every other answer is added under the model asked

commands   2.0.22 does not add its side calls about a command of the Bash tool
cut off    releases from 2.1.326 on estimate the output of an answer that was cut off: one token
           for three characters, if that is more than its message_start has

Which rules apply is not guessed: a rule explains a total only if tokens by model and dollars are
then equal.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from ccwire.wire.counting import RawUsage
from ccwire.wire.json_text import text, whole
from ccwire.wire.models import model_key
from ccwire.wire.parts import ADVISOR, COMPACTION, MESSAGE, Part, parts_of
from ccwire.wire.usage import FALLBACK, Tokens, billed_iterations
from correlate.reconcile.prices import price_of_part
from correlate.reconcile.purpose import HOOK
from correlate.reconcile.request_facts import RequestPurpose
from correlate.reconcile.result import Finding
from correlate.reconcile.verdicts import ResidualCause

_ABOUT_COMMANDS: tuple[RequestPurpose, ...] = ("file paths", "permission check")
_CHARACTERS_PER_TOKEN = 3
_MOST_UNCERTAIN = 10  # all their subsets are tried


@dataclass(frozen=True, slots=True)
class ModelSums:
    """Tokens by model, without zeros, and dollars; None if a price is not known.

    A model is named by its key, so that an alias and a dated name are one.
    """

    tokens: Mapping[str, Tokens] = field(default_factory=dict)
    usd: float | None = 0.0

    @property
    def total(self) -> Tokens:
        return sum(self.tokens.values(), Tokens())

    @property
    def key(self) -> frozenset[tuple[str, Tokens]]:
        """Equal for equal tokens."""
        return frozenset(self.tokens.items())

    def __add__(self, other: "ModelSums") -> "ModelSums":
        return self._with(other, 1)

    def __sub__(self, other: "ModelSums") -> "ModelSums":
        return self._with(other, -1)

    def _with(self, other: "ModelSums", sign: int) -> "ModelSums":
        tokens = dict(self.tokens)
        for model, counts in other.tokens.items():
            before = tokens.get(model, Tokens())
            tokens[model] = before + counts if sign > 0 else before - counts
        unknown = self.usd is None or other.usd is None
        usd = None if unknown else (self.usd or 0.0) + sign * (other.usd or 0.0)
        return ModelSums({model: counts for model, counts in tokens.items() if counts}, usd)


def listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def sum_of(sums: Iterable[ModelSums]) -> ModelSums:
    tokens: dict[str, Tokens] = {}
    usd: float | None = 0.0
    for one in sums:
        for model, counts in one.tokens.items():
            tokens[model] = tokens.get(model, Tokens()) + counts
        usd = None if usd is None or one.usd is None else usd + one.usd
    return ModelSums({model: counts for model, counts in tokens.items() if counts}, usd)


@dataclass(frozen=True, slots=True)
class Counting:
    """A way to count calls; `cause` and `evidence` say how it differs from what was billed.

    `disputed` names the calls that are counted by the transcript's usage.
    """

    count: Callable[[Finding], ModelSums]
    cause: ResidualCause = "none"
    evidence: tuple[str, ...] = ()
    disputed: str = ""


def countings(
    calls: Sequence[Finding], cut_texts: Mapping[int, int] | None = None
) -> Iterator[Counting]:
    """Yield the ways to count these calls, as billed first; a way that counts the same is left out.

    A call whose usage the transcript disputes is counted by either. `cut_texts` are the characters
    of answers that were cut off, by sequence number.
    """
    seen: list[list[ModelSums]] = []
    disputed = [finding for finding in calls if finding.verdict == "differs" and finding.call]
    for by_transcript in (False, True) if disputed else (False,):
        billed = _by_usage(billed_sums, by_transcript)
        ways = [
            Counting(billed),
            *_without_commands(calls, billed),
            *_estimating(calls, billed, cut_texts or {}),
        ]
        if any(map(_is_odd, calls)):
            for advisors, served in product((True, False), (True, False)):
                ways.append(_client_way(calls, advisors, served, by_transcript))
        for way in ways:
            counted = [way.count(finding) for finding in calls]
            if counted in seen:
                continue
            seen.append(counted)
            if by_transcript:
                named = ", ".join(str(f.call.sequence) for f in disputed if f.call)
                reason = f"with the transcript's usage for call {named}"
                cause = "disputed-calls" if way.cause == "none" else way.cause
                way = Counting(way.count, cause, way.evidence, reason)
            yield way


def _without_commands(
    calls: Sequence[Finding], billed: Callable[[Finding], ModelSums]
) -> Iterator[Counting]:
    """2.0.22 does not add the side calls about a command: may it run, which files does it name."""
    numbers = frozenset(f.call.sequence for f in calls if f.call and _is_about_command(f))
    if not numbers:
        return

    def count(finding: Finding) -> ModelSums:
        is_left = finding.call is not None and finding.call.sequence in numbers
        return ModelSums() if is_left else billed(finding)

    named = listed(sorted(numbers))
    yield Counting(count, "calls-left-out", (f"without call {named}, a side call about a command",))


def _is_about_command(finding: Finding) -> bool:
    said = " ".join(finding.evidence)
    return finding.kind == "auxiliary" and any(purpose in said for purpose in _ABOUT_COMMANDS)


def _estimating(
    calls: Sequence[Finding], billed: Callable[[Finding], ModelSums], cut_texts: Mapping[int, int]
) -> Iterator[Counting]:
    """From 2.1.326 on, the output of an answer that was cut off is estimated by its text."""
    cut = [f.call.sequence for f in calls if f.call and cut_texts.get(f.call.sequence)]
    if not cut:
        return

    def count(finding: Finding) -> ModelSums:
        call = finding.call
        if call is None or call.sequence not in cut or call.usage_at_start is None:
            return billed(finding)
        output = -(-cut_texts[call.sequence] // _CHARACTERS_PER_TOKEN)
        known = whole(call.usage_at_start.get("output_tokens")) or 0
        usage = {**call.usage_at_start, "output_tokens": max(output, known)}
        return billed_sums(finding, usage)

    estimated = f"estimates the output of call {listed(cut)}, cut off, by the length of its text"
    yield Counting(count, "estimated", (estimated,))


def _is_odd(finding: Finding) -> bool:
    """Whether the client may count a call otherwise than it was billed."""
    for usage in (finding.wire_usage, finding.transcript_usage):
        parts = parts_of(finding.model, finding.served_model, usage)
        undivided = [Part(finding.model, Tokens.of_top_level(usage))]
        if parts and list(parts) != undivided:
            return True
    return False


def billed_sums(finding: Finding, usage: RawUsage | None = None) -> ModelSums:
    """Return what was billed for a call, or what the transcript says of a turn without one.

    `usage` is another one, to be counted in its place.
    """
    if usage is None:
        usage = finding.wire_usage if finding.call else finding.transcript_usage or {}
    return _sums(finding, parts_of(finding.model, finding.served_model, usage), usage)


def _by_usage(
    count: Callable[[Finding, RawUsage | None], ModelSums], by_transcript: bool
) -> Callable[[Finding], ModelSums]:
    def counted(finding: Finding) -> ModelSums:
        is_disputed = by_transcript and finding.verdict == "differs"
        return count(finding, finding.transcript_usage if is_disputed else None)

    return counted


def _client_way(
    calls: Sequence[Finding], advisors: bool, served: bool, by_transcript: bool
) -> Counting:
    def count(finding: Finding, usage: RawUsage | None) -> ModelSums:
        return _client_sums(
            finding, finding.wire_usage if usage is None else usage, advisors, served
        )

    way = _by_usage(count, by_transcript)
    left_out: dict[str, list[int]] = {}
    renamed: list[str] = []
    cheaper: list[int] = []
    for finding in calls:
        call = finding.call
        if call is None:
            continue
        billed, counted = billed_sums(finding), way(finding)
        if billed.key == counted.key:
            if billed.usd != counted.usd:
                cheaper.append(call.sequence)
            continue
        for name in _left_out(finding.wire_parts, finding.wire_usage, advisors):
            left_out.setdefault(name, []).append(call.sequence)
        serving = _answering(finding.wire_parts)
        added = _client_name(finding, finding.wire_usage, served)
        if serving and added and model_key(serving) != model_key(added):
            renamed.append(f"call {call.sequence} under {added}, which was asked, not {serving}")
    evidence = [f"adds {text}" for text in renamed]
    if left_out:
        named = ", ".join(f"the {name} of call {listed(at)}" for name, at in left_out.items())
        evidence.insert(0, f"adds only the top level of a call's usage: without {named}")
    if cheaper:
        evidence.append(f"prices the cache writes of call {listed(cheaper)} without their ages")
    cause: ResidualCause = "iterations-left-out" if left_out else "other-rates"
    if not advisors and "advisor's iteration" in left_out:
        cause = "advisors-left-out"
    elif renamed:
        cause = "asked-model"
    return Counting(way, cause, tuple(evidence))


def _answering(parts: Sequence[Part]) -> str | None:
    """Return the model of the last part that answers."""
    models = [part.model for part in parts if part.type in (MESSAGE, FALLBACK)]
    return models[-1] if models else None


def _client_name(finding: Finding, usage: RawUsage, served: bool) -> str | None:
    """Return the model under which the client adds an answer."""
    names = [text(one.get("model")) for one in _fallbacks(usage)] if served else []
    return names[-1] if names else finding.model


def _fallbacks(usage: RawUsage) -> list[RawUsage]:
    entries = billed_iterations(usage)
    return [one for one in entries if one.get("type") == FALLBACK and text(one.get("model"))]


def _left_out(parts: Sequence[Part], usage: RawUsage, advisors: bool) -> list[str]:
    """Return what the top level of a usage lacks."""
    types = [part.type for part in parts]
    found = []
    if COMPACTION in types:
        found.append("compaction")
    if ADVISOR in types and not advisors:
        found.append("advisor's iteration")
    if FALLBACK in types:
        if MESSAGE in types:
            found.append("attempt that declined")
    else:
        answering = (part.tokens for part in parts if part.type not in (COMPACTION, ADVISOR))
        if sum(answering, Tokens()) != Tokens.of_top_level(usage):
            found.append("later iterations")
    return found


def _client_sums(finding: Finding, usage: RawUsage, advisors: bool, served: bool) -> ModelSums:
    """Return what the client adds for a call: the top level, and perhaps what advisors used."""
    entries = billed_iterations(usage)
    top_level = Tokens.of_top_level(usage)
    fallbacks = _fallbacks(usage) if served else []
    alias = None if _fallbacks(usage) else finding.served_model
    main = Part(_client_name(finding, usage, served), top_level, alias=alias)
    paid = [main]
    if fallbacks:
        is_refused = finding.call is not None and finding.call.stop_reason == "refusal"
        answered = fallbacks[:-1] if is_refused else fallbacks
        priced = [Part(text(one.get("model")), _without_ages(one)) for one in answered]
        requests = Tokens().with_requests_of(top_level)
        paid = [*priced, Part(text(fallbacks[0].get("model")), requests)]
    counted = ModelSums(_sums(finding, [main], usage).tokens, _sums(finding, paid, usage).usd)
    if not advisors:
        return counted
    asked = [
        Part(text(one.get("model")), Tokens.of_top_level(one), ADVISOR)
        for one in entries
        if one.get("type") == ADVISOR
    ]
    return counted + _sums(finding, asked, usage)


def _without_ages(iteration: RawUsage) -> Tokens:
    """The client prices a fallback's cache writes without their ages."""
    return Tokens.of_top_level({k: v for k, v in iteration.items() if k != "cache_creation"})


def _sums(finding: Finding, parts: Iterable[Part], usage: RawUsage) -> ModelSums:
    """Sum up parts by model; in dollars by Anthropic's list, which the client always uses."""
    tokens: dict[str, Tokens] = {}
    usd: float | None = 0.0
    for part in parts:
        if not part.tokens:
            continue
        name = model_key(part.model or "unknown")
        tokens[name] = tokens.get(name, Tokens()) + part.tokens
        found = price_of_part(part, usage, finding.at, finding.provider)
        paid = found.anthropic_usd if found else None
        usd = None if usd is None or paid is None else usd + paid
    return ModelSums(tokens, usd)


def uncertain_calls(calls: Sequence[Finding]) -> dict[int, str]:
    """Return the calls that the client may not count, by sequence number, with the reason.

    It depends on the release for calls that were cut off, retried without streaming, or not
    streamed at all; Bedrock's models are probed without streaming, and these calls are never
    counted. Of an agent's answer to a hook the client reads no more than the tool call by which the
    agent reports: whether it has seen the usage by then is a matter of milliseconds.
    """
    found: dict[int, str] = {}
    unstreamed: dict[tuple[int | None, str | None], float] = {}  # when the last one started
    for finding in calls:
        if finding.call and finding.call.stream is False:
            thread = (finding.call.messages, finding.agent_id)
            unstreamed[thread] = max(finding.call.started, unstreamed.get(thread, 0.0))
    for finding in calls:
        call = finding.call
        if call is None or call.kind != "messages" or not finding.wire_tokens:
            continue
        is_repeated = unstreamed.get((call.messages, finding.agent_id), 0.0) > call.started
        if call.stream is False or is_repeated or not call.complete:
            found[call.sequence] = "cut off or not streamed"
        elif _reports_to_hook(finding):
            found[call.sequence] = "by which an agent reported to a hook"
    return dict(list(found.items())[-_MOST_UNCERTAIN:])


def without(numbers: Sequence[int], reasons: Mapping[int, str]) -> str:
    """Describe the calls that were left out, by their reasons; empty if there are none."""
    by_reason: dict[str, list[int]] = {}
    for number in numbers:
        by_reason.setdefault(reasons[number], []).append(number)
    named = (f"call {listed(found)}, {reason}" for reason, found in by_reason.items())
    return f"without {'; '.join(named)}" if numbers else ""


def _reports_to_hook(finding: Finding) -> bool:
    is_hook = finding.kind == "auxiliary" and any(e.startswith(HOOK) for e in finding.evidence)
    return is_hook and finding.call is not None and finding.call.stop_reason == "tool_use"


def by_key(models: Mapping[str, Tokens]) -> dict[str, Tokens]:
    found: dict[str, Tokens] = {}
    for model, tokens in models.items():
        name = model_key(model)
        found[name] = found.get(name, Tokens()) + tokens
    return {name: tokens for name, tokens in found.items() if tokens}


def usd_by_model(findings: Iterable[Finding], way: Counting) -> dict[str, float | None]:
    """Return the dollars by the key of the model; None if they are not known for each model."""
    found: dict[str, float | None] = {}
    for finding in findings:
        sums = way.count(finding)
        dollars: Mapping[str, float | None] = dict.fromkeys(sums.tokens, sums.usd)
        if len(sums.tokens) > 1:
            billed = _usd_of_parts(finding)
            is_billed = sums == billed_sums(finding)
            dollars = billed if is_billed else dict.fromkeys(sums.tokens)
        for name, usd in dollars.items():
            before = found.get(name, 0.0)
            found[name] = None if before is None or usd is None else before + usd
    return found


def _usd_of_parts(finding: Finding) -> dict[str, float | None]:
    usage = finding.wire_usage if finding.call else finding.transcript_usage or {}
    found: dict[str, float | None] = {}
    for part in finding.wire_parts if finding.call else finding.transcript_parts:
        name = model_key(part.model or "unknown")
        usd = _sums(finding, [part], usage).usd
        before = found.get(name, 0.0)
        found[name] = None if before is None or usd is None else before + usd
    return found
