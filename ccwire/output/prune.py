"""Prints what `ccwire prune` deletes, or would delete: a table and a total, or JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from addon.storage.prune import Deleted
from addon.storage.prune_choice import Candidate, Reason
from ccwire.output.fitted import Cells, FittedColumn, print_fitted
from ccwire.output.redacted import redacted
from ccwire.output.tables import day, numbered, size
from ccwire.sessions.heads import SessionHead
from ccwire.wire.format import TRAFFIC_LOG, UNKNOWN, short_id
from correlate.transcript.titles import title_of

_COLUMNS = (
    FittedColumn("session", 0, 8),
    FittedColumn("last used", 2, 11),
    FittedColumn("project", 5, 7, least=10),
    FittedColumn("size", 1, 6, right=True),
    FittedColumn("because", 3, 7),
    FittedColumn("title", 4, 5, least=14),
)
_BECAUSE: dict[Reason, str] = {
    "named": "named",
    "older": "old",
    "larger": "too large",
    "not kept": "not kept",
}


@dataclass(frozen=True, slots=True)
class PruneReport:
    """The chosen sessions, the spared ones with the reason, and what became of each folder.

    `unfinished` are the folders that an interrupted deletion has left.
    """

    chosen: list[tuple[Candidate, Reason]]
    spared: list[tuple[Candidate, str]]
    unfinished: list[Path]
    dry_run: bool = True
    deleted: Mapping[Path, Deleted] = field(default_factory=dict)
    problems: Mapping[Path, str] = field(default_factory=dict)
    has_log_gone: bool = False
    reports: list[Path] = field(default_factory=list)  # pages of the chosen sessions


def print_prune(
    to: Console, report: PruneReport, heads: Mapping[str, SessionHead], again: str
) -> None:
    """Print the report; `again` is the command that carries it out."""
    if report.chosen:
        now = datetime.now()
        rows = [_cells(one, why, heads[one.session_id], now) for one, why in report.chosen]
        print_fitted(to, _COLUMNS, rows)
    for one, why_not in report.spared:
        to.print(f"kept: {short_id(one.session_id)}, {why_not}", soft_wrap=True)
    places = sorted({one.folder.parent for one, _ in report.chosen})
    for folder in places if len(places) > 1 else ():
        there = [one.session_id for one, _ in report.chosen if one.folder.parent == folder]
        to.print(f"in {folder}: {', '.join(map(short_id, there))}", soft_wrap=True)
    if report.reports:
        what = numbered(len(report.reports), "report")
        to.print(f"{what} of these sessions in {report.reports[0].parent} too", soft_wrap=True)
    if not report.chosen and not report.unfinished:
        to.print("Nothing to delete.")
    elif report.dry_run:
        _print_plan(to, report, again)
    else:
        _print_deleted(to, report)


def prune_json(report: PruneReport) -> dict[str, Any]:
    return {
        "dry_run": report.dry_run,
        "sessions": [_session_json(report, one, reason) for one, reason in report.chosen],
        "bytes": sum(one.bytes for one, _ in report.chosen),
        "kept": [{"session_id": one.session_id, "why": why} for one, why in report.spared],
        "unfinished": [str(folder) for folder in report.unfinished],
        "traffic_log_deleted": report.has_log_gone,
        "reports": [str(path) for path in report.reports],
    }


def _session_json(report: PruneReport, one: Candidate, reason: Reason) -> dict[str, Any]:
    deleted = report.deleted.get(one.folder)
    return {
        "session_id": one.session_id,
        "folder": str(one.folder),
        "last_used": one.last_used,
        "bytes": one.bytes,
        "reason": reason,
        "deleted": deleted is not None,
        "left": list(deleted.left) if deleted else [],
        "problem": report.problems.get(one.folder),
    }


def _cells(one: Candidate, reason: Reason, head: SessionHead, now: datetime) -> Cells:
    project = head.found_project()
    title = title_of(head.transcript, redacted) if head.transcript else None
    return {
        "session": short_id(one.session_id),
        "last used": day(one.last_used, now),
        "project": Path(project).name if project else "-",
        "size": size(one.bytes),
        "because": _BECAUSE[reason],
        "title": title or "-",
    }


def _print_plan(to: Console, report: PruneReport, again: str) -> None:
    parts = []
    if report.chosen:
        total = size(sum(one.bytes for one, _ in report.chosen))
        parts.append(f"{_count([one.session_id for one, _ in report.chosen])}, {total}")
    if report.unfinished:
        parts.append(numbered(len(report.unfinished), "interrupted deletion"))
    to.print(f"{' and '.join(parts)}; nothing is deleted yet. To delete:", soft_wrap=True)
    to.print(f"  {again}", soft_wrap=True)


def _print_deleted(to: Console, report: PruneReport) -> None:
    total = size(sum(one.bytes for one in report.deleted.values()))
    to.print(f"Deleted {_count([one.session_id for one in report.deleted.values()])}, {total}.")
    for one in report.deleted.values():
        if one.left:
            names = ", ".join(one.left)
            to.print(f"left in {one.folder}, not written by ccwire: {names}", soft_wrap=True)
    if report.has_log_gone:
        to.print(f"Deleted {TRAFFIC_LOG} too: no session is left.")


def _count(session_ids: Sequence[str]) -> str:
    """Return how many sessions these are; `unknown` is none."""
    sessions = [name for name in session_ids if name != UNKNOWN]
    parts = [numbered(len(sessions), "session")] if sessions or not session_ids else []
    return " and ".join([*parts, *([UNKNOWN] if len(sessions) < len(session_ids) else [])])
