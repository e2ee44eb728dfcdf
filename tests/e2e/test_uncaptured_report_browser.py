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


def tiles(page: Page) -> dict[str, list[str]]:
    """Return the figure of each tile and the words below it."""
    found: list[list[str]] = page.evaluate(
        "[...document.querySelectorAll('#tiles > div')]"
        ".map((tile) => [...tile.children].map((part) => part.textContent))"
    )
    return {name: texts for name, *texts in found}


def test_a_turn_without_usage_makes_every_sum_a_lower_bound(page: Page, tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("Please look.")
    made.call(output=249)
    made.call()
    del made.lines[-1]["message"]["usage"]
    made.write(tmp_path / "claude")
    captured = MadeSession(OTHER)
    captured.call(output=77)
    captured.write(tmp_path / "claude", tmp_path / "captures")
    opened(page, tmp_path, SESSION, "--compare", OTHER)
    rows: list[list[str]] = page.evaluate(
        "[...document.querySelectorAll('#rows tr.row')].map((row) =>"
        " [...row.querySelectorAll('.tokens')].map((cell) => cell.textContent))"
    )
    assert rows[0][-1] == "249" and set(rows[1]) == {NOTHING}
    for name in ("cache read", "output"):
        assert tiles(page)[name][0].startswith("≥ ")
        assert table_row(page, "#compare", name)[0].startswith("≥ ")
    assert table_row(page, "#totals-tables", "output")[0] == "≥ 249"
    assert all(cell.startswith("≥ ") for cell in table_row(page, "#totals-tables", "cache read"))


def test_a_cost_without_some_prices_is_a_lower_bound(page: Page, tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call()
    made.call(model="claude-made-up-9")
    made.write(tmp_path / "claude", tmp_path / "captures")
    whole = MadeSession(OTHER)
    whole.call()
    whole.write(tmp_path / "claude", tmp_path / "captures")
    opened(page, tmp_path, OTHER, "--compare", SESSION)
    mine, other, apart = table_row(page, "#compare", "cost")
    assert (mine[0], other[:3], apart) == ("$", "≥ $", NOTHING)


def test_thinking_of_an_answer_that_had_not_ended_is_a_lower_bound(
    page: Page, tmp_path: Path
) -> None:
    made = MadeSession(SESSION)
    for placeholder in (False, True):
        thinking = {"output_tokens_details": {"thinking_tokens": 30}}
        usage = {"input_tokens": 1, "output_tokens": 90, **thinking}
        made.call(usage=usage, placeholder=placeholder)
    made.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    assert "≥ 60 tokens" in opened(page, tmp_path, SESSION)


def test_a_session_without_a_turn_has_no_cost(page: Page, tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("Nobody answered.")
    made.write(tmp_path / "claude")
    other = MadeSession(OTHER)
    other.call()
    other.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    assert "$" not in opened(page, tmp_path, SESSION)
    assert tiles(page)["Cost"] == [NOTHING, "no turn of its own"]
    opened(page, tmp_path, OTHER, "--compare", SESSION)
    assert table_row(page, "#compare", "cost")[1:] == [NOTHING, NOTHING]
