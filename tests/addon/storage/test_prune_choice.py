"""Which sessions are deleted: any condition asks for it, the newest and those in use are kept."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.storage.prune_choice import Candidate, Conditions, choose
from tests.properties import property_test


def made(name: str, last_used: float, size: int = 10, in_use: str | None = None) -> Candidate:
    return Candidate(name, Path(name), last_used, size, in_use)


# a is the oldest; d is in use.
SESSIONS = [made("c", 30), made("a", 10), made("d", 40, in_use="running"), made("b", 20)]
UNKNOWN = made("unknown", 5, 1000)


def chosen(conditions: Conditions, sessions: list[Candidate] = SESSIONS) -> list[tuple[str, str]]:
    return [(one.session_id, reason) for one, reason in choose(sessions, conditions).delete]


@pytest.mark.parametrize(
    ("conditions", "deleted"),
    [
        (Conditions(older_than=25), [("a", "older"), ("b", "older")]),
        (Conditions(older_than=10), []),
        (Conditions(older_than=100), [("a", "older"), ("b", "older"), ("c", "older")]),
        (Conditions(larger_than=40), []),
        (Conditions(larger_than=39), [("a", "larger")]),
        (Conditions(larger_than=15), [("a", "larger"), ("b", "larger"), ("c", "larger")]),
        (Conditions(keep=3), [("a", "not kept")]),
        (Conditions(keep=9), []),
        (Conditions(keep=0), [("a", "not kept"), ("b", "not kept"), ("c", "not kept")]),
        (Conditions(named=frozenset("c")), [("c", "named")]),
        # With another condition, --keep only protects.
        (Conditions(older_than=100, keep=3), [("a", "older")]),
        (Conditions(older_than=15, keep=1), [("a", "older")]),
        (Conditions(larger_than=0, keep=2), [("a", "larger"), ("b", "larger")]),
        (Conditions(named=frozenset("b"), keep=1), [("b", "named")]),
        # What one condition deletes counts for the size.
        (Conditions(named=frozenset("c"), larger_than=30), [("c", "named")]),
        (Conditions(named=frozenset("c"), larger_than=29), [("a", "larger"), ("c", "named")]),
        (Conditions(older_than=15, larger_than=25), [("a", "older"), ("b", "larger")]),
        (Conditions(), []),
    ],
)
def test_conditions_combine(conditions: Conditions, deleted: list[tuple[str, str]]) -> None:
    assert chosen(conditions) == deleted


def test_unknown_is_deleted_by_name_or_age_only() -> None:
    sessions = [*SESSIONS, UNKNOWN]
    assert chosen(Conditions(larger_than=40), sessions) == []
    assert chosen(Conditions(keep=4), sessions) == []
    assert chosen(Conditions(keep=0, older_than=6), sessions) == [("unknown", "older")]
    assert chosen(Conditions(named=frozenset({"unknown"})), sessions) == [("unknown", "named")]


def test_a_session_that_is_asked_for_and_kept_is_named() -> None:
    spared = choose(SESSIONS, Conditions(older_than=100)).spared
    assert [(one.session_id, why) for one, why in spared] == [("d", "running")]
    spared = choose(SESSIONS, Conditions(named=frozenset("c"), keep=2)).spared
    assert [(one.session_id, why) for one, why in spared] == [("c", "it is among the newest 2")]


candidates = st.lists(
    st.builds(
        made,
        st.uuids().map(str),
        st.integers(0, 100),
        st.integers(0, 50),
        st.sampled_from([None, None, "running"]),
    ),
    max_size=12,
    unique_by=lambda one: one.session_id,
)
maybe = st.one_of(st.none(), st.integers(0, 120))


@given(candidates, maybe, maybe, maybe)
@property_test
def test_what_is_deleted_was_asked_for_and_may_be(
    sessions: list[Candidate], older: int | None, larger: int | None, keep: int | None
) -> None:
    conditions = Conditions(older_than=older, larger_than=larger, keep=keep)
    deleted = choose(sessions, conditions).delete
    gone = [one for one, _ in deleted]
    rest = [one for one in sessions if one not in gone]
    assert len(set(gone)) == len(gone)
    assert not any(one.in_use for one in gone)
    assert len(rest) >= min(keep or 0, len(sessions))
    if gone and keep:
        newest = sorted(sessions, key=lambda one: one.last_used)[-keep:]
        assert min(one.last_used for one in newest) >= max(one.last_used for one in gone)
    for one, reason in deleted:
        assert reason != "older" or (older is not None and one.last_used < older)
    if larger is not None and not keep and not any(one.in_use for one in sessions):
        assert sum(one.bytes for one in rest) <= larger


@given(candidates, st.integers(0, 200))
@property_test
def test_no_more_is_deleted_than_the_size_needs(sessions: list[Candidate], larger: int) -> None:
    gone = [one for one, _ in choose(sessions, Conditions(larger_than=larger)).delete]
    if gone:
        youngest = gone[-1]
        rest = sum(one.bytes for one in sessions if one not in gone)
        assert rest + youngest.bytes > larger


def test_the_order_on_disk_does_not_matter() -> None:
    same = [replace(one) for one in reversed(SESSIONS)]
    assert chosen(Conditions(keep=2), same) == chosen(Conditions(keep=2))
