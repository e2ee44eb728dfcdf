"""The profile of a release."""

import pytest

from ccwire.demo.client.profiles import PROFILES, profile


def test_a_release_between_two_known_ones_behaves_like_the_older() -> None:
    found = profile("2.1.50")
    assert found.version == "2.1.50"
    assert found.usage == PROFILES["2.1.39"].usage == "placeholder"


def test_profiles_are_in_order() -> None:
    releases = [found.release for found in PROFILES.values()]
    assert releases == sorted(releases)


def test_a_release_older_than_all_is_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.0\.0"):
        profile("0.2.9")
