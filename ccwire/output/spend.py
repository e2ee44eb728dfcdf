"""Print `ccwire spend`: a table with a bar per row, CSV, and the notes below."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from rich.text import Text

from ccwire.output.fitted import FittedColumn, print_fitted
from ccwire.output.terminal import SafeConsole, safe
from ccwire.wire.format import short_id
from ccwire.wire.models import short_model
from ccwire.wire.usage import TOKEN_CLASSES, TOKEN_GROUPS
from correlate.spend.totals import Row

_BAR = 8
_EIGHTHS = " ▏▎▍▌▋▊▉"
_GROUPS = [group for group in TOKEN_GROUPS if group.kind != "requests"]
_SHORT = {"fresh": "input", "read": "cache read", "write": "cache write", "output": "output"}


def print_spend(to: SafeConsole, by: Sequence[str], rows: Sequence[Row], total: Row) -> None:
    """Print the rows and their total; `≥` marks what may be more."""
    largest = max((row.usd for row in rows), default=0)
    columns = [
        *(FittedColumn(name, 0, len(name), least=10) for name in by),
        FittedColumn("dollars", 1, 7, right=True),
        FittedColumn("output", 2, 6, right=True),
        FittedColumn("input", 5, 5, right=True),
        FittedColumn("cache write", 6, 11, right=True),
        FittedColumn("cache read", 6, 10, right=True),
        FittedColumn("calls", 7, 5, right=True),
        FittedColumn("exact", 3, 5, right=True),
    ]
    projects = _project_names(by, rows)
    cells = [_cells(by, row, projects) for row in rows]
    if to.is_terminal:
        columns.append(FittedColumn("share", 4, _BAR))
        cells = [
            {**cell, "share": Text(_bar(row, largest), "cyan")}
            for cell, row in zip(cells, rows, strict=True)
        ]
    last = dict(_cells(by, total, projects))
    last[by[0]] = "total"
    print_fitted(to, columns, [*cells, last])


def csv_text(by: Sequence[str], rows: Sequence[Row], total: Row) -> str:
    """Return the rows and the total as CSV; a cell that starts as a formula gets a quote."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    classes = [c.name for c in TOKEN_CLASSES]
    rest = ["usd", "exact_usd", "lower_bound_usd", "exact_calls", "lower_bound_calls"]
    rest += ["unknown_calls", "captured_calls", "unpriced_calls"]
    writer.writerow([*by, "calls", *classes, *rest])
    for row in (*rows, total):
        key = row.key or ("total", *("",) * (len(by) - 1))
        found = row.to_json(())
        counts = [found["tokens"][name] for name in classes]
        writer.writerow([*map(_cell, key), row.calls, *counts, *(found[name] for name in rest)])
    return buffer.getvalue()


def _cells(by: Sequence[str], row: Row, projects: Mapping[str, str]) -> dict[str, str | Text]:
    mark = "≥" if row.is_lower_bound else ""
    no_price = row.unpriced_calls and not row.usd
    cells: dict[str, str | Text] = {
        name: _shown(name, projects.get(value, value) if name == "project" else value)
        for name, value in zip(by, row.key, strict=False)
    }
    for group in _GROUPS:
        inexact = "≥" if mark and group.kind == "output" and _is_short(row) else ""
        cells[_SHORT[group.key]] = f"{inexact}{row.tokens.of_group(group):,}"
    cells["dollars"] = "unpriced" if no_price else f"{mark}${row.usd:,.2f}"
    cells["calls"] = f"{row.calls:,}"
    cells["exact"] = f"{100 * row.by_finality['exact'] // max(row.calls, 1)}%"
    return cells


def _project_names(by: Sequence[str], rows: Sequence[Row]) -> dict[str, str]:
    """Return the end of each project's path that no other project has."""
    if "project" not in by:
        return {}
    paths = {row.key[by.index("project")] for row in rows}
    names: dict[str, str] = {}
    left, length = paths, 1
    while left:
        ends = {path: "/".join(PurePath(path).parts[-length:]) or path for path in left}
        several = Counter(ends.values())
        whole = {path for path in left if length >= len(PurePath(path).parts)}
        names |= {path: ends[path] for path in left if several[ends[path]] == 1}
        names |= {path: path for path in whole if path not in names}
        left, length = left - names.keys(), length + 1
    return names


def _is_short(row: Row) -> bool:
    return bool(row.by_finality["lower-bound"] or row.by_finality["unknown"])


def _shown(name: str, value: str) -> str:
    value = safe(value)
    if name == "session":
        return short_id(value)
    return short_model(value) if name == "model" else value


def _bar(row: Row, largest: object) -> str:
    share = float(row.usd) / float(str(largest)) if largest else 0.0
    whole, eighths = divmod(max(round(share * _BAR * 8), 1 if row.usd else 0), 8)
    return "█" * whole + _EIGHTHS[eighths].strip()


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text
