"""`ccwire search`: find texts in captured sessions and transcripts."""

import multiprocessing
import os
import shlex
import signal
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from time import monotonic

import click

from addon.lifetime.lifeline import stop_on_death_of
from ccwire.capture_folders import CaptureFolders, last_written
from ccwire.options import UserError, captures_option, claude_dir_option, json_option
from ccwire.output.hints import session_command
from ccwire.output.redacted import redacted_values
from ccwire.output.search import count_json, hit_json, print_counts, print_hit
from ccwire.output.tables import numbered, progress_bar
from ccwire.output.terminal import console, echo, print_json
from ccwire.sessions.argument import find_session
from ccwire.sessions.filters import (
    Project,
    SessionFilter,
    parse_size,
    parsed,
    project_option,
    since_option,
    until_option,
)
from ccwire.wire.format import UNKNOWN
from correlate.captures.folder import read_exchanges, read_manifest
from correlate.captures.size import folder_bytes
from correlate.search.pattern import Pattern, PatternError
from correlate.search.session import Hit, Query, SessionHits, Source, search_session
from correlate.search.texts import OTHER, ROLES
from correlate.search.time_limit import SECONDS, TooSlow
from correlate.transcript.locate import ClaudeDir, SessionFiles, first_cwd, first_time, last_used

_LIMIT = "50"
_ROLES = (*ROLES, OTHER)
_WORTH_A_PROCESS = 64 << 20  # bytes
_WORTH_A_POOL = 0.1  # seconds; what is not searched by then takes longer than starting processes


def _bytes(text: str) -> int:
    plain = text.strip().upper().removesuffix("B").rstrip()
    is_plain = plain.isascii() and plain.isdecimal() and len(plain) < 16
    return int(plain) if is_plain else parse_size(text)


def _limit(text: str) -> int | None:
    if text == "all":
        return None
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < 10 and int(text)):
        raise ValueError("expected a number of texts, or all")
    return int(text)


@click.command("search")
@click.argument("pattern")
@click.option("-e", "--regex", is_flag=True, help="Take PATTERN as a regular expression.")
@click.option("-i", "--ignore-case", is_flag=True, help="Ignore case.")
@click.option("-w", "--word", is_flag=True, help="Match whole words only.")
@click.option("--session", "sessions", multiple=True, metavar="SESSION", help="Only this session.")
@project_option
@since_option
@until_option
@click.option("--role", "roles", multiple=True, metavar="ROLE", help=f"Only {', '.join(_ROLES)}.")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Only texts of this tool.")
@click.option(
    "--type", "types", multiple=True, metavar="TYPE", help="Only transcript records of this type."
)
@click.option("--larger", metavar="SIZE", callback=parsed(_bytes), help="Only larger texts.")
@click.option("--smaller", metavar="SIZE", callback=parsed(_bytes), help="Only smaller texts.")
@click.option("-C", "--context", type=click.IntRange(0, 1000), default=0, help="Lines around each.")
@click.option(
    "--limit",
    metavar="N",
    default=_LIMIT,
    show_default=True,
    callback=parsed(_limit),
    help="Stop after N texts, or `all`.",
)
@click.option("--count", "only_count", is_flag=True, help="Print only counts by session.")
@captures_option
@claude_dir_option
@json_option
def command(
    pattern: str,
    regex: bool,
    ignore_case: bool,
    word: bool,
    sessions: tuple[str, ...],
    project: Project | None,
    since: float | None,
    until: float | None,
    roles: tuple[str, ...],
    tools: tuple[str, ...],
    types: tuple[str, ...],
    larger: int | None,
    smaller: int | None,
    context: int,
    limit: int | None,
    only_count: bool,
    captures: CaptureFolders,
    claude_dir: Path,
    as_json: bool,
) -> None:
    """Find PATTERN in captures and transcripts, newest session first.

    A text is reported once per session, where it first appeared. Redacted text is not found. Exit
    with 0, also if nothing matches. Put `--` before a PATTERN that begins with a dash.
    """
    if unknown := [role for role in roles if role not in _ROLES]:
        raise UserError(f"there is no role {unknown[0]!r}; expected {', '.join(_ROLES)}.")
    try:
        compiled = Pattern(pattern, regex, ignore_case, word)
    except PatternError as error:
        raise UserError(f"{pattern!r}: {error}; give another pattern.") from None
    query = Query(
        pattern=compiled,
        roles=frozenset(roles),
        tools=frozenset(tools),
        types=frozenset(types),
        larger=larger,
        smaller=smaller,
        context=context,
    )
    chosen = SessionFilter(since=since, until=until, project=project)
    wanted = [
        UNKNOWN if name == UNKNOWN else find_session(name, captures, claude_dir).session_id
        for name in sessions
    ]
    sources = list(_sources(captures, claude_dir, wanted, chosen))
    most = None if only_count else limit
    try:
        found, is_cut = _collected(_searched(sources, query), most)
    except TooSlow:
        raise UserError(
            f"{pattern!r} takes more than {SECONDS:.0f} s on one text; give a pattern without "
            "repetitions of repetitions."
        ) from None
    show = partial(_show_command, captures=captures, claude_dir=claude_dir)
    hits = [hit for one in found for hit in one.hits]
    if as_json and only_count:
        print_json({"sessions": [count_json(one) for one in found]})
    elif as_json:
        print_json({"hits": [hit_json(hit, show(hit)) for hit in hits], "is_cut": is_cut})
    elif only_count and hits:
        print_counts(console(), found)
    else:
        for hit in hits:
            print_hit(console(), hit, show(hit))
    if not hits:
        echo("No text matches.", err=True)
    elif is_cut:
        echo(f"Stopped after {numbered(len(hits), 'text')}; --limit all prints the rest.", err=True)


