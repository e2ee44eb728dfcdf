"""Which sessions a command is about: `--since`, `--until`, `--project`, `--limit`, `--sort`.

Parses their values and applies them; pure but for the click options at the end.
"""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Any, Literal

import click

from ccwire.options import UserError

SortKey = Literal["last", "started", "duration", "size", "calls", "cost", "project"]
SORT_KEYS: tuple[SortKey, ...] = (
    "last",
    "started",
    "duration",
    "size",
    "calls",
    "cost",
    "project",
)
ALL = 0  # the limit that is none

_SECONDS = {"h": 3_600, "d": 86_400, "w": 7 * 86_400}
_AGE = re.compile(r"(\d{1,9})\s*([hdw])", re.IGNORECASE | re.ASCII)  # m: minutes or months?
_UNITS = {"k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([kmgt])(i?)b?", re.IGNORECASE | re.ASCII)
_WHEN_HINT = "expected an age (7d, 24h, 2w), a date (2026-11-01), today or yesterday"
_SIZE_HINT = "expected a number of bytes with a unit (500MB, 5GB, 1.5GiB)"


@dataclass(frozen=True, slots=True)
class Project:
    """A project to look for: folders, with all that is below them, or a part of a folder's name."""

    folders: tuple[str, ...] = ()
    name: str = ""

    def matches(self, project: str | None) -> bool:
        if project is None:
            return False
        path = PurePath(project)
        if self.folders:
            return any(path.is_relative_to(folder) for folder in self.folders)
        return self.name.casefold() in path.name.casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """The given filters; None means that a session is not asked for it."""

    since: float | None = None
    until: float | None = None
    project: Project | None = None
    limit: int | None = None
    sort: SortKey = "last"

    @property
    def narrows(self) -> bool:
        """Whether sessions may be left out for another reason than the limit."""
        return any(given is not None for given in (self.since, self.until, self.project))

    def fits_time(self, started: float | None, last: float | None) -> bool:
        """Whether a session was used since, and started before, the given times."""
        first, final = _either(started, last), _either(last, started)
        if self.since is not None and (final is None or final < self.since):
            return False
        return self.until is None or (first is not None and first < self.until)


def largest[T](items: Iterable[T], key: Callable[[T], Any], limit: int | None) -> list[T]:
    """Return the items with the largest keys first, at most `limit` of them; None is smallest."""
    ordered = sorted(items, key=lambda item: _sortable(key(item)), reverse=True)
    return ordered[:limit] if limit else ordered


def parse_when(text: str, now: datetime) -> float:
    """Return the time that `7d`, `24h`, `2026-11-01`, `today` … mean; raise ValueError."""
    word = text.strip().lower()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if word == "today":
        return midnight.timestamp()
    if word == "yesterday":
        return (midnight - timedelta(days=1)).timestamp()
    if _AGE.fullmatch(word):
        return now.timestamp() - parse_age(word)
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise ValueError(_WHEN_HINT) from None


def parse_age(text: str) -> float:
    """Return the seconds that `30d`, `24h` or `2w` mean; raise ValueError."""
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise ValueError("expected an age in hours, days or weeks: 24h, 30d, 2w")
    return float(int(found[1]) * _SECONDS[found[2].lower()])


def parse_size(text: str) -> int:
    """Return the bytes that `5GB` or `1.5GiB` mean; raise ValueError."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(_SIZE_HINT)
    unit: int = (1024 if found[3] else 1000) ** _UNITS[found[2].lower()]
    return round(Decimal(found[1]) * unit)


def parse_limit(text: str) -> int:
    """Return the number, `ALL` for `all`; raise ValueError."""
    word = text.strip().lower()
    if word == "all":
        return ALL
    if not re.fullmatch(r"\d{1,9}", word, re.ASCII):
        raise ValueError("expected a number of sessions, or all")
    return int(word)


def parse_project(text: str, here: Path) -> Project:
    """Return what a folder's path (`.`, `~/shop`, `/srv/shop`) or a part of its name means."""
    if not text.strip():
        raise ValueError("expected a folder, or a part of its name")
    if not (text in (".", "..", "~") or "/" in text or os.sep in text):
        return Project(name=text)
    try:
        folder = Path(os.path.normpath(here / Path(text).expanduser()))
    except RuntimeError:  # `~somebody` who does not exist
        raise ValueError("there is no such home folder") from None
    return Project(folders=tuple(dict.fromkeys((str(folder), str(folder.resolve())))))


def _either(first: float | None, second: float | None) -> float | None:
    return first if first is not None else second


def _sortable(value: Any) -> tuple[bool, Any]:
    return (value is not None, value if value is not None else 0)


# The click options.


def parsed(parse: Callable[[str], Any]) -> Any:
    """Return a callback that parses an option's value, and reports a wrong one with its hint."""

    def convert(_: click.Context, param: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else parse(value)
        except ValueError as error:
            raise UserError(f"{param.opts[0]} {value!r}: {error}.") from None

    return convert


def when(text: str) -> float:
    return parse_when(text, datetime.now())


since_option = click.option(
    "--since",
    metavar="WHEN",
    callback=parsed(when),
    help="Only sessions used since WHEN: 7d, 24h, 2w, 2026-11-01, today, yesterday.",
)
until_option = click.option(
    "--until", metavar="WHEN", callback=parsed(when), help="Only sessions started before WHEN."
)
project_option = click.option(
    "--project",
    metavar="DIR",
    callback=parsed(lambda text: parse_project(text, Path.cwd())),
    help="Only sessions of this folder and those below it, or of folders with this in their name.",
)
limit_option = click.option(
    "--limit",
    metavar="N",
    callback=parsed(parse_limit),
    help="Only the first N sessions in the order of --sort, or `all`.",
)


def sort_option[F: Callable[..., Any]](default: SortKey) -> Callable[[F], F]:
    return click.option(
        "--sort",
        type=click.Choice(SORT_KEYS),
        metavar="KEY",
        default=default,
        show_default=True,
        help=f"Order by {', '.join(SORT_KEYS[:-1])} or {SORT_KEYS[-1]}: the newest or largest"
        " last, with --json first.",
    )
