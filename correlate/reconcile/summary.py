"""Summary figures of a session: turns, tools, files, context, cache. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ccwire.wire.usage import Tokens, thinking_of
from correlate.reconcile.result import Finding, Reconciliation
from correlate.transcript.records import ContentBlock

_WRITING = ("Edit", "MultiEdit", "NotebookEdit", "Write")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """`context_last` and `context_peak` are prompt tokens of the main thread, cached or not.

    Compactions are counted by their records, not derived from cache reads.
    """

    turns: int
    seconds: float
    tool_calls: Mapping[str, int]
    files_written: tuple[str, ...]
    agents: int
    compactions: int
    context_last: int
    context_peak: int
    cache_share: float | None  # share of prompt tokens read from the cache
    thinking_tokens: int | None  # of the output; None where the API does not count them apart
    thinking_is_lower_bound: bool  # an answer's usage is that of its start, or missing


def summarize(session: Reconciliation) -> Summary:
    own = [finding for finding in session.findings if finding.verdict != "inherited"]
    turns = [finding.turn for finding in own if finding.turn and not finding.turn.synthetic]
    used = [*(block for turn in turns for block in turn.blocks), *_own_lines(session)]
    blocks = [block for block in used if block.tool]
    written = (b.file_path for b in blocks if b.tool in _WRITING and b.file_path)
    times = [moment for finding in own for moment in _moments(finding)]
    contexts = [_tokens(finding).context for finding in _main_thread(own)]
    prompts = sum((_tokens(finding) for finding in own), Tokens())
    return Summary(
        turns=len(turns),
        seconds=max(times) - min(times) if times else 0.0,
        tool_calls=dict(Counter(block.tool or "" for block in blocks).most_common()),
        files_written=tuple(dict.fromkeys(written)),
        agents=len({finding.agent_id for finding in own if finding.agent_id}),
        compactions=len(session.compacted_at),
        context_last=contexts[-1] if contexts else 0,
        context_peak=max(contexts, default=0),
        cache_share=prompts.cache_share,
        thinking_tokens=_thinking(own),
        thinking_is_lower_bound=any(map(_is_short, own)),
    )


def _own_lines(session: Reconciliation) -> list[ContentBlock]:
    """Return the tool calls with lines of their own, as other tools write them."""
    return [line.block for line in session.tool_lines]


def _thinking(findings: list[Finding]) -> int | None:
    usages = (finding.wire_usage or finding.transcript_usage for finding in findings)
    counted = [count for usage in usages if (count := thinking_of(usage)) is not None]
    return sum(counted) if counted else None


def _is_short(finding: Finding) -> bool:
    """Whether the output of a call or a turn may have been more than is known of it."""
    if finding.call is not None and finding.wire_usage:
        return not finding.call.usage
    return finding.turn is not None and not finding.turn.synthetic and finding.finality != "exact"


def _main_thread(findings: list[Finding]) -> list[Finding]:
    answered = [f for f in findings if f.turn and not f.agent_id and _tokens(f)]
    return sorted(answered, key=lambda finding: finding.at or 0.0)


def _tokens(finding: Finding) -> Tokens:
    return finding.wire_tokens or finding.transcript_tokens


def _moments(finding: Finding) -> list[float]:
    call, turn = finding.call, finding.turn
    times = [call.started, call.ended] if call else []
    times += [turn.started, turn.ended] if turn else []
    return [moment for moment in times if moment is not None]
