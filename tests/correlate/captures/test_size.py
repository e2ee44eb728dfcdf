"""The size of captures: all files of all sessions, links not followed, and bounded."""

from pathlib import Path

import pytest

from correlate.captures.size import CapturesSize, captures_size, folder_bytes


@pytest.fixture
def captures(tmp_path: Path) -> Path:
    """Two sessions of 30 bytes in 2 files, `unknown` of 7, and a log of 5."""
    for session in ("s-1", "s-2"):
        folder = tmp_path / "captures" / session
        folder.mkdir(parents=True)
        (folder / "exchanges.jsonl").write_bytes(b"x" * 10)
        (folder / "0001_req_v1_messages.json").write_bytes(b"x" * 20)
    unknown = tmp_path / "captures" / "unknown"
    unknown.mkdir()
    (unknown / "exchanges.jsonl").write_bytes(b"x" * 7)
    (tmp_path / "captures" / "traffic.log").write_bytes(b"x" * 5)
    return tmp_path / "captures"


def test_all_files_count(captures: Path) -> None:
    assert captures_size(captures) == CapturesSize(72, 2)


def test_links_and_folders_do_not_count(captures: Path) -> None:
    (captures / "s-1" / "link.json").symlink_to(__file__)
    (captures / "s-3").symlink_to(Path(__file__).parent)
    (captures / "s-1" / "folder").mkdir()
    assert captures_size(captures) == CapturesSize(72, 2)


def test_measuring_is_bounded(captures: Path) -> None:
    assert captures_size(captures, 3) == CapturesSize(42, 2, is_whole=False)
    assert captures_size(captures, 100) == CapturesSize(72, 2)


def test_what_does_not_exist_has_no_size(tmp_path: Path) -> None:
    assert captures_size(tmp_path / "none") == CapturesSize(0, 0)
    assert folder_bytes(tmp_path / "none") == 0
