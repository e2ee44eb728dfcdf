"""Changes as Markdown, for a pull request."""

from collections.abc import Sequence

from correlate.schema.compare.change import SEVERITIES, SchemaChange, Severity

_HEADINGS: dict[Severity, str] = {
    "breaking": "Breaking",
    "additive": "Additive",
    "informational": "Informational",
}


def changes_as_markdown(changes: Sequence[SchemaChange]) -> str:
    if not changes:
        return "No format changes.\n"
    parts = []
    for severity in SEVERITIES:
        rows = [change for change in changes if change.severity == severity]
        if rows:
            parts.append(f"### {_HEADINGS[severity]} ({len(rows)})\n\n{_table(rows)}")
    return "\n".join(parts)


def _table(changes: Sequence[SchemaChange]) -> str:
    lines = [
        "| change | where | before → after | confidence | versions | example |",
        "|---|---|---|---:|---|---|",
    ]
    for change in changes:
        cells = (
            change.kind,
            f"`{change.where}`",
            _from_to(change),
            f"{change.sure:.0%}",
            change.from_to,
            f"`{change.at}`" if change.at else "",
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _from_to(change: SchemaChange) -> str:
    before, after = (f"`{text}`" if text else "" for text in (change.before, change.after))
    return f"{before} → {after}" if before and after else before or after
