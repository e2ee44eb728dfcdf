"""Render docs/atlas.md: when each field, header, record or file was added or removed. Pure."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ccwire.wire.versions import parse_version
from correlate.schema.snapshot.snapshot import NAME_LISTS
from lab.atlas.facts import Fact, Span
from lab.atlas.run import ReleaseOutcome

# The summary's sentences; the release comes from the observed spans.
MILESTONES = (
    (Fact("wire/header/request/messages", "x-claude-code-session-id"),
     "every call has the session id in a header"),
    (Fact("wire/request/messages", "metadata.user_id", "JSON in a string"),
     "`metadata.user_id` is a JSON string instead of parts joined by underscores"),
    (Fact("wire/header/request/messages", "x-client-request-id"),
     "every attempt of a call has a client request id"),
    (Fact("wire/header/request/messages", "x-claude-code-agent-id"),
     "a subagent's calls have the agent id in a header"),
    (Fact("wire/header/request/messages", "x-claude-code-request-class"),
     "every call has its class in a header: main, subagent, auxiliary, compaction"),
    (Fact("transcript/assistant", "requestId"),
     "assistant lines contain the request id"),
    (Fact("transcript/api-request"),
     "the transcript contains a record per request"),
    (Fact("transcript/cost-state"),
     "the transcript contains the session's cost"),
    (Fact("layout", "", "projects/<project>/agent-<agent>.jsonl"),
     "subagents have separate transcripts, beside the session's"),
    (Fact("layout", "", "projects/<project>/<session>/subagents/agent-<agent>.jsonl"),
     "subagent transcripts are in the session's folder"),
    (Fact("layout", "", "projects/<project>/<session>/subagents/agent-<agent>.meta.json"),
     "subagent transcripts have a metadata file beside them"),
    (Fact("transcript/system/compact_boundary"),
     "the transcript marks compactions"),
    (Fact("transcript/system/api_error"),
     "the transcript contains failed attempts"),
    (Fact("hook/SessionStart"),
     "the SessionStart hook runs"),
    (Fact("wire/endpoint", "", "POST /api/event_logging/batch"),
     "telemetry is sent to the API's host"),
)  # fmt: skip

_TELEMETRY = (
    "wire/request/event_logging",
    "wire/request/statsig",
    "wire/request/eval",
    "wire/header/request/event_logging",
    "wire/header/request/statsig",
    "wire/header/request/eval",
)
_WIRE, _TRANSCRIPT, _REST = "on the wire", "in the transcript", "hooks, files, output"
_WHOLE = {"+": "new", "~+": "~new", "-": "gone", "~-": "~gone"}
# Bucket prefix, label for one, label for several, column.
_AREAS = (
    ("wire/header/request/", "header of {} calls", "headers of {} calls", _WIRE),
    ("wire/request/block/", "request block {}", "request blocks {}", _WIRE),
    ("wire/request/tool/", "request tool {}", "request tools {}", _WIRE),
    ("wire/request/", "request {}", "requests {}", _WIRE),
    ("wire/beta", "beta", "beta", _WIRE),
    ("wire/endpoint", "endpoint", "endpoint", _WIRE),
    ("transcript/attachment/", "attachment {}", "attachments {}", _TRANSCRIPT),
    ("transcript/block/", "block {}", "blocks {}", _TRANSCRIPT),
    ("transcript/usage", "usage", "usage", _TRANSCRIPT),
    ("transcript/", "record {}", "records {}", _TRANSCRIPT),
    ("hook/", "hook {}", "hooks {}", _REST),
    ("layout", "file", "file", _REST),
    ("printed/result", "output of `-p`", "output of `-p`", _REST),
    ("file/", "file {}", "files {}", _REST),
)


@dataclass(frozen=True, slots=True)
class Tried:
    """All releases, and the outcomes of those that were run."""

    releases: Sequence[str]
    outcomes: Sequence[ReleaseOutcome]

    @property
    def ran(self) -> list[str]:
        return sorted((o.version for o in self.outcomes if o.problem is None), key=parse_version)

    @property
    def failed(self) -> list[ReleaseOutcome]:
        failed = [outcome for outcome in self.outcomes if outcome.problem is not None]
        return sorted(failed, key=lambda outcome: parse_version(outcome.version))

    def next_after(self, version: str) -> str:
        """Return the next release that did not fail to run."""
        failed = {outcome.version for outcome in self.failed}
        later = (v for v in self.releases if parse_version(v) > parse_version(version))
        return next(v for v in later if v not in failed)


def page(found: Sequence[Span], tried: Tried) -> str:
    notable = worth_telling(found)
    parts = (
        _head(tried),
        _milestones(found, tried),
        _by_release(notable, tried),
        _by_field(notable, tried),
        _how_it_went(tried),
    )
    return "\n".join(parts)


def worth_telling(found: Sequence[Span]) -> list[Span]:
    """Return the spans without those equal to their parent's and those of no interest."""
    known = {span.fact: span for span in found}
    return [
        span
        for span in found
        if not _says_nothing(span.fact)
        and not _goes_along(span, known.get(span.fact.parent) if span.fact.parent else None)
    ]


