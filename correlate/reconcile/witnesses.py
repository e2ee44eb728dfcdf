"""Compare the wire with what others counted. Pure.

The client's totals (cost-state, and the result that `-p` prints) count every call of a session,
including side calls that are not in the transcript. Bedrock's invocation metrics count each call.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ccwire.wire.format import Exchange
from ccwire.wire.json_text import number, whole
from ccwire.wire.models import base_model
from ccwire.wire.stream.message import BEDROCK_COUNTS
from ccwire.wire.usage import TOKEN_CLASSES, TOKEN_GROUPS, Tokens
from correlate.reconcile.result import Finding, Witness
from correlate.reconcile.verdicts import ResidualCause, WitnessName
from correlate.transcript.records import CostState

_MOST_TRIES = 10  # all their subsets are tried
_MOST_NAMED = 5  # differences in one sentence


@dataclass(frozen=True, slots=True)
class ClientTotals:
    """A total reported by the client: tokens by model, and dollars."""

    name: WitnessName
    tokens: Mapping[str, Tokens]
    usd: float | None
    tells_ages: bool = True  # whether 5 m and 1 h cache writes are separate

    @property
    def total(self) -> Tokens:
        return sum(self.tokens.values(), Tokens())


def cost_state_totals(state: CostState) -> ClientTotals:
    usage = state.model_usage
    return ClientTotals("cost-state", _by_model(usage), state.total_usd, _tells_ages(usage))


def result_totals(result: Mapping[str, Any]) -> ClientTotals | None:
    """Return the totals in the output of `claude -p --output-format json`.

    None for older clients, which do not print `modelUsage`.
    """
    usage = result.get("modelUsage")
    usd = number(result.get("total_cost_usd"))
    if usd is None:
        usd = number(result.get("cost_usd"))
    if not isinstance(usage, dict):
        return None
    used = {model: counts for model, counts in usage.items() if isinstance(counts, dict)}
    return ClientTotals("result", _by_model(used), usd, _tells_ages(used))


def result_in(printed: Any) -> Mapping[str, Any] | None:
    """Return the last result in the output of `-p`: an object, an array, or stream-json lines."""
    if isinstance(printed, Mapping):
        return printed if printed.get("type") == "result" else None
    found = [result_in(item) for item in printed] if isinstance(printed, list) else []
    return next((result for result in reversed(found) if result is not None), None)


def hold_against(
    account: ClientTotals,
    calls: Sequence[Finding],
    turns: Sequence[Finding],
    bases: Iterable[Tokens],
    *,
    earlier_unseen: bool,
) -> Witness:
    """Compare the client's totals with the wire.

    `bases`: totals the session may have started with, from the session it was forked from.
    `earlier_unseen`: the capture started mid-session, so side calls may be missing from it.
    """
    calls = [finding for finding in calls if finding.kind != "program"]  # not the client's own
    wire = sum((finding.wire_tokens for finding in calls), Tokens())
    uncaptured = [f for f in turns if f.verdict in ("before-capture", "not-captured")]
    off_wire = sum((finding.transcript_tokens for finding in uncaptured), Tokens())
    residual = account.total - _as_counted(wire + off_wire, account)
    disputed = [f for f in calls if f.verdict == "differs"]
    claims = (f.transcript_tokens - f.wire_tokens for f in disputed)
    if disputed and residual and residual == _as_counted(sum(claims, Tokens()), account):
        named = ", ".join(str(f.call.sequence) for f in disputed if f.call)
        reason = f"equals the wire with the transcript's usage for call {named}"
        return _witness(account, residual, "disputed-calls", reason)
    counted = [(f.call.sequence, f.wire_tokens) for f in _tries(calls) if f.call]
    tries = [(sequence, _as_counted(tokens, account)) for sequence, tokens in counted]
    cause, reason = _explain(residual, tries, bases, earlier_unseen)
    added = [f"including {len(uncaptured)} turns that were not captured"] if off_wire else []
    return _witness(account, residual, cause, reason, *added)


def metrics_witness(calls: Sequence[Finding]) -> Witness | None:
    """Compare Bedrock's own counts with the usage in its answers, call by call; None without any.

    A count that the metrics lack is not compared.
    """
    tokens: dict[str, Tokens] = {}
    residual = Tokens()
    compared = 0
    differing: list[str] = []
    for finding in calls:
        call = finding.call
        counts = _metrics(call) if call and call.usage is not None else {}
        if not call or not call.usage or not counts:
            continue
        compared += 1
        model = base_model(call.model or "unknown")
        usage = {name: whole(call.usage.get(name)) or 0 for name in counts}
        tokens[model] = tokens.get(model, Tokens()) + Tokens.of(counts)
        residual += Tokens.of(counts) - Tokens.of(usage)
        for name, count in counts.items():
            if count != usage[name]:
                place = f"call {call.sequence}: {name}"
                differing.append(
                    f"{place} is {usage[name]:,} in the answer, {count:,} in its metrics"
                )
    if not compared:
        return None
    evidence = differing[:_MOST_NAMED]
    if len(differing) > _MOST_NAMED:
        evidence.append(f"and {len(differing) - _MOST_NAMED} more differences")
    cause: ResidualCause = "unknown" if differing else "none"
    agreed = f"Bedrock's own counts equal the usage of {compared} calls"
    return Witness(
        "invocation-metrics", tokens, None, residual, cause, tuple(evidence) or (agreed,)
    )


def _metrics(call: Exchange) -> dict[str, int]:
    """Return Bedrock's counts of a call under the API's names."""
    metrics = call.invocation_metrics or {}
    found = {name: whole(metrics.get(metric)) for metric, _, name in BEDROCK_COUNTS}
    return {name: count for name, count in found.items() if count is not None}


def _witness(
    account: ClientTotals, residual: Tokens, cause: ResidualCause, *evidence: str
) -> Witness:
    return Witness(account.name, account.tokens, account.usd, residual, cause, evidence)


def _tries(calls: Sequence[Finding]) -> list[Finding]:
    """Return the calls that were cut off, retried without streaming, or not streamed at all.

    Which of these the client counts depends on its release. Its probes of Bedrock's models are not
    streamed, and it never counts them.
    """
    found = []
    for finding in calls:
        call = finding.call
        if call is None or call.kind != "messages" or not finding.wire_tokens:
            continue
        again = call.stream is False or any(
            other.call
            and other.call.stream is False
            and other.call.started > call.started
            and other.call.messages == call.messages
            and other.agent_id == finding.agent_id
            for other in calls
        )
        if again or not call.complete:
            found.append(finding)
    return found[-_MOST_TRIES:]


def _explain(
    residual: Tokens,
    tries: Sequence[tuple[int, Tokens]],
    bases: Iterable[Tokens],
    earlier_unseen: bool,
) -> tuple[ResidualCause, str]:
    """Return the cause and its evidence; only an exact match explains a difference."""
    if not residual:
        return "none", "equals the wire exactly"
    for base in (Tokens(), *bases):
        forked = " plus the totals inherited from the forked session" if base else ""
        if (left_out := _left_out(base - residual, tries)) is None:
            continue
        if not left_out:
            return "forked", f"equals the wire{forked}"
        named = ", ".join(map(str, left_out))
        reason = f"equals the wire{forked} without call {named}, cut off or not streamed"
        return "calls-left-out", reason
    if earlier_unseen and _none_negative(residual):
        return "before-capture", "exceeds the wire: it includes calls from before the capture"
    return "unknown", f"differs from the wire by {_counts(residual)}; cause unknown"


def _left_out(missing: Tokens, tries: Sequence[tuple[int, Tokens]]) -> tuple[int, ...] | None:
    """Return the attempts that add up to the missing tokens; None if none do."""
    for size in range(len(tries) + 1):
        for chosen in combinations(tries, size):
            if sum((tokens for _, tokens in chosen), Tokens()) == missing:
                return tuple(sequence for sequence, _ in chosen)
    return None


def _none_negative(tokens: Tokens) -> bool:
    return all(tokens.of_group(group) >= 0 for group in TOKEN_GROUPS)


def _counts(tokens: Tokens) -> str:
    return ", ".join(f"{count:+} {c.name}" for c, count in tokens.by_class() if count)


def _as_counted(tokens: Tokens, account: ClientTotals) -> Tokens:
    """As the client counts: what it only sums is under the first class of the group."""
    counts = dict.fromkeys((c.name for c in TOKEN_CLASSES), 0)
    for token_class, count in tokens.by_class():
        group = token_class.group
        if group.client:
            is_apart = token_class.client and account.tells_ages
            counts[token_class.name if is_apart else group.members[0]] += count
    return Tokens(**counts)


def _tells_ages(models: Mapping[str, Mapping[str, Any]]) -> bool:
    names = [c.client for c in TOKEN_CLASSES if c.name != c.group.members[0]]
    return any(name in used for name in names for used in models.values())


def _by_model(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Tokens]:
    found: dict[str, Tokens] = {}
    for model, used in models.items():
        name = base_model(model)
        found[name] = found.get(name, Tokens()) + Tokens.of_client(used)
    return found
