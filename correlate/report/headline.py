"""The verdict on a session in one sentence, from the output of `ccwire reconcile --json`. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ccwire.wire.counting import Kind, value_at
from ccwire.wire.usage import TOKEN_GROUPS
from correlate.reconcile.verdicts import UNCAPTURED, Tone


@dataclass(frozen=True, slots=True)
class Headline:
    """`tone`: good, no difference; warn, the transcript differs but is explained; bad."""

    sentence: str
    tone: Tone


def headline_of(session: Mapping[str, Any]) -> Headline:
    calls = len(session["calls"])
    if not session.get("is_captured", True):
        return Headline(UNCAPTURED, "warn")
    if not calls:
        return Headline("No call of this session was captured.", "bad")
    explained = sum(call["explained"] for call in session["calls"])
    left = session["unexplained"]
    against, agrees = _transcript(session)
    sentence = f"{explained:,} of {calls:,} {_plural('call', calls)} explained"
    if left:
        sentence += f", {left:,} {_plural('finding', left)} unexplained"
    tone: Tone = "bad" if left else "good" if agrees else "warn"
    return Headline(f"{sentence}; {against}.", tone)


def _transcript(session: Mapping[str, Any]) -> tuple[str, bool]:
    """Return a clause about the transcript, and whether it agrees with the wire."""
    findings = [*session["calls"], *session["turns_without_call"]]
    if all(finding["transcript"] is None for finding in findings):
        return "there is no transcript to compare with", False
    wire, transcript = session["totals"]["wire"], session["totals"]["transcript"]
    off = _off("output", _sum(wire, "output"), _sum(transcript, "output"))
    off = off or _off("prompt tokens", _sum(wire, "prompt"), _sum(transcript, "prompt"))
    if off:
        return f"the transcript {off}", False
    return "the transcript matches the wire exactly", True


def _off(what: str, wire: int, transcript: int) -> str | None:
    if transcript == wire:
        return None
    if transcript > wire:
        return f"reports {transcript - wire:,} more {what} than the wire"
    return f"under-reports {what} by {_percent(wire - transcript, wire)}"


def _sum(usage: Mapping[str, Any], kind: Kind) -> int:
    """All tokens of a kind: the prompt is fresh, read from the cache, written to it."""
    return sum(value_at(usage, group.path) for group in TOKEN_GROUPS if group.kind == kind)


def _percent(part: int, whole: int) -> str:
    """Return a rounded percentage that is 0 or 100 only if it is exactly that."""
    rounded = round(100 * part / whole)
    if rounded == 0:
        return "less than 1 %"
    if rounded == 100 and part != whole:
        return "more than 99 %"
    return f"{rounded} %"


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"