def _says_nothing(fact: Fact) -> bool:
    """Return whether a fact is a detail of telemetry, of a tool's result, or a model's default."""
    return (
        fact.bucket.startswith(_TELEMETRY)
        or (fact.bucket.startswith("hook/") and fact.path.startswith("tool_response."))
        or (fact.detail != "" and fact.path.endswith(("effort", "effort.level")))
    )


def _goes_along(span: Span, parent: Span | None) -> bool:
    return parent is not None and (parent.first, parent.last) == (span.first, span.last)


def _head(tried: Tried) -> str:
    ran = tried.ran
    return f"""# The atlas: format changes by release

Claude Code's formats are not documented and change between releases. This page lists the changes,
found by running the real client: {len(ran)} of the {len(tried.releases)} releases on npm, \
from {ran[0]} to {ran[-1]}, each
with the same prompts against a stand-in for the API on loopback: a prompt that is first rejected as
overloaded, then answered with thinking, a command and a subagent, and whose last stream is cut off;
a `/compact`; and a prompt that is too long for the API. It does not cover the interactive screen,
MCP servers, other tools, or clients that are signed in.

Each change is listed under the first release that has it. If releases before it were not run, a
range is given: "2.1.78 to 2.1.84" means one of these. `+` is added, `-` is removed; `~` marks facts
that were not observed in every run between first and last, so that their releases are less certain.
A new record, hook or object is listed once, without its fields.

`uv run python -m lab.atlas` generates this page and the baselines in
`correlate/schema/baselines/`; it can be interrupted and resumed.
"""


def _milestones(found: Sequence[Span], tried: Tried) -> str:
    known = {span.fact: span for span in found}
    lines = ["## Summary\n"]
    seen = [(known[fact], text) for fact, text in MILESTONES if fact in known]
    for span, text in sorted(seen, key=lambda pair: parse_version(pair[0].first)):
        until = "" if span.after is None else f" (removed in {_went(span, tried)})"
        lines.append(f"- **{_came(span, tried)}**: {text}{until}.")
    return "\n".join(lines) + "\n"


