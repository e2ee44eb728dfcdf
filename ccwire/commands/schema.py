"""`ccwire schema`: record the structure of Claude Code's formats and detect changes."""

import json
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import click

from ccwire.capture_folders import find_capture_folders
from ccwire.command_name import command_line
from ccwire.options import UserError, json_option
from ccwire.output.tables import Column, numbered, print_table, progress_bar
from ccwire.output.terminal import console, echo, print_json
from ccwire.sessions.argument import captured_session
from ccwire.wire.format import claude_dir
from ccwire.wire.pack.reader import ExchangeFiles
from ccwire.wire.regular_file import read_regular
from ccwire.wire.versions import parse_version, version_range
from correlate.schema.baseline import baseline_version, shipped
from correlate.schema.compare.change import SchemaChange
from correlate.schema.compare.check import drift, newest
from correlate.schema.compare.diff import diff
from correlate.schema.compare.markdown import changes_as_markdown
from correlate.schema.observe.walk import Observation, observe, sources
from correlate.schema.snapshot.file import NotASnapshot, dumps, loads
from correlate.schema.snapshot.json_schema import json_schemas
from correlate.schema.snapshot.snapshot import ExamplePlace, Field, merge, paths, versions

_HALF_SURE = 0.5
_WIDE = 120
_NARROW_COLUMNS = 5  # without versions and example
_LISTED_UNREADABLE = 5
_PATHS = click.Path(path_type=Path)
_NOTHING = "no captures or transcripts in {}; give a capture folder or Claude Code's folder."


def _existing(
    ctx: click.Context, param: click.Parameter, value: Path | Sequence[Path]
) -> Path | tuple[Path, ...]:
    """Return paths that exist: those given, those of sessions, or all captures if none is given."""
    if isinstance(value, Path):
        return _place(value)
    return tuple(map(_place, value)) or _all_captures()


def _place(path: Path) -> Path:
    text = str(path)
    if path.exists():
        return path
    if "/" in text or path.suffix:
        raise UserError(f"{path} does not exist; give a file, a folder or a session.")
    captures = find_capture_folders(None, os.environ)
    return captured_session(text, captures, claude_dir(None, os.environ)).capture


def _all_captures() -> tuple[Path, ...]:
    captures = find_capture_folders(None, os.environ)
    found = tuple(folder for folder in captures.folders if folder.is_dir())
    if not found:
        raise UserError(_NOTHING.format(captures))
    return found


@click.group()
def command() -> None:
    """Detect changes in Claude Code's formats.

    A snapshot contains structure only: field names, types, frequencies and versions. It never
    contains a user's text, path or id.
    """


@command.command("observe")
@click.argument("paths_given", metavar="[PATH]...", nargs=-1, type=_PATHS, callback=_existing)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the snapshot (default: standard output).",
)
@click.option(
    "--json-schema",
    "schema_dir",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also write JSON Schema 2020-12, one file per bucket.",
)
@json_option
def observe_command(
    paths_given: tuple[Path, ...], output: Path | None, schema_dir: Path | None, as_json: bool
) -> None:
    """Write a snapshot of the structure of captures and transcripts.

    A PATH is a folder or file of captures, transcripts or hook payloads, a captured session, or
    an earlier snapshot to merge. Without PATH, it is all captures.
    """
    earlier, rest = _apart(paths_given)
    observation = _observe(rest) if rest else Observation({}, 0, 0)
    snapshot = merge([*earlier, observation.snapshot])
    text = dumps(snapshot)
    if output is None:
        echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
    if schema_dir is not None:
        schema_dir.mkdir(parents=True, exist_ok=True)
        for name, schema in json_schemas(snapshot).items():
            (schema_dir / name).write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")
    facts = _summary(observation, snapshot)
    if output is not None and as_json:
        print_json(facts, indent=False)
    elif output is not None:
        echo(
            f"{facts['buckets']} buckets, {facts['fields']} fields from {facts['exchanges']} "
            f"exchanges and {facts['records']} records of {version_range(versions(snapshot))}"
        )
    _print_unreadable(observation)


@command.command("diff")
@click.argument("old", metavar="A", type=_PATHS, callback=_existing)
@click.argument("new", metavar="B", type=_PATHS, callback=_existing)
@click.option("--markdown", is_flag=True, help="Print Markdown, for a pull request.")
@click.option("--all", "show_all", is_flag=True, help="Include uncertain changes.")
@json_option
def diff_command(old: Path, new: Path, markdown: bool, show_all: bool, as_json: bool) -> None:
    """Print what changed from A to B, which are snapshots, or folders or sessions to observe.

    Each change has a severity for readers of the format and a confidence: a rare field that a
    small capture lacks was not necessarily removed.
    """
    changes = diff(_snapshot(old), _snapshot(new))
    shown = [c for c in changes if show_all or not _may_be_a_gap(c)]
    if as_json:
        print_json([change.to_json() for change in changes], indent=False)
    elif markdown:
        echo(changes_as_markdown(shown), nl=False)
    else:
        _print_changes(shown)
        if len(shown) < len(changes):
            hidden = numbered(len(changes) - len(shown), "uncertain change")
            echo(f"{hidden} not shown; see --all.")


