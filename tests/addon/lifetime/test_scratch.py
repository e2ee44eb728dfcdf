import os
import tempfile
from pathlib import Path

import pytest

from addon.lifetime import scratch


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return scratch.new_folder()


def test_a_folder_is_created_when_it_is_held(folder: Path) -> None:
    assert not folder.exists()
    os.close(scratch.hold(folder))
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_stale_folder_is_removed_and_one_in_use_is_kept(folder: Path) -> None:
    stale = scratch.new_folder()
    os.close(scratch.hold(stale))
    (stale / "settings.json").write_text("{}")
    owners = [scratch.hold(folder), scratch.hold(folder)]  # the run and its proxy
    scratch.remove_stale()
    assert (folder.exists(), stale.exists()) == (True, False)
    for owner in owners:
        assert folder.exists()
        os.close(owner)
        scratch.remove_stale()
    assert not folder.exists()


def test_a_folder_without_a_lock_is_left_alone(tmp_path: Path) -> None:
    """It may be of an older release, which runs."""
    (tmp_path / "ccwire-run-older").mkdir()
    scratch.remove_stale()
    assert (tmp_path / "ccwire-run-older").is_dir()


def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path: Path, folder: Path) -> None:
    theirs = tmp_path / "theirs"
    os.close(scratch.hold(theirs))
    folder.symlink_to(theirs)
    with pytest.raises(PermissionError, match="belongs to another user"):
        scratch.hold(folder)
    scratch.remove_stale()
    assert theirs.is_dir()


def test_a_folder_that_is_removed_meanwhile_is_created_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([False, True])
    monkeypatch.setattr(scratch, "_is_at", lambda descriptor, path: next(answers))
    os.close(scratch.hold(folder))
    assert folder.is_dir()
