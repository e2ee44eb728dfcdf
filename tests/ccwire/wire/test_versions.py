"""Versions are compared by their numbers."""

import pytest

from ccwire.wire.versions import announced_version, nearest_older, parse_version, version_range


def test_numbers_sort_as_numbers() -> None:
    assert sorted(["2.1.10", "2.1.9", "1.0.128"], key=parse_version) == [
        "1.0.128",
        "2.1.9",
        "2.1.10",
    ]


@pytest.mark.parametrize(
    ("versions", "shown"),
    [([], "?"), (["2.1.9"], "2.1.9"), (["2.1.10", "2.1.9", "1.0.0"], "1.0.0 … 2.1.10")],
)
def test_a_range(versions: list[str], shown: str) -> None:
    assert version_range(versions) == shown


def test_the_nearest_older() -> None:
    assert nearest_older("2.1.20", ["2.1.9", "2.1.100"]) == "2.1.9"
    assert nearest_older(None, ["2.1.9", "2.1.100"]) == "2.1.100"
    assert nearest_older("1.0.0", ["2.1.9"]) is None


def test_a_version_is_parsed_from_the_client_s_output() -> None:
    assert announced_version("2.1.325 (Claude Code)\n") == (2, 1, 325)
    assert announced_version("v20.20.2") is None
