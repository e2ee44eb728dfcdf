import re

import pytest

from correlate.search.lines import Line, matching_lines


def found(words: str, pattern: str, context: int = 0) -> tuple[tuple[Line, ...], int]:
    return matching_lines(words, re.finditer(pattern, words), context)


def test_each_line_has_its_number_and_the_places_of_its_matches() -> None:
    assert found("one\ntwo one\n\nthree one one", "one") == (
        (
            Line(1, "one", ((0, 3),)),
            Line(2, "two one", ((4, 7),)),
            Line(4, "three one one", ((6, 9), (10, 13))),
        ),
        4,
    )


def test_the_first_lines_are_kept_and_all_matches_are_counted() -> None:
    lines, times = found("x\n" * 40, "x")
    assert ([line.number for line in lines], times) == ([1, 2, 3, 4, 5], 40)


def test_lines_around_a_match_have_no_places() -> None:
    lines, _ = found("a\nb\nc\nd", "c", context=1)
    assert lines == (Line(2, "b"), Line(3, "c", ((0, 1),)), Line(4, "d"))


def test_a_match_over_two_lines_is_shown_with_the_first() -> None:
    assert found("end\nstart", "d\ns") == ((Line(1, "end", ((2, 3),)),), 1)


def test_a_match_of_the_end_of_a_line_is_on_that_line() -> None:
    assert [line.number for line in found("ab\ncd\n", "b$|\n")[0]] == [1, 2]


@pytest.mark.parametrize("at", [0, 50, 300, 5000])
def test_a_long_line_is_cut_around_its_first_match(at: int) -> None:
    ((line,), times) = found("-" * at + "here" + "-" * 400 + "here", "here")
    start, end = line.spans[0]
    assert (line.text[start:end], times, len(line.text) <= 242) == ("here", 2, True)


def test_a_match_at_every_character_of_a_long_line_is_looked_at_once() -> None:
    ((line,), times) = found("a" * 300_000, "a")
    assert times == 300_000 and len(line.spans) == 240
