"""Prints the turns and totals of a session that has a transcript and no capture.

A count that the transcript does not have to its end is printed as a lower bound: `≥ 8`.
"""

from rich.console import Console
from rich.text import Text

from ccwire.output.reconcile import figures_text, print_evidence
from ccwire.output.redacted import redacted
from ccwire.output.tables import Column, count, dollars, print_table
from ccwire.output.terminal import safe
from ccwire.wire.counting import Group, TokenClass
from ccwire.wire.models import short_model
from ccwire.wire.safe_text import shortened
from ccwire.wire.times import clock
from ccwire.wire.usage import TOKEN_CLASSES, TOKEN_GROUPS, Tokens
from correlate.reconcile.result import (
    Finding,
    Reconciliation,
    Witness,
    counted,
    known_flaws,
)
from correlate.reconcile.totals import Side, Totals
from correlate.reconcile.verdicts import UNCAPTURED
from correlate.transcript.finality import Finality

_WIDE = 110
_MODEL_WIDTH = 28
_GROUPS = [group for group in TOKEN_GROUPS if group.kind != "requests"]
_USAGE: dict[Finality, str] = {"exact": "final", "lower-bound": "at least", "unknown": "none"}


def print_uncaptured(
    to: Console, session: Reconciliation, totals: Totals, verbose: bool = False
) -> None:
    versions = ", ".join(session.claude_versions) or "unknown version"
    to.print(Text.assemble(("session ", "bold"), session.session_id, f" · Claude Code {versions}"))
    to.print(Text(UNCAPTURED, "yellow"))
    _print_turns(to, session)
    if verbose:
        for finding in session.findings:
            print_evidence(to, finding)
    _print_totals(to, totals)
    to.print(Text(figures_text(session)))
    for version, flaws in known_flaws(session).items():
        known = "; ".join(flaw.sentence for flaw in flaws)
        to.print(Text(f"known of {safe(version)}: {known}."))
    for witness in session.witnesses:
        claimed = _claimed(witness, totals)
        to.print(Text(f"{witness.name}: {'; '.join((claimed, *witness.evidence))}."))
    for note in (*session.notes, *(f"transcript {bad}" for bad in session.bad_lines)):
        to.print(Text(f"note: {note}", "yellow"))
    to.print(Text(", ".join(f"{n} {name}" for name, n in counted(session.findings).items())))
    to.print(Text(f"{session.unexplained} unexplained", "green bold"))


def _claimed(witness: Witness, totals: Totals) -> str:
    """Return the client's own total, and what the transcript has of it."""
    said, has = [dollars(witness.usd)], [_money(totals.transcript)]
    if witness.total is not None:
        said.append(f"{count(witness.total.output)} output tokens")
        has.append(f"{count(totals.transcript.total.output)}")
    found = (at_least(figure, totals.transcript_finality) for figure in has)
    return f"{' and '.join(said)}, where the transcript has {' and '.join(found)}"


def at_least(number: str, finality: Finality) -> str:
    """Return a number as the lower bound that it is, if it is one."""
    return number if finality == "exact" else f"≥ {number}"


def _print_turns(to: Console, session: Reconciliation) -> None:
    wide = to.width >= _WIDE
    columns = [Column("#", right=True), *([Column("time")] if wide else []), Column("kind")]
    columns += [Column("agent")] if wide else []
    columns += [Column("model", grows=True)]
    columns += [Column(group.column, right=True) for group in _shown_groups(wide)]
    columns += [Column("usage"), Column("verdict")]
    rows = [_row(n, finding, wide) for n, finding in enumerate(session.findings, 1)]
    print_table(to, columns, rows)


def _shown_groups(wide: bool) -> list[Group]:
    return _GROUPS if wide else [g for g in _GROUPS if g.key in ("fresh", "output")]


def _row(number: int, finding: Finding, wide: bool) -> list[str | Text]:
    tokens = finding.transcript_tokens
    row: list[str | Text] = [str(number)]
    if wide:
        row.append(clock(finding.at) if finding.at is not None else "")
    row.append(finding.kind)
    if wide:
        row.append(redacted(finding.agent_id or "")[:18])
    row.append(shortened(safe(short_model(finding.model or "?")), _MODEL_WIDTH))
    for group in _shown_groups(wide):
        figure = count(tokens.of_group(group))
        row.append(
            at_least(figure, finding.finality) if _is_own_output(finding, group.kind) else figure
        )
    usage = _USAGE[finding.finality] if finding.verdict == "uncaptured" else ""
    style = "yellow" if finding.finality != "exact" else ""
    row += [Text(usage, style), Text(finding.verdict, "cyan")]
    return row


def _is_own_output(finding: Finding, kind: str) -> bool:
    return kind == "output" and finding.verdict == "uncaptured"


def _print_totals(to: Console, totals: Totals) -> None:
    state = totals.cost_state
    sides = [totals.transcript, *([state] if state else [])]
    columns = [Column("total"), Column("transcript", right=True)]
    columns += [Column("cost-state", right=True)] if state else []
    rows: list[list[str]] = []
    sections = []
    for model in dict.fromkeys(model for side in sides for model in side.tokens):
        rows.append([safe(model)])
        for token_class in TOKEN_CLASSES:
            figures = [side.tokens.get(model, Tokens()).of_class(token_class) for side in sides]
            if any(figures):
                rows.append([f"  {token_class.label}", *_figures(totals, token_class, figures)])
        sections.append(len(rows))
    spent = at_least(_money(totals.transcript), totals.transcript_finality)
    rows.append(["dollars", spent, *([dollars(state.usd)] if state else [])])
    padded = [[*row, *[""] * (len(columns) - len(row))] for row in rows]
    print_table(to, columns, padded, sections=sections)


def _figures(totals: Totals, token_class: TokenClass, figures: list[int]) -> list[str]:
    first, *others = map(count, figures)
    if token_class.group.kind == "output":
        first = at_least(first, totals.transcript_finality)
    return [first, *others]


def _money(side: Side) -> str:
    if side.usd is None:
        return "unpriced"
    return dollars(side.usd) + (" + unpriced" if side.unpriced else "")
