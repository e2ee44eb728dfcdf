"""The choice of releases, their lines, and how many are named in few words."""

from lab.matrix.releases import PINNED, chosen, line_of, ranges

KNOWN = ["0.2.9", "0.2.70", *(f"1.0.{n}" for n in range(101)), *(f"2.1.{n}" for n in range(326))]


def test_the_first_the_newest_and_those_of_the_tests_are_always_chosen() -> None:
    found = chosen(KNOWN, 10)
    assert {"0.2.70", "2.1.325", "1.0.30", "2.1.168"} <= set(found)
    assert len(found) == len(set(found)) <= 10 + len(PINNED)
    assert chosen(KNOWN, 0) == [version for version in PINNED if version in KNOWN]


def test_a_release_that_ignores_the_proxy_is_never_chosen() -> None:
    assert "0.2.9" not in chosen(KNOWN, len(KNOWN))


def test_a_release_belongs_to_one_line() -> None:
    assert line_of("0.2.126") == "0.2.70 to 0.2.126"
    assert line_of("1.0.61") == "1.0.0 to 1.0.61"
    assert line_of("2.1.85") == "2.1.0 to 2.1.85"
    assert line_of("2.1.86") == "2.1.86 to 2.1.138"
    assert line_of("3.0.0") == "2.1.273 and later"


def test_neighbours_among_those_tried_are_a_range() -> None:
    tried = ["1.0.0", "1.0.5", "1.0.9", "2.1.3", "2.1.7"]
    assert ranges(tried, tried) == "1.0.0 … 2.1.7 (5)"
    assert ranges(["2.1.7", "1.0.0", "1.0.5"], tried) == "1.0.0, 1.0.5, 2.1.7"
