"""Prints a reconciliation: the calls, the totals, and the causes of their differences."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ccwire.output.fitted import FittedColumn, FittedTable
from ccwire.output.redacted import redacted
from ccwire.output.tables import Column, count, day, dollars, numbered, print_table, signed
from ccwire.output.terminal import safe
from ccwire.wire.counting import TokenClass
from ccwire.wire.format import is_run_id, short_id
from ccwire.wire.models import short_model
from ccwire.wire.safe_text import shortened, visible
from ccwire.wire.times import clock
from ccwire.wire.usage import TOKEN_CLASSES, TOKEN_GROUPS, Tokens, differences
from correlate.reconcile.result import Finding, Reconciliation, counted, label
from correlate.reconcile.summary import summarize
from correlate.reconcile.totals import GrandTotal, Side, Totals, price_note
from correlate.reconcile.verdicts import Tone
from correlate.transcript.finality import Finality

_WIDE = 130
_MOST_BAD_LINES = 10
_MODEL_WIDTH = 32  # a gateway may have names of its own, and other columns need room
_STYLES: dict[Tone, str] = {
    "good": "green",
    "warn": "yellow",
    "info": "cyan",
    "bad": "red bold",
}
# Columns of `--all`, with the rank by which they are shown.
_ALL_COLUMNS = (
    FittedColumn("session", 0, 10),
    FittedColumn("started", 3, 11),
    FittedColumn("version", 9, 9),
    FittedColumn("calls", 6, 5, right=True),
    FittedColumn("output", 8, 10, right=True),
    FittedColumn("wire", 2, 9, right=True),
    FittedColumn("transcript", 7, 10, right=True),
    FittedColumn("?", 1, 2, right=True),
    FittedColumn("project", 5, 24, least=10),
    FittedColumn("title", 4, 200, least=14),
)
# Columns of the calls; a narrow terminal has room for two.
_GROUPS = [group for group in TOKEN_GROUPS if group.kind != "requests"]
_NARROW_GROUPS = [group for group in _GROUPS if group.key in ("fresh", "output")]


def print_session(
    to: Console, session: Reconciliation, totals: Totals, verbose: bool = False
) -> None:
    to.print(Text.assemble(("session ", "bold"), session.session_id, f" · {_program(session)}"))
    _print_calls(to, session)
    if verbose:
        for finding in session.findings:
            print_evidence(to, finding)
    _print_totals(to, totals)
    _print_causes(to, totals)
    _print_conclusion(to, session, totals, verbose)


def _program(session: Reconciliation) -> str:
    if is_run_id(session.session_id) and not session.claude_versions:
        return "programs without a session"
    return f"Claude Code {', '.join(session.claude_versions) or 'unknown version'}"


class SessionTable:
    """The table of `reconcile --all`: one line per session, printed when it is reconciled."""

    def __init__(self, to: Console, session_ids: Iterable[str]) -> None:
        self._to = to
        self._now = datetime.now()
        widest = max((len(short_id(name)) for name in session_ids), default=0)
        columns = [replace(_ALL_COLUMNS[0], width=max(10, widest)), *_ALL_COLUMNS[1:]]
        self._table = FittedTable(to, columns)

    def print_header(self) -> None:
        self._table.print_header()

    def print_session(
        self,
        session: Reconciliation,
        totals: Totals,
        *,
        started: float | None,
        project: str | None,
        title: str | None,
    ) -> None:
        figures = _figures_of(
            len(session.calls), totals.wire, totals.transcript, session.unexplained
        )
        about = {
            "session": short_id(session.session_id),
            "started": day(started, self._now),
            "version": (session.claude_versions or ("?",))[-1],
            "project": Path(project).name if project else "-",
            "title": title or "-",
        }
        self._table.print_row({**about, **figures}, "red" if session.unexplained else "")

    def print_total(self, grand: GrandTotal) -> None:
        figures = _figures_of(grand.calls, grand.wire, grand.transcript, grand.unexplained)
        self._table.print_row({"session": numbered(grand.sessions, "session"), **figures}, "bold")
        if unpriced := grand.wire.unpriced:
            self._to.print(Text(f"+ without {', '.join(unpriced)}: no known price"))
        _print_verdict(self._to, grand.unexplained)


def _figures_of(calls: int, wire: Side, transcript: Side, unexplained: int) -> dict[str, str]:
    return {
        "calls": count(calls),
        "output": count(wire.total.output),
        "wire": _brief(wire),
        "transcript": _brief(transcript),
        "?": count(unexplained),
    }


def _print_calls(to: Console, session: Reconciliation) -> None:
    wide = to.width >= _WIDE
    columns = [Column("#", right=True), *([Column("time")] if wide else []), Column("kind")]
    columns += [Column("agent"), Column("model")] if wide else [Column("model")]
    groups = _GROUPS if wide else _NARROW_GROUPS
    columns += [Column(group.column, right=True) for group in groups]
    columns += [Column("difference", grows=True), Column("verdict")]
    rows = [_call_row(finding, wide) for finding in session.findings]
    print_table(to, columns, rows)


def _call_row(finding: Finding, wide: bool) -> list[str | Text]:
    tokens = finding.wire_tokens
    number = str(finding.call.sequence) if finding.call else "-"
    row: list[str | Text] = [number]
    if wide:
        row.append(clock(finding.at) if finding.at is not None else "")
    row.append(finding.kind)
    if wide:
        row.append(redacted(finding.agent_id or "")[:18])
    row.append(shortened(safe(_models(finding)), _MODEL_WIDTH))
    row += [count(tokens.of_group(group)) for group in (_GROUPS if wide else _NARROW_GROUPS)]
    row += [_difference(finding), _verdict_text(finding)]
    return row


def _models(finding: Finding) -> str:
    """The models that served a call, the one that answered first; the asked one before an arrow."""
    asked = short_model(finding.model or "?")
    served = [short_model(part.model or "?") for part in finding.wire_parts]
    others = [name for name in dict.fromkeys(served) if name != asked]
    if not others:
        return asked
    return " + ".join([asked, *others]) if asked in served else f"{asked} → {' + '.join(others)}"


def _difference(finding: Finding) -> str:
    if finding.turn is None:
        return ""
    if finding.call is None and finding.finality == "unknown":
        return "no usage in transcript"
    if finding.call is None:
        written = at_least(count(finding.transcript_tokens.output), finding.finality)
        return f"output {written} in transcript"
    found = differences(finding.wire_usage, finding.transcript_usage)
    numbers = [
        f"{d.field.removesuffix('_tokens').replace('_', ' ')} "
        f"{signed((d.transcript or 0) - (d.wire or 0))}"
        for d in found
        if isinstance(d.wire or 0, int) and isinstance(d.transcript or 0, int)
    ]
    return ", ".join(numbers) or "="


def _verdict_text(finding: Finding) -> Text:
    return Text(finding.verdict, _STYLES[finding.tone])


def at_least(number: str, finality: Finality, *, is_output: bool = True) -> str:
    """Return a number of the transcript as the lower bound that it is, if it is one.

    Other tokens than the output's are one only if a turn has no usage at all.
    """
    is_bound = finality != "exact" if is_output else finality == "unknown"
    return f"≥ {number}" if is_bound else number


def print_evidence(to: Console, finding: Finding) -> None:
    number = f"call {finding.call.sequence}" if finding.call else "turn without a call"
    text = Text.assemble(
        f"  {number}: ",
        (label(finding), _verdict_text(finding).style),
        visible(": " + "; ".join(finding.evidence)),
    )
    to.print(text)


def _print_totals(to: Console, totals: Totals) -> None:
    state = totals.cost_state
    columns = [Column("total"), Column("wire", right=True), Column("transcript", right=True)]
    if state:
        columns += [Column("cost-state", right=True), Column("residual", right=True)]
    columns.append(Column("wire $", right=True))
    rows: list[list[str]] = []
    sections = []
    sides = [totals.wire, totals.transcript, *([state] if state else [])]
    for model in dict.fromkeys(model for side in sides for model in side.tokens):
        rows.append([model])
        for token_class in TOKEN_CLASSES:
            row = _class_row(totals, model, token_class)
            if row is not None:
                rows.append(row)
        sections.append(len(rows))
    money = ["dollars", _money(totals.wire), _money(totals.transcript)]
    if state:
        is_known = state.usd is not None and totals.wire.usd is not None
        residual = (state.usd or 0) - (totals.wire.usd or 0) if is_known else None
        money += [dollars(state.usd), dollars(residual)]
    rows.append([*money, _money(totals.wire)])
    padded = [[*row, *[""] * (len(columns) - len(row))] for row in rows]
    print_table(to, columns, padded, sections=sections)


def _class_row(totals: Totals, model: str, token_class: TokenClass) -> list[str] | None:
    def of(side: Side) -> int:
        return side.tokens.get(model, Tokens()).of_class(token_class)

    state = totals.cost_state
    sides = [totals.wire, totals.transcript, *([state] if state else [])]
    figures = [of(side) for side in sides]
    if not any(figures):
        return None
    row = [f"  {token_class.label}", *map(count, figures)]
    group = token_class.group
    if state and not state.tells_ages and len(group.members) > 1:
        is_first = token_class.name == group.members[0]
        claimed = state.tokens.get(model, Tokens()).of_group(group)
        billed = totals.wire.tokens.get(model, Tokens()).of_group(group)
        row[-1:] = [count(claimed), signed(claimed - billed)] if is_first else ["-", "-"]
    elif state and group.client:
        row.append(signed(of(state) - of(totals.wire)))
    elif state:
        row[-1:] = ["-", "-"]  # the client does not count it
    return [*row, dollars(totals.wire.class_usd(model, token_class))]


def _print_causes(to: Console, totals: Totals) -> None:
    causes = [cause for cause in totals.causes if cause.missing]
    if not causes:
        return
    columns = [
        Column("why the transcript differs", grows=True),
        Column("findings", right=True),
        Column("output", right=True),
        Column("prompt", right=True),
        Column("dollars", right=True),
    ]
    rows = [
        [
            cause.label,
            count(cause.findings),
            signed(cause.missing.output),
            signed(cause.missing.context),
            dollars(None if cause.usd is None else float(cause.usd)),
        ]
        for cause in causes
    ]
    print_table(to, columns, rows)


def _print_conclusion(to: Console, session: Reconciliation, totals: Totals, verbose: bool) -> None:
    wire, transcript = totals.wire, totals.transcript
    has_none = any(finding.kind == "no-transcript" for finding in session.findings)
    shown = f"the wire shows {count(wire.total.output)} output tokens and {_money(wire)}"
    if is_run_id(session.session_id):
        to.print(Text(f"A program without a session has no transcript; {shown}."))
    else:
        if has_none and not transcript.total.context:
            to.print(
                Text("No transcript was found; if it is in another folder, give --claude-dir.")
            )
        to.print(
            Text(
                f"The transcript alone reports {count(transcript.total.output)} output tokens"
                f" and {_money(transcript)}; the wire shows {count(wire.total.output)}"
                f" and {_money(wire)}{_share(wire, transcript)}."
            )
        )
    if note := price_note(wire):
        to.print(Text(f"The wire is {note}."))
    to.print(Text(figures_text(session)))
    for witness in session.witnesses:
        style = "" if witness.agrees else "yellow" if witness.explained else "red bold"
        to.print(Text(f"{witness.name}: {'; '.join(witness.evidence)}.", style))
    print_notes(to, session, verbose)
    to.print(Text(", ".join(f"{n} {name}" for name, n in counted(session.findings).items())))
    for finding in session.findings:
        if not finding.explained:
            print_evidence(to, finding)
    _print_verdict(to, session.unexplained)


def print_notes(to: Console, session: Reconciliation, verbose: bool) -> None:
    """Print the notes and the first bad lines of the transcript, all with `verbose`."""
    bad = [f"transcript {line}" for line in session.bad_lines]
    more = 0 if verbose else max(0, len(bad) - _MOST_BAD_LINES)
    for note in (*session.notes, *bad[: len(bad) - more]):
        to.print(Text(f"note: {note}", "yellow"))
    if more:
        to.print(Text(f"note: {numbered(more, 'more bad line')} (--verbose)", "yellow"))


def figures_text(session: Reconciliation) -> str:
    """Summarize the session in one sentence."""
    found = summarize(session)
    minutes, seconds = divmod(round(found.seconds), 60)
    tools = ", ".join(f"{name} {n}" for name, n in found.tool_calls.items())
    parts = ["no turn"]
    if found.turns:
        context = f"context {count(found.context_last)} at the end"
        parts = [
            f"{numbered(found.turns, 'turn')} in {minutes} min {seconds} s",
            f"tools: {tools}" if tools else "no tools",
            f"{context}, {count(found.context_peak)} at its peak",
        ]
    if found.thinking_tokens:
        bound = "≥ " if found.thinking_is_lower_bound else ""
        parts.append(f"{bound}{count(found.thinking_tokens)} output tokens for thinking")
    if found.cache_share is not None:
        parts.append(f"{found.cache_share:.0%} of the prompt tokens from the cache")
    if found.files_written:
        parts.append(f"{numbered(len(found.files_written), 'file')} written")
    if found.compactions:
        parts.append(numbered(found.compactions, "compaction"))
    return "; ".join(parts) + "."


def _print_verdict(to: Console, unexplained: int) -> None:
    style = "red bold" if unexplained else "green bold"
    to.print(Text(f"{unexplained} unexplained", style))


def _money(side: Side) -> str:
    if side.usd is None:
        return "unpriced"
    return dollars(side.usd) + (" + unpriced" if side.unpriced else "")


def _brief(side: Side) -> str:
    return dollars(side.usd) + ("+" if side.usd is not None and side.unpriced else "")


def _share(wire: Side, transcript: Side) -> str:
    if not wire.total.output or wire.total.output == transcript.total.output:
        return ""
    off = (transcript.total.output - wire.total.output) / wire.total.output
    return f" ({off:+.0%} output)" if abs(off) >= 0.005 else ""
