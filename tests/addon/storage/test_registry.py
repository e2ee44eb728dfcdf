"""The register of capture folders, as written by proxies and as others may have left it."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from addon.hooks.sessions_file import Lock
from addon.storage import registry
from addon.storage.mounts import own_disk
from addon.storage.registry import (
    MOST_FOLDERS,
    REGISTRY,
    RegisteredFolder,
    forget,
    register,
    registered,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def folder(tmp_path: Path, name: str) -> Path:
    made = tmp_path / name
    made.mkdir(parents=True, exist_ok=True)
    return made


def names(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir())


def listed(home: Path) -> list[Path]:
    return [entry.path for entry in registered(home)]


def write(home: Path, value: Any) -> None:
    home.mkdir(exist_ok=True)
    (home / REGISTRY).write_text(value if isinstance(value, str) else json.dumps(value))


def test_folders_are_listed_with_their_disk_and_only_for_their_user(
    tmp_path: Path, home: Path
) -> None:
    one, two = folder(tmp_path, "one"), folder(tmp_path, "two")
    for captures in (one, two, one):
        register(captures, home)
    disk = own_disk(one)
    assert registered(home) == [RegisteredFolder(two, disk), RegisteredFolder(one, disk)]
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE((home / REGISTRY).stat().st_mode) == 0o600
    assert names(home) == [REGISTRY, f"{REGISTRY}.lock"]


def test_a_folder_is_listed_once_however_it_is_named(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = folder(tmp_path, "one")
    (tmp_path / "link").symlink_to(one)
    monkeypatch.chdir(tmp_path)
    for captures in (one, Path("one"), tmp_path / "link", tmp_path / "two" / ".." / "one"):
        register(captures, home)
    assert listed(home) == [one]


def test_the_homes_own_captures_are_not_listed(home: Path) -> None:
    (home / "captures").mkdir(parents=True)
    register(home / "captures", home)
    assert names(home) == ["captures"]


def test_a_folder_that_is_listed_last_is_not_written_again(tmp_path: Path, home: Path) -> None:
    register(folder(tmp_path, "one"), home)
    before = (home / REGISTRY).stat()
    register(tmp_path / "one", home)
    assert (home / REGISTRY).stat().st_ino == before.st_ino


def test_no_more_folders_are_kept_than_a_register_may_have(tmp_path: Path, home: Path) -> None:
    old = [{"path": f"/old/{number}"} for number in range(MOST_FOLDERS + 10)]
    write(home, {"folders": old})
    assert len(registered(home)) == MOST_FOLDERS
    register(folder(tmp_path, "one"), home)
    assert (len(listed(home)), listed(home)[-1]) == (MOST_FOLDERS, tmp_path / "one")
    assert listed(home)[0] == Path("/old/11")


REGISTERING = """
import sys
from pathlib import Path
from addon.storage.registry import register
for name in sys.argv[2:]:
    register(Path(name), Path(sys.argv[1]))
"""


def test_nothing_is_lost_when_many_register_at_once(tmp_path: Path, home: Path) -> None:
    groups = [[folder(tmp_path, f"{i}-{j}") for j in range(20)] for i in range(4)]
    started = [
        subprocess.Popen([sys.executable, "-c", REGISTERING, str(home), *map(str, group)])
        for group in groups
    ]
    assert [process.wait(60) for process in started] == [0, 0, 0, 0]
    assert set(listed(home)) == {path for group in groups for path in group}


def test_a_lock_that_is_held_is_not_waited_for_long(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(folder(tmp_path, "one"), home)
    monkeypatch.setattr(registry, "_LOCK_SECONDS", 0.05)
    lock = Lock(str(home / REGISTRY))
    assert lock.take()
    with pytest.raises(TimeoutError, match="lock"):
        register(folder(tmp_path, "two"), home)
    forget(home, registered(home))
    lock.give_back()
    assert listed(home) == [tmp_path / "one"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "7",
        '{"folders": 1}',
        '{"folders": ["/a", 1, null, {}]}',
        "\x00",
        "[" * 9999,
    ],
)
def test_a_damaged_register_lists_nothing_and_is_replaced(
    tmp_path: Path, home: Path, text: str
) -> None:
    write(home, text)
    assert registered(home) == []
    register(folder(tmp_path, "one"), home)
    assert listed(home) == [tmp_path / "one"]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "relative",
        "~/a",
        None,
        1,
        ["/a"],
        "/a\nb",
        "/a\x1b[2J",
        "/a\u202eb",
        "/\ud800",
        "/" * 5000,
    ],
)
def test_a_hostile_path_is_skipped(home: Path, path: object) -> None:
    entries = [{"path": path}, {"path": "/good", "mount_point": path, "device": "x"}]
    write(home, {"version": 99, "folders": entries})
    assert registered(home) == [RegisteredFolder(Path("/good"))]


def test_a_register_without_end_is_not_read(home: Path) -> None:
    write(home, json.dumps({"folders": [{"path": "/a"}], "more": "x" * (5 << 20)}))
    assert registered(home) == []


def test_a_link_or_a_pipe_in_its_place_is_not_followed(tmp_path: Path, home: Path) -> None:
    home.mkdir()
    precious = tmp_path / "precious"
    precious.write_text('{"folders": [{"path": "/a"}]}')
    (home / REGISTRY).symlink_to(precious)
    assert registered(home) == []
    register(folder(tmp_path, "one"), home)
    assert precious.read_text() == '{"folders": [{"path": "/a"}]}'
    assert listed(home) == [tmp_path / "one"]
    (home / REGISTRY).unlink()
    os.mkfifo(home / REGISTRY)
    assert registered(home) == []


def test_a_planted_lock_is_an_error_and_not_followed(tmp_path: Path, home: Path) -> None:
    home.mkdir()
    (home / f"{REGISTRY}.lock").symlink_to(tmp_path / "new")
    with pytest.raises(OSError):
        register(folder(tmp_path, "one"), home)
    assert not (tmp_path / "new").exists()


def test_a_folder_is_forgotten_unless_it_was_registered_again(tmp_path: Path, home: Path) -> None:
    write(home, {"folders": [{"path": "/gone"}, {"path": str(tmp_path / "one")}]})
    gone = registered(home)
    register(folder(tmp_path, "one"), home)
    forget(home, gone)
    assert listed(home) == [tmp_path / "one"]


def test_a_home_that_cannot_be_written_is_an_error_for_a_proxy_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    home = tmp_path / "file" / "home"
    with pytest.raises(OSError):
        register(folder(tmp_path, "one"), home)
    assert registered(home) == []
    forget(home, [RegisteredFolder(Path("/a"))])


def test_what_a_killed_proxy_left_is_removed(tmp_path: Path, home: Path) -> None:
    register(folder(tmp_path, "one"), home)
    (home / f".{REGISTRY}.0123.tmp").write_text("half")
    register(folder(tmp_path, "two"), home)
    assert names(home) == [REGISTRY, f"{REGISTRY}.lock"]
