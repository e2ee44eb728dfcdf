import os
import stat
from pathlib import Path

import pytest

from addon.storage.home import find_home, make_home


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_home_is_the_variable_or_a_folder_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_home({}) == tmp_path / ".ccwire"
    assert find_home({"CCWIRE_HOME": ""}) == tmp_path / ".ccwire"
    assert find_home({"CCWIRE_HOME": "~/x"}) == tmp_path / "x"
    monkeypatch.chdir(tmp_path)
    assert find_home({"CCWIRE_HOME": "here/../x"}) == tmp_path / "x"


def test_there_is_no_home_without_a_home_directory() -> None:
    assert find_home({"CCWIRE_HOME": "~no-such-user/ccwire"}) is None


@pytest.mark.parametrize("umask", [0, 0o077, 0o777])
def test_it_is_private_under_any_umask(tmp_path: Path, umask: int) -> None:
    old = os.umask(umask)
    try:
        reports = make_home(tmp_path / "home", "reports")
    finally:
        os.umask(old)
    assert reports == tmp_path / "home" / "reports"
    assert (mode(reports), mode(reports.parent)) == (0o700, 0o700)


def test_a_home_directory_that_does_not_exist_is_not_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    home = find_home({})
    assert home is not None
    with pytest.raises(FileNotFoundError):
        make_home(home)
    assert make_home(tmp_path / "a" / "b" / "c").is_dir()
