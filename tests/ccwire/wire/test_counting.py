"""What a line of `Tokens` defines, and how counts are read and written under names."""

from dataclasses import dataclass, fields

import pytest

from ccwire.wire.counting import CountFields, Group, TokenClass, defined, token_class, value_at

SUMMED = Group("both", "both of them", path="sum", client="clientSum")


@dataclass
class Made:
    plain: int = token_class("plain_tokens", "prompt", prices=("input_mtok",))
    one_of_two: int = token_class("inner.one", "output", client="one", group=SUMMED)
    other_of_two: int = token_class("inner.two", "output", page_label="the other", group=SUMMED)


def classes() -> tuple[TokenClass, ...]:
    return defined((field.name, field.metadata) for field in fields(Made))


def test_what_is_not_given_follows_from_the_name() -> None:
    plain = classes()[0]
    assert (plain.label, plain.page_label) == ("plain", "plain")
    assert plain.client is None
    assert plain.group == Group(
        "plain", "plain", column="plain", heading="Plain", path="plain_tokens", members=("plain",)
    )


def test_classes_of_a_group_share_it() -> None:
    _, one, other = classes()
    assert one.group == other.group
    assert one.group.members == ("one_of_two", "other_of_two")
    assert (one.group.path, one.group.client, one.group.kind) == ("sum", "clientSum", "output")
    assert (one.label, one.page_label) == ("one of two", "one of two")
    assert (other.label, other.page_label) == ("other of two", "the other")


def test_a_group_of_several_needs_a_name_for_their_sum() -> None:
    alone = Group("alone", "alone")
    given = {"kind": "prompt", "client": None, "prices": (), "page_label": None, "group": alone}
    with pytest.raises(ValueError, match="second: a group of several classes needs the path"):
        defined([("first", {"path": "a", **given}), ("second", {"path": "b", **given})])


def test_the_prompt_is_stacked_below_the_output_and_by_level() -> None:
    groups = [Group("out", "", kind="output", level=0), Group("top", ""), Group("low", "", level=0)]
    assert [g.key for g in sorted(groups, key=lambda g: g.stacking)] == ["low", "top", "out"]


NAMES = CountFields({"a": "a", "b": "inner.b", "c": "inner.c", "d": None}, {"b_and_c": ("b", "c")})


def test_counts_are_read_wherever_they_are() -> None:
    assert NAMES.read({"a": 1, "inner": {"b": 2, "c": 3}, "b_and_c": 5}) == [1, 2, 3, 0]
    assert NAMES.read({}) == [0, 0, 0, 0]


@pytest.mark.parametrize("odd", [None, True, "7", 1.5, [7]])
def test_what_is_no_count_is_none(odd: object) -> None:
    assert NAMES.read({"a": odd, "inner": odd, "b_and_c": odd}) == [0, 0, 0, 0]
    assert NAMES.read({"inner": {"b": odd, "c": odd}}) == [0, 0, 0, 0]


def test_the_rest_of_a_sum_is_of_the_first_class() -> None:
    assert NAMES.read({"b_and_c": 9}) == [0, 9, 0, 0]
    assert NAMES.read({"b_and_c": 9, "inner": {"c": 4}}) == [0, 5, 4, 0]
    assert NAMES.read({"b_and_c": 1, "inner": {"b": 2, "c": 4}}) == [0, 2, 4, 0]


def test_counts_are_written_with_their_sums_and_what_has_no_name_is_not() -> None:
    assert NAMES.write([1, 2, 3, 4]) == {"a": 1, "b_and_c": 5, "inner": {"b": 2, "c": 3}}


def test_a_path_leads_into_an_object_or_nowhere() -> None:
    assert value_at({"inner": {"b": 2}}, "inner.b") == 2
    assert value_at({"inner": 2}, "inner.b") is None
    assert value_at({}, "inner.b") is None
