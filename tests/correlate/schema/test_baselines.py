"""The shipped baselines: readable, small, sorted, and without private data."""

import re
from pathlib import Path

import pytest

from ccwire.wire.versions import parse_version
from correlate.schema.baseline import FOLDER, baseline_version, shipped, shipped_versions
from correlate.schema.snapshot.file import dumps, loads
from correlate.schema.snapshot.snapshot import Snapshot, paths

FILES = sorted(FOLDER.glob("*.json"))


def has(snapshot: Snapshot, bucket: str, path: str = "") -> bool:
    return bucket in snapshot and path in {p for p, _ in paths(snapshot[bucket])}


def test_there_are_baselines_from_the_first_releases_to_the_newest_known() -> None:
    known = shipped_versions()
    assert len(known) >= 40
    assert parse_version(known[0]) < (1, 0, 0)
    assert known[-1] == "2.1.325"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_baseline_is_a_small_snapshot_without_places(path: Path) -> None:
    text = path.read_text()
    assert len(text) < 200_000
    assert dumps(loads(text)) == text
    assert '"at"' not in text
    assert '"absent"' not in text
    assert not re.search(r"/(home|root|tmp)/|[0-9a-f]{8}-[0-9a-f]{4}-|lab:", text)


@pytest.mark.parametrize(
    ("version", "bucket", "path", "expected"),
    [
        ("2.1.39", "wire/header/request/messages", "x-claude-code-session-id", False),
        ("2.1.168", "wire/header/request/messages", "x-claude-code-session-id", True),
        ("2.1.39", "wire/request/messages", "metadata.user_id.session_id", False),
        ("2.1.168", "wire/request/messages", "metadata.user_id.session_id", True),
        ("2.1.168", "wire/header/request/messages", "x-claude-code-request-class", False),
        ("2.1.325", "wire/header/request/messages", "x-claude-code-request-class", True),
        ("2.1.168", "transcript/cost-state", "", False),
        ("2.1.325", "transcript/cost-state", "", True),
        ("2.1.325", "transcript/api-request", "", True),
        ("2.1.325", "hook/SessionStart", "source", True),
    ],
)
def test_they_know_what_came_when(version: str, bucket: str, path: str, expected: bool) -> None:
    assert has(shipped(version), bucket, path) is expected


def test_a_release_between_two_has_the_older_ones_baseline() -> None:
    known = shipped_versions()
    assert baseline_version(known[-1]) == known[-1]
    assert baseline_version("99.0.0") == known[-1]
    assert baseline_version(None) == known[-1]