def _by_release(notable: Sequence[Span], tried: Tried) -> str:
    rows: dict[tuple[tuple[int, ...], str], list[tuple[str, Fact]]] = defaultdict(list)
    for span in notable:
        unsure = "" if span.steady else "~"
        if span.before is not None:
            key = (parse_version(span.first), _came(span, tried))
            rows[key].append((f"{unsure}+", span.fact))
        if span.after is not None:
            key = (parse_version(span.after), _went(span, tried))
            rows[key].append((f"{unsure}-", span.fact))
    lines = [
        "## By release\n",
        f"| release | {_WIRE} | {_TRANSCRIPT} | {_REST} |",
        "|---|---|---|---|",
    ]
    for _, label in sorted(rows, reverse=True):
        changes = next(changes for key, changes in rows.items() if key[1] == label)
        cells = [_cell(changes, side) for side in (_WIRE, _TRANSCRIPT, _REST)]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(changes: Sequence[tuple[str, Fact]], side: str) -> str:
    """Return one cell: a release's changes in one column, with equal changes grouped."""
    names: dict[tuple[int, str], list[str]] = defaultdict(list)  # area and change -> records
    for sign, fact in sorted(changes, key=lambda change: (change[1], change[0])):
        area = _area(fact)
        if _AREAS[area][3] == side:
            item = f"{sign}{_name(fact)}" if _name(fact) else _WHOLE[sign]
            names[area, item].append(_of(fact))
    items: dict[tuple[int, tuple[str, ...]], list[str]] = defaultdict(list)
    for (area, item), of in names.items():
        items[area, tuple(of)].append(item)
    return "<br>".join(
        f"{_label(area, of)}: {' '.join(changed)}" for (area, of), changed in sorted(items.items())
    )


def _by_field(notable: Sequence[Span], tried: Tried) -> str:
    lines = ["## By field\n", "Facts observed in every release that was run are not listed.\n"]
    for side in (_WIRE, _TRANSCRIPT, _REST):
        spans_here = [
            s for s in notable if _AREAS[_area(s.fact)][3] == side and (s.before or s.after)
        ]
        lines += [f"### {side[0].upper()}{side[1:]}\n", "| field | in | since | until |"]
        lines.append("|---|---|---|---|")
        for span in sorted(spans_here, key=lambda s: (s.fact.path + s.fact.detail, s.fact.bucket)):
            area = _label(_area(span.fact), (_of(span.fact),))
            mark = "" if span.steady else " ~"
            since = _came(span, tried) if span.before else "before"
            until = f"removed in {_went(span, tried)}" if span.after else ""
            lines.append(
                f"| {_name(span.fact) or 'all of it'}{mark} | {area} | {since} | {until} |"
            )
        lines.append("")
    return "\n".join(lines)


def _how_it_went(tried: Tried) -> str:
    ran = ", ".join(reversed(tried.ran))
    lines = ["## The releases\n", f"Run: {ran}.\n"]
    if tried.failed:
        lines.append("Failed to run:\n")
        lines += [f"- {outcome.version}: {outcome.problem}" for outcome in tried.failed]
    return "\n".join(lines) + "\n"


def _came(span: Span, tried: Tried) -> str:
    if span.before is None or span.first_exact:
        return span.first
    return f"{tried.next_after(span.before)} to {span.first}"


def _went(span: Span, tried: Tried) -> str:
    assert span.after is not None
    if span.last_exact:
        return span.after
    return f"{tried.next_after(span.last)} to {span.after}"


def _area(fact: Fact) -> int:
    return next(n for n, area in enumerate(_AREAS) if fact.bucket.startswith(area[0]))


def _of(fact: Fact) -> str:
    """Return the record, hook or block that the fact belongs to."""
    return fact.bucket.removeprefix(_AREAS[_area(fact)][0])


def _label(area: int, of: Sequence[str]) -> str:
    _, one, several, _ = _AREAS[area]
    return (one if len(of) == 1 else several).format(", ".join(f"`{name}`" for name in of))


def _name(fact: Fact) -> str:
    """Return the fact's name; empty for the whole bucket."""
    if fact.bucket in NAME_LISTS:
        return f"`{fact.detail}`"
    if fact.detail == "JSON in a string":
        return f"`{fact.path}` as JSON in a string"
    if fact.detail:
        return f"`{fact.path}` = `{fact.detail}`"
    return f"`{fact.path}`" if fact.path else ""
