"""Chooses the sessions to delete. Pure.

A session is deleted if any condition asks for it: it is named, it was last used before a time, or
the sessions together are larger than a size and it is among the oldest. The newest `keep` sessions
are never deleted; if `keep` is the only condition, all others are. A session in use is never
deleted. `unknown` is no session: only its name or its age asks for it, and it does not count.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ccwire.wire.format import UNKNOWN

Reason = Literal["named", "older", "larger", "not kept"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A captured session; `in_use` says why it must not be deleted now."""

    session_id: str
    folder: Path
    last_used: float
    bytes: int = 0
    in_use: str | None = None

    @property
    def is_session(self) -> bool:
        return self.session_id != UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What asks for a deletion; `older_than` is the time of the oldest use that is kept."""

    named: frozenset[str] = frozenset()
    older_than: float | None = None
    larger_than: int | None = None
    keep: int | None = None

    @property
    def keep_alone(self) -> bool:
        others = self.older_than, self.larger_than
        return self.keep is not None and not self.named and others == (None, None)


@dataclass(frozen=True, slots=True)
class Choice:
    """The sessions to delete, oldest first, and those that were asked for but are spared."""

    delete: list[tuple[Candidate, Reason]]
    spared: list[tuple[Candidate, str]]


def choose(candidates: Iterable[Candidate], conditions: Conditions) -> Choice:
    oldest_first = sorted(candidates, key=lambda one: (one.last_used, one.session_id))
    sessions = [one for one in oldest_first if one.is_session]
    newest = list(dict.fromkeys(one.session_id for one in reversed(sessions)))
    kept = set(newest[: conditions.keep or 0])
    delete: list[tuple[Candidate, Reason]] = []
    spared: list[tuple[Candidate, str]] = []
    for one in oldest_first:
        reason = _reason(one, conditions)
        if one.session_id in kept:
            if reason == "named":
                spared.append((one, f"it is among the newest {conditions.keep}"))
        elif reason is not None and one.in_use:
            spared.append((one, one.in_use))
        elif reason is not None:
            delete.append((one, reason))
    if conditions.larger_than is not None:
        gone = {one.folder for one, _ in delete}
        rest = [one for one in sessions if one.folder not in gone]
        excess = _excess(rest, kept, conditions.larger_than)
        delete += [(one, "larger") for one in excess if not one.in_use]
        known = {one.folder for one, _ in spared}
        spared += [(one, one.in_use) for one in excess if one.in_use and one.folder not in known]
        delete.sort(key=lambda item: (item[0].last_used, item[0].session_id))
    return Choice(delete, spared)


def _reason(one: Candidate, conditions: Conditions) -> Reason | None:
    if one.session_id in conditions.named:
        return "named"
    if conditions.older_than is not None and one.last_used < conditions.older_than:
        return "older"
    return "not kept" if conditions.keep_alone and one.is_session else None


def _excess(oldest_first: Sequence[Candidate], kept: set[str], most: int) -> list[Candidate]:
    """Return the oldest sessions without which the others are not larger than that.

    Those in use are among them, and make room for nothing.
    """
    total = sum(one.bytes for one in oldest_first)
    found: list[Candidate] = []
    for one in oldest_first:
        if total <= most:
            break
        if one.session_id not in kept and one.bytes:
            found.append(one)
            total -= 0 if one.in_use else one.bytes
    return found
