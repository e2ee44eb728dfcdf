"""Rows by local day, week and month, and how much of them is exact."""

import time
from datetime import UTC, datetime

import pytest

from correlate.spend.calls import SpendCall
from correlate.spend.totals import total_rows
from correlate.transcript.finality import Finality


def _call(at: str | None = "2026-11-01T10:00:00", finality: Finality = "exact") -> SpendCall:
    when = None if at is None else datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()
    return SpendCall(
        at=when,
        session_id="one",
        project="/lab",
        branch=None,
        version="2.1.325",
        agent="main",
        asked="claude-opus-4-5",
        usage=None if finality == "unknown" else {"input_tokens": 10, "output_tokens": 100},
        finality=finality,
        source="transcript",
    )


@pytest.mark.parametrize(
    ("zone", "at", "day", "week", "month"),
    [
        ("UTC", "2026-12-31T23:59:59", "2026-12-31", "2026-W53", "2026-12"),
        ("Pacific/Auckland", "2026-12-31T23:59:59", "2027-01-01", "2026-W53", "2027-01"),
        ("Pacific/Auckland", "2027-01-03T11:00:00", "2027-01-04", "2027-W01", "2027-01"),
        # The clocks go back in New York: 01:30 is there twice, and midnight is at 05:00.
        ("America/New_York", "2026-11-01T05:30:00", "2026-11-01", "2026-W44", "2026-11"),
        ("America/New_York", "2026-11-01T03:59:59", "2026-10-31", "2026-W44", "2026-10"),
        ("America/New_York", "2026-11-02T04:59:59", "2026-11-01", "2026-W44", "2026-11"),
    ],
)
def test_days_are_those_of_the_users_time_zone(
    monkeypatch: pytest.MonkeyPatch, zone: str, at: str, day: str, week: str, month: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        found = {by: total_rows([_call(at)], (by,))[0][0].key for by in ("day", "week", "month")}
    finally:
        monkeypatch.undo()
        time.tzset()
    assert found == {"day": (day,), "week": (week,), "month": (month,)}


def test_a_call_without_a_time_has_a_row_of_its_own() -> None:
    rows, _ = total_rows([_call(), _call(None)], ("month", "agent"))
    assert [row.key for row in rows] == [("(unknown)", "main"), ("2026-11", "main")]


def test_a_row_is_split_into_exact_lower_bound_and_unknown() -> None:
    calls = [_call(), _call(finality="lower-bound"), _call(finality="unknown")]
    (row,), total = total_rows(calls, ("project",))
    assert row.by_finality == {"exact": 1, "lower-bound": 1, "unknown": 1}
    assert row.exact_usd == row.lower_bound_usd == total.usd / 2
    assert row.is_lower_bound
    assert not total_rows([_call()], ("project",))[1].is_lower_bound
