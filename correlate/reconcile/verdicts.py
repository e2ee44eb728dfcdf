"""The verdicts on calls and turns: what each means, and which leave something unexplained. Pure.

To add a verdict: add its name to `Verdict` and its line to `VERDICTS` here, give it in `judge` with
the evidence that proves it, and name it in the README's table. A new kind of call without a turn
goes into `WireOnlyKind` and is found in `purpose` or `judge`.
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
]

# What a call without a turn was: the kind of a `wire-only` finding.
WireOnlyKind = Literal[
    "auxiliary",
    "compaction",
    "count_tokens",
    "retried",
    "failed",
    "aborted",
    "no-transcript",
    "unknown",
]

# Which thread a turn belongs to: the kind of every other finding.
ThreadKind = Literal["main", "subagent"]

FindingKind = Literal[ThreadKind, WireOnlyKind]

# The client's own word for a call's kind, from its header: a later client may send any.
RequestClass = NewType("RequestClass", str)

# How serious a verdict is; `bad` is what is unexplained.
Tone = Literal["good", "warn", "info", "bad"]

# The client's own sums that a session is held against.
WitnessName = Literal["cost-state", "result"]

# Why a sum of the client's own is not that of the captured calls.
ResidualCause = Literal[
    "none", "disputed-calls", "forked", "calls-left-out", "before-capture", "unknown"
]


@dataclass(frozen=True, slots=True)
class VerdictMeaning:
    """What a verdict means in one sentence, and how it is shown."""

    text: str
    tone: Tone
    mark: str


VERDICTS: Mapping[Verdict, VerdictMeaning] = {
    "match": VerdictMeaning("Every usage field is equal.", "good", "✓"),
    "placeholder": VerdictMeaning(
        "The transcript has the usage that the answer began with, not its final one.", "warn", "≈"
    ),
    "partial": VerdictMeaning(
        "The transcript's output lies between the answer's first and final usage.", "warn", "≈"
    ),
    "differs": VerdictMeaning("The two sides differ, and nothing explains it.", "bad", "✕"),
    "wire-only": VerdictMeaning("A call without a turn in the transcript.", "info", "○"),
    "inherited": VerdictMeaning("A turn copied from another session's transcript.", "info", "◇"),
    "synthetic": VerdictMeaning("A turn that the client wrote without a call.", "info", "◇"),
    "before-capture": VerdictMeaning("A turn from before the capture began.", "info", "◇"),
    "not-captured": VerdictMeaning("A turn whose call should have been captured.", "bad", "✕"),
}

_AGREEING_CAUSES: tuple[ResidualCause, ...] = ("none", "disputed-calls", "forked", "calls-left-out")


def is_explained(verdict: Verdict, kind: FindingKind | RequestClass) -> bool:
    """Whether a finding needs no further look."""
    return VERDICTS[verdict].tone != "bad" and (verdict, kind) != ("wire-only", "unknown")


def tone_of(verdict: Verdict, kind: FindingKind | RequestClass) -> Tone:
    return VERDICTS[verdict].tone if is_explained(verdict, kind) else "bad"


def residual_agrees(cause: ResidualCause) -> bool:
    """Whether the sum is equal to the token once the cause is allowed for."""
    return cause in _AGREEING_CAUSES


def residual_explained(cause: ResidualCause) -> bool:
    return cause != "unknown"
