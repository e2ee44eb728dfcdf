"""Only regular files are read: nothing else may block a reader, or have no end."""

import os
from pathlib import Path

import pytest

from ccwire.wire.regular_file import open_regular, read_regular


def test_a_file_is_read_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "link") == b"x"


def test_a_link_is_refused_where_there_should_be_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(OSError, match="symbolic links"):
        read_regular(tmp_path / "link", follow=False)


@pytest.mark.parametrize("follow", [True, False])
def test_a_pipe_does_not_block(tmp_path: Path, follow: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="Not a regular file"):
        open_regular(tmp_path / "pipe", follow=follow)


def test_a_device_and_a_folder_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Not a regular file"):
        read_regular(Path("/dev/zero"))
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path)


def test_a_file_larger_than_memory_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="too large"):
        read_regular(tmp_path / "sparse")
