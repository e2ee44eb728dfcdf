import io

import pytest
from rich.console import Console

from ccwire.output.tables import Column, dollars, print_table, progress_bar, signed


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unpriced"),
        (0.0, "$0.0000"),
        (1234.5, "$1,234.5000"),
        (-0.0373, "-$0.0373"),
        (0.0000375, "$0.00003750"),
    ],
)
def test_dollars_are_exact_enough_to_see(value: float | None, text: str) -> None:
    assert dollars(value) == text


def test_a_difference_has_its_sign() -> None:
    assert [signed(n) for n in (-1200, 0, 3)] == ["-1,200", "0", "+3"]


@pytest.mark.parametrize("width", [40, 200])
def test_a_table_is_no_wider_than_the_terminal(width: int) -> None:
    out = io.StringIO()
    columns = [Column("name", grows=True), Column("n", right=True)]
    print_table(Console(file=out, width=width), columns, [["word " * 20, "[bold]12"]])
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert "[bold]12" in text  # a session's text is not parsed as markup


def test_progress_says_nothing_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("work", 10) as advance:
        advance(10)
    assert capsys.readouterr() == ("", "")


def test_text_is_shortened_before_a_number_is_cut() -> None:
    columns = [Column("total"), Column("wire", right=True), Column("residual", right=True)]
    rows = [["claude-sonnet-4-5-20250929", "", ""], ["dollars", "$0.3560", "-$0.2407"]]
    to = Console(width=40, file=io.StringIO())
    print_table(to, columns, rows)
    assert isinstance(to.file, io.StringIO)
    printed = to.file.getvalue()
    assert max(len(line) for line in printed.splitlines()) <= 40
    assert "claude-sonnet-4-…" in printed
    assert "$0.3560   -$0.2407" in printed
