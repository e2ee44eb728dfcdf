"""The rows of a session without a capture: each turn drawn as a call, from the transcript alone.

A turn has no request on record; what was said since the turn before it in its file is shown
instead, and the time of that record is when the call can have begun at the earliest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from correlate.reconcile.result import Finding
from correlate.report.blocks import readable
from correlate.report.contents import Added, Piece
from correlate.transcript.conversation import Entry, read_conversation
from correlate.transcript.locate import SessionFiles

_SHOWN = ("user", "tool_result")


@dataclass(frozen=True, slots=True)
class Asked:
    """What stands between two turns of a file: the pieces, and the time of the last record."""

    added: Added
    at: float | None


def asked_before(findings: Sequence[Finding], files: SessionFiles) -> list[Asked]:
    """Return, per finding, what the transcript has between the turn before and it.

    Raises OSError if a file is not readable.
    """
    entries: dict[Path, list[Entry]] = {}
    for entry in read_conversation(files).entries:
        entries.setdefault(entry.path, []).append(entry)
    since = _lines_before(findings)
    return [_asked(finding, entries, since.get(n)) for n, finding in enumerate(findings)]


def drawn_times(findings: Sequence[Finding], asked: Sequence[float | None]) -> list[list[float]]:
    """Return when each turn's bar begins and ends; a turn without a time follows the one before."""
    known = [finding.at for finding in findings if finding.at is not None]
    last = min(known, default=0.0)
    times = []
    for finding, at in zip(findings, asked, strict=True):
        turn = finding.turn
        first = finding.at if finding.at is not None else last
        started = min(first, at) if at is not None else first
        ended = turn.ended if turn is not None and turn.ended is not None else first
        last = max(started, ended)
        times.append([started, last])
    return times


def _lines_before(findings: Sequence[Finding]) -> dict[int, tuple[int, int]]:
    """Return, by finding, the number of the turn before in its file, and of that turn's line."""
    by_path: dict[Path, list[tuple[int, int, int]]] = {}
    for number, finding in enumerate(findings):
        if finding.turn and finding.turn.places:
            places = finding.turn.places
            found = by_path.setdefault(places[0].path, [])
            found.append((places[0].line, places[-1].line, number))
    before = {}
    for turns in by_path.values():
        for (_, last, earlier), (_, _, number) in pairwise(sorted(turns)):
            before[number] = (earlier + 1, last)
    return before


def _asked(
    finding: Finding, entries: Mapping[Path, list[Entry]], since: tuple[int, int] | None
) -> Asked:
    turn = finding.turn
    if turn is None or not turn.places:
        return Asked(Added(None, (), ()), None)
    place = turn.places[0]
    before, line = since or (None, 0)
    between = [
        entry
        for entry in entries.get(place.path, ())
        if line < entry.line < place.line and entry.type in _SHOWN
    ]
    times = [entry.timestamp for entry in between if entry.timestamp is not None]
    pieces = tuple(_piece(block, entry) for entry in between for block in entry.blocks)
    return Asked(Added(before, pieces, ()), max(times, default=None))


def _piece(block: Mapping[str, Any], entry: Entry) -> Piece:
    shown = readable(block)
    return Piece(f"user: {shown.title}", shown.text, line=f"{entry.path.name}:{entry.line}")