def _show_command(hit: Hit, *, captures: CaptureFolders, claude_dir: Path) -> str:
    """Return the command whose output contains the text; of a line that none shows, that line."""
    more = "--full"
    if hit.call is not None:
        part = "--response --full" if hit.in_answer else "--request --full"
        more = f"{hit.call} " + (f"--message {hit.message}" if hit.message else part)
        folder = Path(hit.folder or "")
        if not captures.is_given and folder != captures.sessions.get(hit.session_id):
            captures = CaptureFolders.of(folder.parent)
    elif not hit.is_in_conversation:
        return f"sed -n {hit.line}p {shlex.quote(str(hit.path))}"
    return session_command("show", hit.session_id, captures, claude_dir, more)


def _sources(
    captures: CaptureFolders, claude_dir: Path, wanted: list[str], chosen: SessionFilter
) -> Iterator[Source]:
    """Yield the sessions to search, the newest first."""
    claude = ClaudeDir(claude_dir)
    every = claude.every_session()
    folders: dict[str, list[Path]] = {}
    for place in captures.session_folders:
        folders.setdefault(place.name, []).append(place)
    found: list[tuple[float, Source]] = []
    for session_id in dict.fromkeys([*captures.sessions, *every]):
        if wanted and session_id not in wanted:
            continue
        folder = captures.sessions.get(session_id)
        manifest = read_manifest(folder) if folder else None
        files = every.get(session_id)
        if files is None or (manifest and manifest.transcript_paths):
            files = claude.session(session_id, manifest.transcript_paths if manifest else ())
        last = max([_last_used(files), last_written(folder) if folder else 0.0])
        started = manifest.first_seen if manifest else None
        if started is None and chosen.until is not None:
            started = _started(files)
        if not chosen.fits_time(started, last):
            continue
        if chosen.project is not None:
            cwd = (manifest.cwd if manifest else None) or _cwd(files)
            if not chosen.project.matches(cwd):
                continue
        found.append((last, Source(session_id, tuple(folders.get(session_id, ())), files)))
    if (UNKNOWN in wanted or not wanted) and chosen.project is None:
        for place in captures.unknown:
            times = [call.started for call in read_exchanges(place)]
            if chosen.fits_time(min(times, default=None), max(times, default=None)):
                nothing = SessionFiles(UNKNOWN)
                found.append((last_written(place), Source(UNKNOWN, (place,), nothing)))
    found.sort(key=lambda item: item[0], reverse=True)
    yield from (source for _, source in found)


def _searched(sources: list[Source], query: Query) -> Iterator[SessionHits]:
    """Search in several processes if it takes long; Ctrl-C ends them quietly.

    Sizes alone do not decide: a packed session of a megabyte may have been a hundred.
    """
    sizes = {source.session_id: _size(source) for source in sources}
    total, cores = sum(sizes.values()), os.cpu_count() or 1
    work = partial(search_session, query=query, clean=redacted_values)
    left = deque(sources)
    alone_until = monotonic() + (_WORTH_A_POOL if total < _WORTH_A_PROCESS else 0.0)
    with progress_bar("Searching", total) as advance:
        while left and (cores < 2 or len(left) < 2 or monotonic() < alone_until):
            found = work(left.popleft())
            yield found
            advance(sizes[found.session_id])
        if not left:
            return
        method = "fork" if sys.platform == "linux" else "spawn"
        context = multiprocessing.get_context(method)
        with context.Pool(cores, _as_worker, (os.getpid(),)) as pool:
            for found in pool.imap(work, left):
                yield found
                advance(sizes[found.session_id])


def _as_worker(parent: int) -> None:
    """Leave Ctrl-C to the parent, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stop_on_death_of(parent)


def _collected(searched: Iterator[SessionHits], most: int | None) -> tuple[list[SessionHits], bool]:
    """Return the sessions with hits, and whether the search ended at the limit."""
    found: list[SessionHits] = []
    left = most
    with closing(searched):  # type: ignore[type-var]
        for one in searched:
            if one.unreadable:
                name, *others = one.unreadable
                more = f" and {numbered(len(others), 'other file')}" if others else ""
                echo(f"ccwire: {one.session_id}: {name}{more} cannot be read; left out", err=True)
            if not one.hits:
                continue
            if left is not None and len(one.hits) > left:
                one.hits = one.hits[:left]
                return [*found, *([one] if one.hits else [])], True
            found.append(one)
            left = None if left is None else left - len(one.hits)
    return found, False


def _paths(files: SessionFiles) -> Iterable[Path]:
    return [*files.main, *(agent.path for agent in files.agents)]


def _last_used(files: SessionFiles) -> float:
    return max((last_used(path) or 0.0 for path in files.main), default=0.0)


def _started(files: SessionFiles) -> float | None:
    return next((at for path in files.main if (at := first_time(path)) is not None), None)


def _cwd(files: SessionFiles) -> str | None:
    return next((cwd for path in files.main if (cwd := first_cwd(path))), None)


def _size(source: Source) -> int:
    size = sum(map(folder_bytes, source.folders))
    for path in _paths(source.files):
        try:
            size += path.stat().st_size
        except OSError:
            continue
    return size
