"""A new token class is one line in `ccwire/wire/usage.py`: everything else follows from it.

The packages are copied, the line is added to the copy, and the copy is run.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ccwire.wire.usage import Tokens
from lab.made_session import made_usage
from tests.correlate.report.made import SESSION, ReportSession
from tests.e2e.browser import browser

ROOT = Path(__file__).parent.parent
PACKAGES = ("addon", "correlate", "ccwire")
LINE = '    made_up: int = token_class("made_up_tokens", "prompt")\n'
MODEL = "claude-opus-5-5"
MADE_UP = (71, 0, 6)  # of the three calls

PROGRAM = """
import json
from addon.storage.traffic_log import summary
from addon.view import answer_text
from ccwire.demo.client.cost import Spent
from ccwire.wire.format import Exchange
from ccwire.wire.usage import Tokens
from correlate.reconcile.prices import price

usage = {"input_tokens": 1, "output_tokens": 2, "made_up_tokens": 5}
tokens = Tokens.of(usage)
start = {"type": "message_start", "message": {"content": [], "usage": usage}}
spent = Spent()
spent.add("claude-opus-5-5", usage)
line = {"sequence": 1, "flow_id": "f", "started": 0.0, "method": "POST", "host": "h", "path": "/"}
print(json.dumps({
    "sum": (tokens + tokens).made_up,
    "difference": (tokens - tokens - tokens).made_up,
    "of_iterations": Tokens.of({"output_tokens": 1, "iterations": [usage, usage]}).made_up,
    "context": tokens.context,
    "is_any": bool(Tokens(made_up=1)),
    "usage": tokens.to_usage(),
    "price": price("claude-opus-5-5", usage, tokens, None),
    "price_of_none": price("claude-opus-5-5", {}, Tokens(input=1), None) is not None,
    "view": answer_text(f"event: message_start\\ndata: {json.dumps(start)}\\n\\n".encode()),
    "line": summary("s", Exchange.from_json({**line, "kind": "messages", "usage": usage})),
    "spent": spent.cost_state()["hasUnknownModelCost"],
}))
"""


class Copy:
    """The packages with one more token class, and a session that has tokens of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in PACKAGES:
            ignored = shutil.ignore_patterns("__pycache__", "baselines")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        path = folder / "ccwire" / "wire" / "usage.py"
        text, found = re.subn(
            r"(?=\n    @classmethod\n    def of\()", LINE, path.read_text(), count=1
        )
        assert found == 1
        path.write_text(text)
        made = ReportSession(SESSION)
        made.prompt("Please look at the file.")
        usages = [made_usage(number, 40) for number in range(len(MADE_UP))]
        for usage, made_up in zip(usages, MADE_UP, strict=True):
            made.call(usage={**usage, "made_up_tokens": made_up} if made_up else usage, model=MODEL)
        counted = sum(map(Tokens.of, usages), Tokens()).to_client()
        made.cost_state(1.0, {MODEL: {**counted, "costUSD": 1.0}})
        made.write(folder / "claude", folder / "captures")

    def python(self, program: str, *arguments: str) -> str:
        given = [f"import sys; sys.path.insert(0, {str(self.folder)!r})\n{program}", *arguments]
        ran = subprocess.run(
            [sys.executable, "-P", "-c", *given],
            cwd=self.folder,
            env={**os.environ, "COLUMNS": "160", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def ccwire(self, *arguments: str) -> str:
        where = ["--captures", str(self.folder / "captures")]
        where += ["--claude-dir", str(self.folder / "claude")]
        return self.python("from ccwire.cli import main; main()", *arguments, *where)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("copy"))


@pytest.fixture(scope="module")
def page(copy: Copy) -> Path:
    path = copy.folder / "report.html"
    copy.ccwire("report", SESSION, "-o", str(path))
    return path


def test_it_is_summed_shown_and_never_free(copy: Copy) -> None:
    found = json.loads(copy.python(PROGRAM))
    assert (found["sum"], found["difference"], found["of_iterations"]) == (10, -5, 10)
    assert found["context"] == 6
    assert found["is_any"] is True
    assert found["usage"]["made_up_tokens"] == 5
    assert found["price"] is None
    assert found["price_of_none"] is True
    assert "input 1 · output 2 · made up 5" in found["view"]
    assert "in 6 out 2" in found["line"]
    assert found["spent"] is True


def test_the_table_has_it_unpriced(copy: Copy) -> None:
    printed = copy.ccwire("reconcile", SESSION)
    rows = [re.split(r"\s{2,}", line.strip()) for line in printed.splitlines()]
    assert ["made up", "77", "77", "-", "-", "unpriced"] in rows
    (heading,) = [row for row in rows if row[0] == "#"]
    calls = [row for row in rows if row[0] in ("1", "2", "3") and row[-1] == "match"]
    place = heading.index("made up") - len(heading)  # from the right: an agent may be empty
    assert [row[place] for row in calls] == [str(n) for n in MADE_UP]
    (dollars,) = [row for row in rows if row[0] == "dollars"]
    assert sum(cell.endswith(" + unpriced") for cell in dollars) == 3
    assert "cost-state: equals the wire exactly; dollars are not compared" in printed
    assert "0 unexplained" in printed


def test_the_json_has_it_unpriced(copy: Copy) -> None:
    found = json.loads(copy.ccwire("reconcile", SESSION, "--json"))
    for side in ("wire", "transcript"):
        assert found["totals"][side]["made_up_tokens"] == 77
        assert found["totals"][side]["models"][MODEL]["made_up_tokens"] == 77
    assert found["cost"]["unpriced"] == [MODEL]
    paid = found["cost"]["wire_by_model"][MODEL]
    assert paid["made_up"] is None
    assert 0 < paid["total"] == pytest.approx(found["cost"]["wire_usd"])
    assert found["summary"]["context_peak"] == 5 + 702 + 13_400 + 6


def test_the_page_has_it_in_its_data(page: Path) -> None:
    written = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)
    assert written is not None
    data: dict[str, Any] = json.loads(written[1])
    assert data["token_classes"][-1] == {
        "name": "made_up",
        "label": "made up",
        "path": "made_up_tokens",
        "in_cost_state": False,
    }
    keys = [group["key"] for group in data["token_groups"]]
    assert keys == ["read", "write", "fresh", "made_up", "output"]
    place = keys.index("made_up")
    assert [call["tokens"][place] for call in data["calls"]] == list(MADE_UP)


def test_the_page_draws_it(page: Path) -> None:
    def texts(selector: str) -> str:
        found = f"[...document.querySelectorAll('{selector}')].map((e) => e.textContent)"
        return f"{found}.filter((text) => text.toLowerCase().startsWith('made up'))"

    with browser() as tab:
        tab.look(width=1280)
        tab.open(page.as_uri())
        assert tab.evaluate(texts("#tiles > div")) == ["made up770.2 % of prompt tokens"]
        assert tab.evaluate(texts("#context-legend li")) == ["made up"]
        assert tab.evaluate(texts("#table th")) == ["Made up"]
        assert tab.evaluate(texts("#totals-tables tr")) == [
            "made up7777\N{EN DASH}\N{EN DASH}unpriced"
        ]
        column = "[...document.querySelectorAll('#rows .made_up')].map((e) => e.textContent)"
        assert tab.evaluate(column) == [str(n) for n in MADE_UP]
        assert tab.complaints == []
