"""Compare an answer on the wire with the same answer in the transcript. Pure.

Compares block by block: text, thinking, tool calls. Redaction in the capture is not a difference.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from correlate.captures.content import Block

# How one block of an answer compares: `missing` is not in the transcript, `added` only there.
BlockVerdict = Literal["equal", "changed", "missing", "added"]

_REDACTED = re.compile(r"<redacted:[^>]*>")
# The compared fields per block type; the client or the API may add others.
_TELLING = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name", "input"),
    "server_tool_use": ("id", "name", "input"),
}


@dataclass(frozen=True, slots=True)
class BlockFinding:
    """The verdict on one block: equal, changed, or missing from or added in the transcript."""

    index: int
    type: str
    verdict: BlockVerdict
    place: str | None = None  # position of the first difference: a field, and an offset in it
    wire: Any = None
    transcript: Any = None


def answer_findings(wire: Sequence[Block], transcript: Sequence[Block]) -> list[BlockFinding]:
    """Return one finding per block; blocks are paired in order, unpaired ones are skipped."""
    found: list[BlockFinding] = []
    left = list(transcript)
    for index, block in enumerate(wire):
        kind = str(block.get("type"))
        at = next((i for i, other in enumerate(left) if _same_place(block, other)), None)
        if at is None:
            if _says_something(block):
                found.append(BlockFinding(index, kind, "missing", wire=block))
            continue
        found += [_added(index, extra) for extra in left[:at]]
        other = left[at]
        left = left[at + 1 :]
        place = _first_difference(block, other)
        found.append(
            BlockFinding(index, kind, "equal")
            if place is None
            else BlockFinding(index, kind, "changed", place, block, other)
        )
    return found + [_added(len(wire), extra) for extra in left]


def _added(index: int, block: Block) -> BlockFinding:
    return BlockFinding(index, str(block.get("type")), "added", transcript=block)


def _same_place(wire: Block, transcript: Block) -> bool:
    if wire.get("type") != transcript.get("type"):
        return False
    return "id" not in wire or wire["id"] == transcript.get("id")


def _says_something(block: Block) -> bool:
    """Whether the client writes a line for this block; it writes none for empty text."""
    return block.get("type") != "text" or bool(str(block.get("text") or "").strip())


def _first_difference(wire: Block, transcript: Block) -> str | None:
    for name in _TELLING.get(str(wire.get("type")), tuple(wire)):
        place = _differ(wire.get(name), transcript.get(name), name)
        if place is not None:
            return place
    return None


def _differ(wire: Any, transcript: Any, place: str) -> str | None:
    """Return the path of the first difference between two values; None if they are equal."""
    if isinstance(wire, dict) and isinstance(transcript, dict):
        for name in {**wire, **transcript}:
            found = _differ(wire.get(name), transcript.get(name), f"{place}.{name}")
            if found is not None:
                return found
        return None
    if isinstance(wire, list) and isinstance(transcript, list) and len(wire) == len(transcript):
        for index, (one, other) in enumerate(zip(wire, transcript, strict=True)):
            found = _differ(one, other, f"{place}[{index}]")
            if found is not None:
                return found
        return None
    if isinstance(wire, str) and isinstance(transcript, str):
        return _differ_in_text(wire, transcript, place)
    return None if wire == transcript or (not wire and not transcript) else place


def _differ_in_text(wire: str, transcript: str, place: str) -> str | None:
    if wire == transcript:
        return None
    if _is_redacted_form(wire, transcript):
        return None
    same = 0
    while same < min(len(wire), len(transcript)) and wire[same] == transcript[same]:
        same += 1
    return f"{place}, character {same}"


def _is_redacted_form(wire: str, text: str) -> bool:
    """Whether the wire is the text with parts of it redacted.

    What is between two marks is taken where it occurs first: a pattern would try all places, which
    takes years if there are many marks.
    """
    first, *others = _REDACTED.split(wire)
    if not others or not text.startswith(first):
        return False
    *between, last = others
    at = len(first)
    for part in between:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(text) - at >= len(last) and text.endswith(last)