@command.command("check")
@click.argument("paths_given", metavar="[PATH]...", nargs=-1, type=_PATHS, callback=_existing)
@click.option(
    "--baseline",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A snapshot (default: the one shipped for the client's version or the nearest older).",
)
@click.option("--markdown", is_flag=True, help="Print Markdown, for a pull request.")
@json_option
@click.pass_context
def check_command(
    ctx: click.Context,
    paths_given: tuple[Path, ...],
    baseline: Path | None,
    markdown: bool,
    as_json: bool,
) -> None:
    """Check captures and transcripts against a baseline. Exit code 1 on drift.

    A PATH is a folder or file, or a captured session. Without PATH, it is all captures.
    """
    observation = _observe(paths_given)
    given = _load(baseline) if baseline is not None else None
    changes = drift(observation.by_version, lambda v: shipped(v) if given is None else given)
    if as_json:
        print_json([change.to_json() for change in changes], indent=False)
    elif markdown:
        echo(changes_as_markdown(changes), nl=False)
    else:
        _print_changes(changes)
        against = baseline.name if baseline is not None else _baselines_of(observation)
        exchanges = numbered(observation.exchanges, "exchange")
        what = f"{exchanges} and {numbered(observation.records, 'record')}"
        drifted = numbered(len(changes), "change") if changes else "no drift"
        echo(f"{what} compared with {against}: {drifted}.")
    _print_unreadable(observation)
    ctx.exit(1 if changes else 0)


def _print_changes(changes: Sequence[SchemaChange]) -> None:
    if not changes:
        return
    to = console()
    columns = [
        Column("severity"),
        Column("change"),
        Column("where", grows=True),
        Column("before → after", grows=True),
        Column("confidence", right=True),
        Column("versions", grows=True),
        Column("example", grows=True),
    ]
    rows = [
        (
            change.severity,
            change.kind,
            change.where,
            " → ".join(text for text in (change.before, change.after) if text),
            f"{change.sure:.0%}",
            change.from_to,
            str(change.at or ""),
        )
        for change in changes
    ]
    shown = len(columns) if to.width >= _WIDE else _NARROW_COLUMNS
    print_table(to, columns[:shown], [row[:shown] for row in rows])


def _may_be_a_gap(change: SchemaChange) -> bool:
    return change.severity == "informational" and change.sure < _HALF_SURE


def _observe(given: Sequence[Path]) -> Observation:
    sizes = _sizes(given)
    with progress_bar("observing", sum(sizes.values())) as advance:
        observation = observe(given, on_file=lambda path: advance(sizes.get(path, 0)))
    if not observation.exchanges and not observation.records:
        raise UserError(_NOTHING.format(", ".join(map(str, given))))
    return observation


def _sizes(given: Sequence[Path]) -> dict[Path, int]:
    """Return the size of each file; 0 if a running proxy has just moved it."""
    packed = lru_cache(maxsize=1)(lambda folder: ExchangeFiles(folder).sizes())
    found: dict[Path, int] = {}
    for path in sources(given):
        try:
            found[path] = path.stat().st_size
        except FileNotFoundError:
            found[path] = packed(path.parent).get(path.name, 0)
    return found


def _snapshot(path: Path) -> dict[str, Field]:
    return _observe([path]).snapshot if path.is_dir() else _load(path)


def _apart(given: Iterable[Path]) -> tuple[list[dict[str, Field]], list[Path]]:
    """Split the paths into parsed snapshots and paths to observe."""
    earlier: list[dict[str, Field]] = []
    rest: list[Path] = []
    for path in given:
        try:
            earlier.append(loads(read_regular(path) if path.is_file() else b""))
        except NotASnapshot:
            rest.append(path)
    return earlier, rest


def _load(path: Path) -> dict[str, Field]:
    try:
        return loads(read_regular(path))
    except NotASnapshot as error:
        raise UserError(
            f"{path} is not a snapshot ({error}); make one with `{command_line('schema observe')}`."
        ) from error


def _summary(observation: Observation, snapshot: dict[str, Field]) -> dict[str, Any]:
    return {
        "exchanges": observation.exchanges,
        "records": observation.records,
        "buckets": len(snapshot),
        "fields": sum(1 for root in snapshot.values() for path, _ in paths(root) if path),
        "versions": sorted(versions(snapshot), key=parse_version),
        "unreadable": [
            {"file": str(bad.path), "line": bad.line or None, "reason": bad.reason}
            for bad in observation.unreadable
        ],
    }


def _baselines_of(observation: Observation) -> str:
    seen = observation.by_version
    used = {baseline_version(version or newest(seen)) for version in seen}
    names = sorted((version for version in used if version), key=parse_version)
    return f"the baseline of {', '.join(names)}" if names else "no baseline"


def _print_unreadable(observation: Observation) -> None:
    for bad in observation.unreadable[:_LISTED_UNREADABLE]:
        echo(f"ccwire: skipped {ExamplePlace(str(bad.path), bad.line)}: {bad.reason}.", err=True)
    more = len(observation.unreadable) - _LISTED_UNREADABLE
    if more > 0:
        echo(f"ccwire: skipped {more} more.", err=True)
