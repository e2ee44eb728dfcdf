"""The records of a reconciliation: one finding per call and per turn without a call."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ccwire.wire.counting import RawUsage
from ccwire.wire.endpoints import endpoint_of
from ccwire.wire.format import Exchange
from ccwire.wire.parts import Part, parts_of
from ccwire.wire.usage import Tokens
from ccwire.wire.vocabulary import Provider
from correlate.reconcile.verdicts import (
    FindingKind,
    RequestClass,
    ResidualCause,
    Tone,
    Verdict,
    WitnessName,
    is_explained,
    residual_agrees,
    residual_explained,
    tone_of,
)
from correlate.schema.flaws import Flaw
from correlate.transcript.agents import Agent
from correlate.transcript.finality import Finality, finality_of
from correlate.transcript.records import ToolUseLine
from correlate.transcript.turns import Turn

NOT_BILLED = ("count_tokens",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The verdict on one call, one turn, or both, with its evidence.

    The verdicts are listed in the README. A wire-only call's `kind` is its cause; the verdict of a
    turn without a call is its cause.
    """

    verdict: Verdict
    kind: FindingKind | RequestClass
    evidence: tuple[str, ...]
    call: Exchange | None = None
    turn: Turn | None = None
    flaws: tuple[Flaw, ...] = ()  # of the release that wrote the turn; given if uncaptured

    @property
    def explained(self) -> bool:
        return is_explained(self.verdict, self.kind)

    @property
    def tone(self) -> Tone:
        return tone_of(self.verdict, self.kind)

    @property
    def agent_id(self) -> str | None:
        named = self.call.agent_id if self.call else None
        return named or (self.turn.agent_id if self.turn else None)

    @property
    def model(self) -> str | None:
        named = self.call.model if self.call else None
        return named or (self.turn.model if self.turn else None)

    @property
    def served_model(self) -> str | None:
        """The model that the answer names; older captures do not record it, the turn does."""
        named = self.call.served_model if self.call else None
        written = self.turn.model if self.turn and not self.turn.synthetic else None
        return named or written

    @property
    def provider(self) -> Provider:
        """Whose API served the call; a turn alone does not name it."""
        return endpoint_of(self.call.host, self.call.path).provider if self.call else "anthropic"

    @property
    def at(self) -> float | None:
        if self.call is not None:
            return self.call.started
        return self.turn.started if self.turn is not None else None

    @property
    def is_other_program(self) -> bool:
        """Whether another program than the client made the call."""
        return (self.verdict, self.kind) == ("wire-only", "other-program")

    @property
    def wire_usage(self) -> RawUsage:
        """The usage on the wire; an answer that was cut off has only its initial usage."""
        if self.call is None or self.call.kind in NOT_BILLED:
            return {}
        return self.call.usage or self.call.usage_at_start or {}

    @property
    def finality(self) -> Finality:
        """How far the transcript's usage is to be trusted."""
        turn = self.turn
        return finality_of(turn.usage, turn.stop_reason) if turn is not None else "unknown"

    @property
    def transcript_usage(self) -> RawUsage | None:
        return self.turn.usage if self.turn is not None else None

    @property
    def wire_parts(self) -> tuple[Part, ...]:
        """What was billed for the call, by the model that served it."""
        return parts_of(self.model, self.served_model, self.wire_usage)

    @property
    def transcript_parts(self) -> tuple[Part, ...]:
        """The same by the session's transcript; an inherited turn belongs to another session."""
        if self.verdict == "inherited":
            return ()
        return parts_of(self.model, self.served_model, self.transcript_usage)

    @property
    def wire_tokens(self) -> Tokens:
        return Tokens.of(self.wire_usage)

    @property
    def transcript_tokens(self) -> Tokens:
        """The tokens in the session's transcript; an inherited turn belongs to another session."""
        return Tokens() if self.verdict == "inherited" else Tokens.of(self.transcript_usage)


@dataclass(frozen=True, slots=True)
class Origin:
    """The session that a turn without a call was copied from."""

    session_id: str
    evidence: str
    captured: bool = False  # the call is in that session's capture, so no date is needed


@dataclass(frozen=True, slots=True)
class Witness:
    """The client's total (cost-state, or the result of `-p`) compared with the wire.

    `residual` is the client's total less the wire's, `residual_by_model` the same by model, without
    models that do not differ. `usd_residual` is None if a price is not known. `tokens` is None, and
    `residual` empty, if the total has dollars alone.
    """

    name: WitnessName
    tokens: Mapping[str, Tokens] | None
    usd: float | None
    residual: Tokens
    cause: ResidualCause
    evidence: tuple[str, ...]
    residual_by_model: Mapping[str, Tokens] = field(default_factory=dict)
    usd_residual: float | None = None
    tells_ages: bool = True  # whether 5 m and 1 h cache writes are separate

    @property
    def agrees(self) -> bool:
        return residual_agrees(self.cause)

    @property
    def explained(self) -> bool:
        return residual_explained(self.cause)

    @property
    def total(self) -> Tokens | None:
        return None if self.tokens is None else sum(self.tokens.values(), Tokens())


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """The findings of one session, call by call."""

    session_id: str
    claude_versions: tuple[str, ...]
    calls: tuple[Finding, ...]
    turns_without_call: tuple[Finding, ...]
    witnesses: tuple[Witness, ...] = ()
    agents: Mapping[str, str | None] = field(default_factory=dict)  # id -> type
    agent_details: tuple[Agent, ...] = ()
    records: Mapping[str, int] = field(default_factory=dict)  # transcript lines by type
    notes: tuple[str, ...] = ()
    bad_lines: tuple[str, ...] = ()
    compacted_at: tuple[float, ...] = ()
    tool_lines: tuple[ToolUseLine, ...] = ()  # tool calls outside of turns
    is_captured: bool = True  # False: nothing but a transcript is known of the session

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (*self.calls, *self.turns_without_call)

    @property
    def unexplained(self) -> int:
        findings = sum(not finding.explained for finding in self.findings)
        return findings + sum(not witness.explained for witness in self.witnesses)

    def witness(self, name: WitnessName) -> Witness | None:
        return next((witness for witness in self.witnesses if witness.name == name), None)


def counted(findings: tuple[Finding, ...]) -> dict[str, int]:
    """Return the number of findings per verdict; wire-only calls are counted by kind."""
    counts: dict[str, int] = {}
    for finding in findings:
        name = label(finding)
        counts[name] = counts.get(name, 0) + 1
    return counts


def label(finding: Finding) -> str:
    if finding.verdict == "wire-only":
        return f"wire-only: {finding.kind}"
    return finding.verdict


def known_flaws(session: Reconciliation) -> dict[str, tuple[Flaw, ...]]:
    """Return what the releases that wrote uncaptured turns are known to get wrong."""
    return {
        finding.turn.version or "an unknown release": finding.flaws
        for finding in session.turns_without_call
        if finding.turn and finding.verdict == "uncaptured"
    }
