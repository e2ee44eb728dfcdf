"""The page of a session without a capture, in a real browser: nothing unknown is shown as exact."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from ccwire.cli import main
from lab.made_session import MadeSession
from tests.e2e.browser import Page, browser

SESSION = "6f1c0000-0000-4000-8000-000000000001"
NOTHING = "\N{EN DASH}"
OTHER = "aaaa0000-0000-4000-8000-000000000001"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browser() as tab:
        yield tab


def opened(page: Page, root: Path, session: str, *words: str) -> str:
    """Write the page, open it and every row, and return its text."""
    places = ["--captures", str(root / "captures"), "--claude-dir", str(root / "claude")]
    target = root / "page.html"
    words = ("report", session, *words, "-o", str(target), *places)
    ran = CliRunner().invoke(main, words)
    assert ran.exit_code == 0, ran.output
    page.complaints.clear()
    page.open(target.as_uri())
    page.evaluate("document.querySelectorAll('#rows [aria-expanded]').forEach((b) => b.click())")
    assert page.complaints == []
    return str(page.evaluate("document.body.innerText"))


def table_row(page: Page, table: str, name: str) -> list[str]:
    """Return the other cells of the row of a table that starts with a name."""
    rows: list[list[str]] = page.evaluate(
        f"[...document.querySelectorAll('{table} tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return next(cells for name_, *cells in rows if name_ == name)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("uncaptured")
    early = MadeSession(SESSION, version="2.1.39", final=False)
    early.prompt("Please look at the file.")
    early.call(("text", "tool_use"), output=249)
    early.tool_result("some output")
    early.call(output=80)
    early.write(root / "claude")
    captured = MadeSession(OTHER)
    captured.prompt("The same, captured.")
    captured.call(output=77)
    captured.write(root / "claude", root / "captures")
    return root


def test_a_placeholder_is_a_lower_bound_everywhere(page: Page, root: Path) -> None:
    text = opened(page, root, SESSION)
    assert "No call of this session was captured" in text
    assert "no response" not in text
    assert "first byte" not in text
    assert "≤ 2.0 s" in text
    tokens, usd = table_row(page, "#totals-tables", "output")
    assert tokens == "≥ 4"
    assert usd.startswith("≥ $")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert table_row(page, "#rows", "output_tokens") == [NOTHING, "≥ 2"]


def test_the_time_of_a_turn_without_a_record_before_it_is_not_known(
    page: Page, tmp_path: Path
) -> None:
    made = MadeSession(SESSION)
    made.call()
    made.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    text = opened(page, tmp_path, SESSION)
    assert "≤" not in text
    took = page.evaluate("document.querySelector('#rows td.took').textContent")
    assert took == NOTHING


def test_it_is_compared_by_what_its_transcript_has(page: Page, root: Path) -> None:
    opened(page, root, SESSION, "--compare", OTHER)
    assert table_row(page, "#compare", "calls") == [NOTHING, "1", NOTHING]
    assert table_row(page, "#compare", "cache read") == ["26,100", "12,700", "\N{MINUS SIGN}13,400"]
    assert table_row(page, "#compare", "output") == ["≥ 4", "77", NOTHING]
    mine, other, apart = table_row(page, "#compare", "cost")
    assert mine.startswith("≥ $0.0")
    assert other.startswith("$0.0")
    assert apart == NOTHING


def test_a_captured_session_is_compared_with_it(page: Page, root: Path) -> None:
    opened(page, root, OTHER, "--compare", SESSION)
    assert table_row(page, "#compare", "output") == ["77", "≥ 4", NOTHING]


def test_an_unknown_price_is_no_lower_bound(page: Page, tmp_path: Path) -> None:
    made = MadeSession(SESSION, model="claude-made-up-9", final=False)
    made.call()
    made.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    text = opened(page, tmp_path, SESSION)
    assert "≥ unpriced" not in text
    assert "without made-up-9 (unknown price)" in text
