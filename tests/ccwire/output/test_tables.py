import io
from datetime import datetime

import pytest
from rich.console import Console

from ccwire.output.tables import (
    Column,
    day,
    dollars,
    duration,
    print_table,
    progress_bar,
    signed,
    size,
)


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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (812, "812 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (9_949, "9.9 kB"),
        (9_950, "10 kB"),
        (193_400_000, "193 MB"),
        (999_499_999, "999 MB"),
        (999_500_000, "1.0 GB"),
        (1_240_000_000, "1.2 GB"),
        (5 * 10**15, "5,000 TB"),
    ],
)
def test_a_size_has_two_or_three_digits(value: int, text: str) -> None:
    assert size(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (59.4, "59s"),
        (59.6, "1m 0s"),
        (3_599, "59m 59s"),
        (11_520, "3h 12m"),
        (86_400 * 2 + 3_600 * 4, "2d 4h"),
    ],
)
def test_a_duration_has_two_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_day_of_another_year_has_its_year() -> None:
    now = datetime(2026, 11, 18)
    moments = (datetime(2026, 1, 2, 3, 4), datetime(2025, 12, 31))
    assert [day(at.timestamp(), now) for at in moments] == ["01-02 03:04", "2025-12-31"]
    assert [day(at, now) for at in (None, -1.0, 1e15)] == ["-", "-", "-"]  # files may have any time
