"""The verdicts on calls and turns: their meanings, and which are unexplained. Pure.

To add a verdict, add its name to `Verdict` and its line to `VERDICTS` here, return it from `judge`
with its evidence, and add it to the README's table. A new kind of call without a turn is added to
`WireOnlyKind` and returned from `purpose` or `judge`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NewType

Verdict = Literal[
    "match",
    "placeholder",
    "partial",
    "differs",
    "wire-only",
    "inherited",
    "synthetic",
    "before-capture",
    "not-captured",
    "uncaptured",
]

# The kind of a `wire-only` finding: why the call has no turn.
WireOnlyKind = Literal[
    "auxiliary",
    "compaction",
    "count_tokens",
    "retried",
    "failed",
    "aborted",
    "not-an-answer",
    "discarded",
    "other-program",
    "no-transcript",
    "unknown",
]

# The kind of every other finding: the thread that the turn belongs to.
ThreadKind = Literal["main", "subagent"]

FindingKind = Literal[ThreadKind, WireOnlyKind]

# The client's own name for a call's kind, from its header; later clients may send new names.
RequestClass = NewType("RequestClass", str)

# How serious a verdict is; `bad` means unexplained.
Tone = Literal["good", "warn", "info", "bad"]

# What a session is compared with: the client's own totals, and Bedrock's own counts.
WitnessName = Literal["cost-state", "result", "invocation-metrics"]

# Why a total of the client differs from that of the captured calls: a rule by which the client
# counts, each proven by an exact equality. `dollars-unknown`: the tokens are equal, and dollars
# cannot be compared; `dollars`: the tokens are equal, the dollars are not.
ResidualCause = Literal[
    "none",
    "disputed-calls",
    "forked",
    "calls-left-out",
    "iterations-left-out",
    "advisors-left-out",
    "asked-model",
    "estimated",
    "starts-added",
    "restarted",
    "written-earlier",
    "one-run",
    "other-rates",
    "before-capture",
    "uncaptured",
    "dollars-unknown",
    "dollars",
    "unknown",
]


@dataclass(frozen=True, slots=True)
class VerdictMeaning:
    """The meaning of a verdict in one sentence, and how it is displayed."""

    text: str
    tone: Tone
    mark: str


VERDICTS: Mapping[Verdict, VerdictMeaning] = {
    "match": VerdictMeaning("Every usage field is equal.", "good", "✓"),
    "placeholder": VerdictMeaning(
        "The transcript has the usage from the start of the answer, not the final one.",
        "warn",
        "≈",
    ),
    "partial": VerdictMeaning(
        "The transcript has an output that was sent between the first and final usage.",
        "warn",
        "≈",
    ),
    "differs": VerdictMeaning("Wire and transcript differ without an explanation.", "bad", "✕"),
    "wire-only": VerdictMeaning("A call without a turn in the transcript.", "info", "○"),
    "inherited": VerdictMeaning("A turn copied from another session's transcript.", "info", "◇"),
    "synthetic": VerdictMeaning("A turn that the client wrote without a call.", "info", "◇"),
    "before-capture": VerdictMeaning("A turn from before the capture began.", "info", "◇"),
    "not-captured": VerdictMeaning("A turn whose call should have been captured.", "bad", "✕"),
    "uncaptured": VerdictMeaning("A turn of a session without any capture.", "info", "◇"),
}

_AGREEING_CAUSES: tuple[ResidualCause, ...] = ("none", "disputed-calls", "forked", "calls-left-out")


def is_explained(verdict: Verdict, kind: FindingKind | RequestClass) -> bool:
    """Whether a finding is explained."""
    return VERDICTS[verdict].tone != "bad" and (verdict, kind) != ("wire-only", "unknown")


def tone_of(verdict: Verdict, kind: FindingKind | RequestClass) -> Tone:
    return VERDICTS[verdict].tone if is_explained(verdict, kind) else "bad"


def residual_agrees(cause: ResidualCause) -> bool:
    """Whether the totals are exactly equal once the cause is taken into account."""
    return cause in _AGREEING_CAUSES


def residual_explained(cause: ResidualCause) -> bool:
    return cause not in ("dollars", "unknown")


# What a transcript cannot show if no call of its session was captured.
UNCAPTURED = (
    "No call of this session was captured: the transcript's own usage is shown; side calls, "
    "retries and the final output of unfinished lines are not in it."
)
