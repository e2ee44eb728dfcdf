"""Render the matrix for docs/proof.md: figures, cases by line, and pairs not right. Pure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from lab.matrix.judge import Mark, Verdict
from lab.matrix.releases import LINES, line_of, ordered, ranges

BEGIN = "<!-- matrix: begin, written by `uv run python -m lab.matrix --table` -->"
END = "<!-- matrix: end -->"
_TITLES: tuple[tuple[Mark, str], ...] = (
    ("wrong", "### Pairs that are wrong"),
    ("not run", "### Pairs that were not run to their end"),
    ("not known", "### Cases that a release does not know"),
)


def with_section(document: str, section: str) -> str:
    """Replace the text between the two markers; append it where there are none."""
    block = f"{BEGIN}\n{section}\n{END}"
    if BEGIN not in document:
        return f"{document.rstrip()}\n\n{block}\n"
    before, _, rest = document.partition(BEGIN)
    return before + block + rest.partition(END)[2]


def section(verdicts: Sequence[Verdict], classes: Mapping[str, Sequence[str]]) -> str:
    parts = [_head(verdicts), figures(verdicts), _by_class(verdicts, classes), _by_case(verdicts)]
    parts += [_named(verdicts, mark, title) for mark, title in _TITLES]
    return "\n\n".join(part for part in parts if part)


def figures(verdicts: Sequence[Verdict]) -> str:
    counts = Counter(verdict.mark for verdict in verdicts)
    judged = counts["right"] + counts["wrong"]
    releases = {v.version for v in verdicts if v.mark in ("right", "wrong")}
    rows = (
        ("releases that ran", len(releases)),
        ("cases", len({verdict.case for verdict in verdicts})),
        ("pairs", len(verdicts)),
        ("judged", judged),
        ("right", counts["right"]),
        ("wrong", counts["wrong"]),
        ("not known to the release", counts["not known"]),
        ("not run to the end", counts["not run"]),
    )
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {count:,} |" for name, count in rows)])


def _head(verdicts: Sequence[Verdict]) -> str:
    versions = ordered([verdict.version for verdict in verdicts])
    span = f"{versions[0]} to {versions[-1]}" if versions else "none yet"
    return (
        "## Releases and cases\n\n"
        "`uv run python -m lab.matrix` runs releases of the real client through cases, on\n"
        "loopback, and judges each pair by the evidence it left. A pair is right if every call\n"
        "that the stand-in served is captured once, in its session, with the usage that was\n"
        "served; if nothing is left unexplained; and if the client's own tokens and dollars are\n"
        "those of the wire, or differ by a rule that is named. Of releases that name no session\n"
        f"and write no transcript, the capture alone is judged. Releases: {span}."
    )


def _by_class(verdicts: Sequence[Verdict], classes: Mapping[str, Sequence[str]]) -> str:
    """Return the releases on which cases with a verdict or rule of their own were judged."""
    rows = ["| needs a verdict or rule of its own | releases | right |", "|---|---|---|"]
    for name, cases in classes.items():
        judged = [v for v in verdicts if v.case in cases and v.mark in ("right", "wrong")]
        releases = len({verdict.version for verdict in judged})
        right = _cell(Counter(verdict.mark for verdict in judged))
        rows.append(f"| {name} | {releases} | {right} |")
    return "\n".join(rows)


def _by_case(verdicts: Sequence[Verdict]) -> str:
    """Return the table of right pairs among those judged, by case and line of releases."""
    cells: dict[tuple[str, str], Counter[Mark]] = defaultdict(Counter)
    for verdict in verdicts:
        cells[verdict.case, line_of(verdict.version)][verdict.mark] += 1
    lines = [name for _, name in LINES if any(line == name for _, line in cells)]
    rows = [f"| case | {' | '.join(lines)} |", f"|---|{'---|' * len(lines)}"]
    for case in dict.fromkeys(verdict.case for verdict in verdicts):
        shown = " | ".join(_cell(cells.get((case, line))) for line in lines)
        rows.append(f"| `{case}` | {shown} |")
    return "Right pairs of those judged:\n\n" + "\n".join(rows)


def _cell(counts: Counter[Mark] | None) -> str:
    if not counts:
        return ""
    judged = counts["right"] + counts["wrong"]
    if not judged:
        return "not run" if counts["not run"] else "-"
    text = f"{counts['right']}/{judged}"
    return text if counts["right"] == judged else f"**{text}**"


def _named(verdicts: Sequence[Verdict], mark: Mark, title: str) -> str:
    """Return every pair with this mark: by reason, case and releases."""
    found = [verdict for verdict in verdicts if verdict.mark == mark]
    if not found:
        return ""
    rows = ["| reason | case | releases |", "|---|---|---|"]
    for reason, group in _grouped(found, lambda verdict: verdict.reason):
        for case, pairs in _grouped(group, lambda verdict: verdict.case):
            tried = [verdict.version for verdict in verdicts if verdict.case == case]
            releases = ranges([verdict.version for verdict in pairs], tried)
            rows.append(f"| {_escaped(reason)} | `{case}` | {releases} |")
    return f"{title}\n\n" + "\n".join(rows)


def _grouped(
    verdicts: Iterable[Verdict], key: Callable[[Verdict], str]
) -> list[tuple[str, list[Verdict]]]:
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[key(verdict)].append(verdict)
    return sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
