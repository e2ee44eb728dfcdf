"""Tables with one line per row: which columns are shown, how wide, and that no line wraps."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ccwire.output.fitted import (
    FittedColumn,
    FittedTable,
    cells_of,
    cut,
    fitted_widths,
    print_fitted,
)
from ccwire.output.terminal import SafeConsole
from lab.terminal import Terminal
from tests.properties import property_test

COLUMNS = [
    FittedColumn("id", 0, 8),
    FittedColumn("size", 2, 6, right=True),
    FittedColumn("project", 3, 20, least=10),
    FittedColumn("n", 4, 1, right=True),
    FittedColumn("title", 1, 30, least=12),
]
TITLES = [
    "plain",
    "a title that is much too long for any of these widths " * 5,
    "日本語のタイトルがとても長い場合でも一行に収まる" * 4,
    "👩‍👩‍👧‍👦 ❤️ 🇩🇪 👍🏽 1️⃣ " * 20,
    "two\nlines\r\nand\ttabs \x1b[31mred\x1b[0m \x07 \u202eturned",
    "e\u0301" * 200,
]


def printed(rows: list[dict[str, str]], width: int) -> str:
    out = io.StringIO()
    print_fitted(SafeConsole(file=out, width=width), COLUMNS, rows)
    return out.getvalue()


@pytest.mark.parametrize(
    ("room", "widths"),
    [
        (5, {"id": 8}),
        (22, {"id": 8, "title": 12}),
        (24, {"id": 8, "title": 14}),
        (30, {"id": 8, "title": 12, "size": 6}),
        (33, {"id": 8, "title": 12, "size": 6, "n": 1}),
        (42, {"id": 8, "title": 12, "size": 6, "project": 10}),
        (80, {"id": 8, "title": 30, "size": 6, "project": 20, "n": 1}),
    ],
)
def test_columns_are_shown_by_rank_and_growing_ones_get_the_rest(
    room: int, widths: dict[str, int]
) -> None:
    assert fitted_widths(COLUMNS, room) == widths


@given(st.integers(8, 300))
@property_test
def test_the_widths_never_exceed_the_room(room: int) -> None:
    widths = fitted_widths(COLUMNS, room)
    assert sum(widths.values()) + 2 * (len(widths) - 1) <= room


@given(st.text(max_size=60), st.integers(1, 40))
@property_test
def test_a_cut_text_fits_and_says_that_it_was_cut(text: str, width: int) -> None:
    found = cut(text, width)
    assert cells_of(found) <= width
    assert found == text or (found.endswith("…") and text.startswith(found[:-1]))


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_each_row_is_one_line_on_a_terminal(width: int) -> None:
    rows = [
        {"id": f"{n:08}", "size": "1.2 MB", "project": "長い" * 9, "n": "7", "title": title}
        for n, title in enumerate(TITLES)
    ]
    text = printed(rows, width)
    assert max(map(cell_len, text.splitlines())) <= width
    screen = Terminal(50, width)
    screen.feed(text.replace("\n", "\r\n").encode())
    lines = [line for line in screen.lines() if line]
    assert [line[:8].rstrip() for line in lines] == ["id", *(f"{n:08}" for n in range(len(rows)))]


def test_control_characters_are_shown_and_not_sent() -> None:
    text = printed([{"id": "1", "title": TITLES[4]}], 80)
    assert "\x1b" not in text
    assert "␛[31m" in text


def test_a_number_is_never_cut() -> None:
    out = io.StringIO()
    table = FittedTable(SafeConsole(file=out, width=30), COLUMNS)
    table.print_row({"id": "1", "size": "1,234,567 B", "title": "a"})
    assert "1,234,567 B" in out.getvalue()
