import os
import stat
import threading
from pathlib import Path

import pytest

from addon.redaction.key import redaction_key


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_key_is_made_once_and_is_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "redaction.key"
    key = redaction_key(path)
    assert len(key) >= 32
    assert redaction_key(path) == key
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)


@pytest.mark.parametrize("umask", [0, 0o077, 0o777])
def test_a_key_is_private_under_any_umask(tmp_path: Path, umask: int) -> None:
    old = os.umask(umask)
    try:
        redaction_key(tmp_path / "redaction.key")
    finally:
        os.umask(old)
    assert mode(tmp_path / "redaction.key") == 0o600


def test_a_key_that_others_can_read_becomes_private(tmp_path: Path) -> None:
    path = tmp_path / "redaction.key"
    path.write_bytes(b"k" * 40)
    path.chmod(0o644)
    assert redaction_key(path) == b"k" * 40
    assert mode(path) == 0o600


@pytest.mark.parametrize("found", [b"", b"too short", b"   \n"])
def test_a_key_that_is_none_is_made_anew_and_kept(tmp_path: Path, found: bytes) -> None:
    path = tmp_path / "redaction.key"
    path.write_bytes(found)
    key = redaction_key(path)
    assert len(key) >= 32
    assert redaction_key(path) == key


def test_all_that_start_at_once_get_one_key(tmp_path: Path) -> None:
    keys: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: keys.append(redaction_key(tmp_path / "k" / "key")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 8
    assert len(set(keys)) == 1


def test_where_none_can_be_kept_there_is_one_for_this_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    key = redaction_key(tmp_path / "file" / "redaction.key")
    assert len(key) >= 32
    assert redaction_key(tmp_path / "file" / "redaction.key") != key
    assert "could not store the redaction key" in caplog.text
