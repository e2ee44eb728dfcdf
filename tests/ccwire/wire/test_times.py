import re

import pytest

from ccwire.wire.times import clock, instant, iso


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2026-11-16T00:00:00.500Z", 1794787200.5),
        ("nonsense", None),
        (12.5, 12.5),
        (None, None),
        (True, None),
    ],
)
def test_times_are_seconds(value: object, seconds: float | None) -> None:
    assert instant(value) == seconds


def test_an_iso_time_is_in_utc_to_the_millisecond() -> None:
    assert iso(0.0) == "1970-01-01T00:00:00.000+00:00"
    assert instant(iso(1794787200.5)) == 1794787200.5


def test_a_clock_is_hours_minutes_and_seconds() -> None:
    assert re.fullmatch(r"\d\d:\d\d:07", clock(7.9))
