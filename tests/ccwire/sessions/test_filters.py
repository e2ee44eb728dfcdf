"""Which sessions a command is about: the values of its options, and what they choose."""

import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccwire.sessions.filters import (
    ALL,
    Project,
    SessionFilter,
    largest,
    parse_age,
    parse_limit,
    parse_project,
    parse_size,
    parse_when,
)
from tests.properties import property_test

NOW = datetime(2026, 11, 18, 15, 30)
UNITS = {"h": 3600, "d": 86_400, "w": 604_800}


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("7d", NOW - timedelta(days=7)),
        ("24h", NOW - timedelta(hours=24)),
        ("2W", NOW - timedelta(weeks=2)),
        (" 90 h ", NOW - timedelta(hours=90)),
        ("today", datetime(2026, 11, 18)),
        ("Yesterday", datetime(2026, 11, 17)),
        ("2026-11-01", datetime(2026, 11, 1)),
        ("2026-11-01T12:30", datetime(2026, 11, 1, 12, 30)),
    ],
)
def test_when_is_an_age_a_date_or_a_word(text: str, means: datetime) -> None:
    assert parse_when(text, NOW) == means.timestamp()


@pytest.mark.parametrize("text", ["", "7", "7x", "-7d", "1.5d", "soon", "2026-13-01", "\u0667d"])
def test_any_other_when_is_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(ValueError, match="expected an age"):
        parse_when(text, NOW)


@given(st.integers(0, 10**6), st.sampled_from(sorted(UNITS)))
@property_test
def test_an_age_is_subtracted_from_now(amount: int, unit: str) -> None:
    assert parse_age(f"{amount}{unit}") == amount * UNITS[unit]
    assert parse_when(f"{amount}{unit}", NOW) == NOW.timestamp() - amount * UNITS[unit]


@given(st.text(max_size=12))
@property_test
def test_any_text_is_a_value_or_one_kind_of_error(text: str) -> None:
    for parse in (lambda t: parse_when(t, NOW), parse_age, parse_size, parse_limit):
        try:
            assert isinstance(parse(text), int | float)
        except ValueError as error:
            assert str(error).startswith("expected")


@given(st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)))
@property_test
def test_a_date_is_its_local_time(at: datetime) -> None:
    assert parse_when(at.isoformat(), NOW) == at.timestamp()


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("5GB", 5 * 10**9),
        ("5g", 5 * 10**9),
        ("500 MB", 500 * 10**6),
        ("1.5GiB", 3 * 2**29),
        ("2kB", 2000),
        ("1TB", 10**12),
    ],
)
def test_a_size_has_a_unit(text: str, means: int) -> None:
    assert parse_size(text) == means


@pytest.mark.parametrize("text", ["", "GB", "-5GB", "5 PB", "5iB", "1e9", "five", "5", "812", "5B"])
def test_any_other_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a number of bytes"):
        parse_size(text)


@given(st.integers(0, 10**9), st.sampled_from(["k", "M", "G", "T"]))
@property_test
def test_a_size_grows_by_its_unit(amount: int, unit: str) -> None:
    power = " kMGT".index(unit)
    assert parse_size(f"{amount}{unit}B") == amount * 1000**power


def test_a_limit_is_a_number_or_all() -> None:
    assert [parse_limit(text) for text in ("10", "0", "all", "ALL")] == [10, ALL, ALL, ALL]
    with pytest.raises(ValueError, match="or all"):
        parse_limit("-1")


def test_a_project_is_a_folder_with_those_below_it(tmp_path: Path) -> None:
    here = parse_project(".", tmp_path)
    assert here.matches(str(tmp_path))
    assert here.matches(str(tmp_path / "src"))
    assert not here.matches(f"{tmp_path}-other")
    assert not here.matches(None)
    assert parse_project("../b", tmp_path / "a").matches(str(tmp_path / "b"))


def test_a_project_may_be_reached_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    linked = parse_project(str(tmp_path / "link"), tmp_path)
    assert linked.matches(str(tmp_path / "real"))
    assert linked.matches(str(tmp_path / "link"))


def test_a_project_may_be_a_part_of_a_name() -> None:
    shop = Project(name="SHO")
    assert shop.matches("/projects/my-shop")
    assert not shop.matches("/shop/ledger")  # the folder's own name counts


def test_a_home_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="home folder"):
        parse_project(f"~{'x' * 40}/a", tmp_path)
    assert parse_project("~", tmp_path).folders[0] == os.path.expanduser("~")  # noqa: PTH111


@pytest.mark.parametrize(
    ("started", "last", "fits"),
    [(1, 5, False), (5, 15, True), (12, 15, True), (25, 30, False), (12, None, True)],
)
def test_a_session_fits_if_it_was_used_in_between(
    started: float, last: float | None, fits: bool
) -> None:
    assert SessionFilter(since=10, until=20).fits_time(started, last) is fits


def test_a_session_without_a_time_fits_no_time() -> None:
    assert not SessionFilter(since=10).fits_time(None, None)
    assert not SessionFilter(until=10).fits_time(None, None)
    assert SessionFilter().fits_time(None, None)


@given(st.lists(st.one_of(st.none(), st.integers())), st.integers(0, 10))
@property_test
def test_the_limit_keeps_the_largest(values: list[int | None], limit: int) -> None:
    found = largest(values, lambda value: value, limit)
    known = sorted((value for value in values if value is not None), reverse=True)
    expected = [*known, *[None] * values.count(None)]
    assert found == (expected[:limit] if limit else expected)
