import pytest

from ccwire.wire.vocabulary import ENDPOINT_KINDS, SESSION_STATES, one_of


@pytest.mark.parametrize("value", ["", "Active", None, 3, ["active"]])
def test_a_value_of_no_vocabulary_is_none(value: object) -> None:
    assert one_of(SESSION_STATES, value) is None


def test_every_name_is_itself() -> None:
    assert tuple(one_of(ENDPOINT_KINDS, name) for name in ENDPOINT_KINDS) == ENDPOINT_KINDS
