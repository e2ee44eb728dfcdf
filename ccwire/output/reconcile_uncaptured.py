"""Prints the turns and totals of a session that has a transcript and no capture.

A count that the transcript does not have to its end is printed as a lower bound: `≥ 8`.
"""

from rich.console import Console
from rich.text import Text

from ccwire.output.fitted import FittedColumn, print_fitted
from ccwire.output.reconcile import at_least, figures_text, print_evidence, print_notes
from ccwire.output.redacted import redacted
from ccwire.output.tables import Column, count, dollars, print_table
from ccwire.output.terminal import safe
from ccwire.wire.counting import TokenClass
from ccwire.wire.models import short_model
from ccwire.wire.times import clock
from ccwire.wire.usage import TOKEN_CLASSES, TOKEN_GROUPS, Tokens
from correlate.reconcile.result import Finding, Reconciliation, Witness, counted, known_flaws
from correlate.reconcile.totals import Side, Totals
from correlate.reconcile.verdicts import UNCAPTURED
from correlate.transcript.finality import Finality

_GROUPS = [group for group in TOKEN_GROUPS if group.kind != "requests"]
# Columns of the turns, with the rank by which they are shown.
_COLUMNS = (
    FittedColumn("#", 0, 1, right=True),
    FittedColumn("time", 9, 8),
    FittedColumn("kind", 4, 4),
    FittedColumn("agent", 10, 5),
    FittedColumn("model", 3, 5, least=10),
    FittedColumn("input", 5, 5, right=True),
    FittedColumn("output", 1, 6, right=True),
    FittedColumn("cache read", 7, 10, right=True),
    FittedColumn("write", 8, 5, right=True),
    FittedColumn("usage", 6, 5),
    FittedColumn("verdict", 2, 7),
)
_NOTHING = "–"  # noqa: RUF001
_USAGE: dict[Finality, str] = {"exact": "final", "lower-bound": "at least", "unknown": "none"}


def print_uncaptured(
    to: Console, session: Reconciliation, totals: Totals, verbose: bool = False
) -> None:
    versions = ", ".join(session.claude_versions) or "unknown version"
    to.print(Text.assemble(("session ", "bold"), session.session_id, f" · Claude Code {versions}"))
    to.print(Text(UNCAPTURED, "yellow"))
    if session.findings:
        rows = [_cells(number, finding) for number, finding in enumerate(session.findings, 1)]
        to.print()
        print_fitted(to, _COLUMNS, rows)
    if verbose:
        for finding in session.findings:
            print_evidence(to, finding)
    if session.findings:
        _print_totals(to, totals)
    to.print(Text(figures_text(session)))
    for version, flaws in known_flaws(session).items():
        known = "; ".join(flaw.sentence for flaw in flaws)
        to.print(Text(f"known of {safe(version)}: {known}."))
    for witness in session.witnesses:
        claimed = _claimed(witness, totals)
        to.print(Text(f"{witness.name}: {'; '.join((claimed, *witness.evidence))}."))
    print_notes(to, session, verbose)
    if session.findings:
        to.print(Text(", ".join(f"{n} {name}" for name, n in counted(session.findings).items())))
    to.print(Text(f"{session.unexplained} unexplained", "green bold"))


def _claimed(witness: Witness, totals: Totals) -> str:
    """Return the client's own total, and what the transcript has of it."""
    said, has = [dollars(witness.usd)], [_spent(totals)]
    if witness.total is not None:
        said.append(f"{count(witness.total.output)} output tokens")
        has.append(at_least(count(totals.transcript.total.output), totals.transcript_finality))
    return f"{' and '.join(said)}, where the transcript has {' and '.join(has)}"


def _spent(totals: Totals) -> str:
    spent = _money(totals.transcript)
    is_known = totals.transcript.usd is not None
    return at_least(spent, totals.transcript_finality) if is_known else spent


def _cells(number: int, finding: Finding) -> dict[str, str | Text]:
    tokens = finding.transcript_tokens
    is_own = finding.verdict == "uncaptured"
    figures = {group.column: count(tokens.of_group(group)) for group in _GROUPS}
    if finding.verdict == "inherited":  # counted in the session that made the call
        figures = dict.fromkeys(figures, "-")
    if is_own and finding.finality == "unknown":
        figures = dict.fromkeys(figures, _NOTHING)
    elif is_own:
        figures["output"] = at_least(figures["output"], finding.finality)
    usage = _USAGE[finding.finality] if is_own else ""
    return {
        "#": str(number),
        "time": clock(finding.at) if finding.at is not None else "",
        "kind": finding.kind,
        "agent": redacted(finding.agent_id or "")[:18],
        "model": short_model(finding.model or "?"),
        **figures,
        "usage": Text(usage, "yellow" if finding.finality != "exact" else ""),
        "verdict": Text(finding.verdict, "cyan"),
    }


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
    rows.append(["dollars", _spent(totals), *([dollars(state.usd)] if state else [])])
    padded = [[*row, *[""] * (len(columns) - len(row))] for row in rows]
    print_table(to, columns, padded, sections=sections)


def _figures(totals: Totals, token_class: TokenClass, figures: list[int]) -> list[str]:
    first, *others = map(count, figures)
    is_output = token_class.group.kind == "output"
    return [at_least(first, totals.transcript_finality, is_output=is_output), *others]


def _money(side: Side) -> str:
    if side.usd is None:
        return "unpriced"
    return dollars(side.usd) + (" + unpriced" if side.unpriced else "")
