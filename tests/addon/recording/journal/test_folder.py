import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from addon.recording.journal import folder
from addon.recording.journal.folder import JournalFolder, abandoned, clear_forgotten, journals_of

DAY = 86_400.0


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in place of the memory file system."""
    place = tmp_path / "memory"
    place.mkdir()
    monkeypatch.setattr(folder, "MEMORY", place)
    monkeypatch.setattr(folder, "_is_in_memory", lambda path: True)
    yield place


def test_a_journal_in_use_is_not_abandoned(memory: Path, tmp_path: Path) -> None:
    made = JournalFolder.create(tmp_path / "captures", "run-x")
    joined = JournalFolder.join(made.path)
    assert joined.run == "run-x"
    made.close()
    assert list(abandoned(tmp_path / "captures")) == []
    joined.close()
    (found,) = abandoned(tmp_path / "captures")
    assert (found.path, found.run) == (made.path, "run-x")
    assert list(abandoned(tmp_path / "captures")) == []  # it is locked now
    found.remove()
    assert journals_of(tmp_path / "captures") == []


def test_journals_of_other_captures_are_left_alone(memory: Path, tmp_path: Path) -> None:
    made = JournalFolder.create(tmp_path / "captures")
    made.close()
    assert list(abandoned(tmp_path / "others")) == []
    assert made.path.exists()


@pytest.mark.parametrize(
    ("age", "is_there", "is_kept"), [(0, False, True), (2, True, True), (2, False, False)]
)
def test_the_journal_of_captures_that_are_gone_is_removed_after_a_day(
    memory: Path, tmp_path: Path, age: int, is_there: bool, is_kept: bool
) -> None:
    made = JournalFolder.create(tmp_path / "captures")
    made.close()
    if is_there:
        (tmp_path / "captures").mkdir()
    clear_forgotten(time.time() + age * DAY)
    assert made.path.exists() == is_kept


def test_one_in_use_is_never_removed(memory: Path, tmp_path: Path) -> None:
    made = JournalFolder.create(tmp_path / "captures")
    clear_forgotten(time.time() + 2 * DAY)
    assert made.path.exists()
    made.remove()
    assert not made.path.exists()


def test_a_base_that_is_not_ours_is_not_used(memory: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (memory / f"ccwire-{os.getuid()}").symlink_to(elsewhere)
    with pytest.raises(OSError):
        JournalFolder.create(tmp_path / "captures")
    assert list(elsewhere.iterdir()) == []


def test_a_base_that_others_can_read_is_closed_to_them(memory: Path, tmp_path: Path) -> None:
    base = memory / f"ccwire-{os.getuid()}"
    base.mkdir()
    base.chmod(0o777)
    JournalFolder.create(tmp_path / "captures").remove()
    assert base.stat().st_mode & 0o777 == 0o700


def test_a_folder_on_a_disk_is_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "MEMORY", tmp_path)
    with pytest.raises(OSError, match="no memory file system"):
        JournalFolder.create(tmp_path / "captures")
    assert list(tmp_path.iterdir()) == []


def test_only_exchanges_with_their_beginning_can_be_replayed(memory: Path, tmp_path: Path) -> None:
    made = JournalFolder.create(tmp_path / "captures")
    for name in ("00000001-a.0", "00000001-a.1", "00000002-b.3", "owner.json", "x"):
        (made.path / name).touch()
    assert folder.flow_ids_in(made.path) == {"a"}
    assert [file.name for file in made.files()] == ["00000001-a.0", "00000001-a.1", "00000002-b.3"]
    made.remove()
