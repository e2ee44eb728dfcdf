"""The text of a call's request and answer, next to the transcript's, shortened to fit. Pure.

A piece is a text with a title; the page has a limited number of bytes per call for them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ccwire.wire.safe_text import shortened, visible
from correlate.captures.content import Block
from correlate.compare.answers import BlockVerdict, answer_findings
from correlate.compare.requests import ChangeKind, RequestChange, parting
from correlate.report.blocks import content_text, readable
from correlate.report.fit import Clean, fitted
from correlate.report.request_sizes import json_size

_PIECE_BYTES = 160  # size of a piece on the page without its text
_PARAMETER_LENGTH = 80
_LISTED = {"tools": "tools", "betas": "betas"}  # changes listed by name, without their text


@dataclass(frozen=True, slots=True)
class Piece:
    """A text to show; `mark` is its status: added, changed, equal, missing…"""

    title: str
    text: str
    mark: ChangeKind | BlockVerdict | None = None
    line: str | None = None  # its place in the transcript
    other: str | None = None  # the transcript's text, if it differs
    left_out: int = 0
    other_left_out: int = 0


@dataclass(frozen=True, slots=True)
class Added:
    """What a request adds to the previous one; `notes` list changes without their text."""

    since: int | None
    pieces: tuple[Piece, ...]
    notes: tuple[str, ...]


def added_by(changes: Iterable[RequestChange], since: int | None) -> Added:
    pieces: list[Piece] = []
    names: dict[tuple[str, str], list[str]] = {}
    for change in changes:
        group = change.place.partition(".")[0]
        if group in _LISTED:
            names.setdefault((group, change.change), []).append(_named(change))
        elif group.startswith(("messages", "system")):
            pieces += _pieces(change)
        else:
            names.setdefault(("parameters", change.change), []).append(_parameter(change))
    notes = (f"{group} {change}: {', '.join(named)}" for (group, change), named in names.items())
    return Added(since, tuple(pieces), tuple(notes))


def answer_pieces(
    wire: Sequence[Block], in_transcript: Sequence[tuple[Block, Any]] | None
) -> tuple[Piece, ...]:
    """Return the answer's blocks as pieces.

    `in_transcript` are the transcript's blocks, each with its place; None if there is no turn.
    """
    if in_transcript is None:
        return tuple(_piece(block) for block in wire)
    left = iter(in_transcript)
    pieces = []
    for finding in answer_findings(wire, [block for block, _ in in_transcript]):
        block = wire[finding.index] if finding.verdict != "added" else finding.transcript
        piece = replace(_piece(block), mark=finding.verdict)
        if finding.verdict != "missing":
            other, place = next(left)
            piece = replace(piece, line=str(place))
            if finding.verdict == "changed":
                piece = replace(piece, other=readable(other).text)
        pieces.append(piece)
    return tuple(pieces)


def body_pieces(body: Any) -> tuple[Piece, ...]:
    """Return the pieces of a response that is not a message: an error, a token count."""
    return () if body is None else (Piece("body", content_text(body)),)


def turn_pieces(in_transcript: Sequence[tuple[Block, Any]]) -> tuple[Piece, ...]:
    return tuple(replace(_piece(block), line=str(place)) for block, place in in_transcript)


def fit_to_page(
    added: Added | None, answer: Sequence[Piece], budget: int, clean: Clean = str
) -> tuple[Mapping[str, Any] | None, list[Mapping[str, Any]], int]:
    """Return both as plain values within `budget` bytes, and the number of omitted pieces.

    `clean` redacts a text that is cut.
    """
    most = max(4, budget // (2 * _PIECE_BYTES))
    asked = added.pieces if added else ()
    kept_answer = list(answer)[:most]
    kept_asked = list(asked)[-max(2, most - len(kept_answer)) :]  # the newest messages are last
    left_out = len(asked) + len(answer) - len(kept_asked) - len(kept_answer)
    pieces = [*kept_asked, *kept_answer]
    shown = _fit(pieces, budget - _PIECE_BYTES * len(pieces), clean)
    first, rest = shown[: len(kept_asked)], shown[len(kept_asked) :]
    request = None
    if added:
        notes = [visible(note) for note in added.notes]
        request = {"since": added.since, "pieces": first, "notes": notes}
    return request, rest, left_out


def _fit(pieces: Sequence[Piece], budget: int, clean: Clean) -> list[Mapping[str, Any]]:
    texts = [text for piece in pieces for text in (piece.text, piece.other or "")]
    shown = fitted(texts, max(budget, 0), clean)
    found: list[Mapping[str, Any]] = []
    for piece, text, other in zip(pieces, shown[::2], shown[1::2], strict=True):
        values: dict[str, Any] = {"title": visible(piece.title), "text": text.text}
        values |= {name: getattr(piece, name) for name in ("mark", "line") if getattr(piece, name)}
        if text.left_out:
            values["left_out"] = text.left_out
        if piece.other is not None:
            values |= {"other": other.text, "other_left_out": other.left_out}
        found.append(values)
    return found


def _pieces(change: RequestChange) -> list[Piece]:
    """Return one piece per block of a message, and one for anything else."""
    if change.change == "changed":
        before, after = parting(change.before, change.after)
        return [Piece(change.place, f"- {before}\n+ {after}", "changed")]
    value = change.after if change.change == "added" else change.before
    if not isinstance(value, dict) or "role" not in value:
        return [replace(_piece(value, change.place), mark=change.change)]
    content = value.get("content")
    blocks = content if isinstance(content, list) else [content]
    head = f"{change.place} {value['role']}"
    return [replace(_piece(block, head), mark=change.change) for block in blocks]


def _piece(block: Any, head: str | None = None) -> Piece:
    block = readable(block)
    return Piece(f"{head}: {block.title}" if head else block.title, block.text)


def _named(change: RequestChange) -> str:
    value = change.after if change.after is not None else change.before
    if isinstance(value, str):
        return value
    return f"{change.place.partition('.')[2]} ({json_size(value):,} B)"


def _parameter(change: RequestChange) -> str:
    before, after = content_text(change.before), content_text(change.after)
    if change.change == "changed":
        return f"{change.place} from {_short(before)} to {_short(after)}"
    return f"{change.place} {_short(after or before)}"


def _short(text: str) -> str:
    return shortened(" ".join(text.split()), _PARAMETER_LENGTH)
