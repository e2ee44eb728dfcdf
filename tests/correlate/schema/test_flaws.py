"""What each release is known to get wrong, held equal to the shipped baselines."""

import pytest

from correlate.schema.flaws import FILE, flaws_of
from lab.atlas.flaws import flaws_text, shipped_snapshots


def test_the_file_is_what_the_baselines_show() -> None:
    assert FILE.read_text(encoding="utf-8") == flaws_text(shipped_snapshots())


def test_a_release_that_writes_early_has_placeholders() -> None:
    found = {flaw.key: flaw.sentence for flaw in flaws_of("2.1.39")}
    assert found == {
        "placeholder": "some lines have no stop reason: their output may be a placeholder",
        "failed-attempts": "failed attempts are not written before 2.1.198",
        "cost-record": "no cost record is written before 2.1.277",
        "side-calls": "side calls (titles, topics, count_tokens) are never written",
    }


def test_the_oldest_release_has_no_request_ids() -> None:
    assert "no-request-id" in {flaw.key for flaw in flaws_of("0.2.114")}


@pytest.mark.parametrize("version", ["2.1.325", "9.9.9", None, "no version"])
def test_the_newest_and_an_unknown_release_lack_side_calls_alone(version: str | None) -> None:
    assert [flaw.key for flaw in flaws_of(version)] == ["side-calls"]
