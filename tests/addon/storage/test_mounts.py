"""Which folders are gone, and which are on a disk that is not mounted."""

import os
from pathlib import Path

import pytest

from addon.storage.mounts import DeviceOf, Disk, device_of, disk_of, own_disk, state_of

ROOT, USB, OTHER = 1, 2, 3
FOLDER = Path("/media/usb/project/captures")
ON_USB = Disk("/media/usb", USB)


def tree(**folders: int) -> DeviceOf:
    """A file system: every folder that exists and its device; `_` stands for `/`."""
    devices = {Path("/" + name.replace("_", "/").strip("/")): d for name, d in folders.items()}
    return devices.get


MOUNTED = {"_": ROOT, "_media": ROOT, "_media_usb": USB}


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        ({**MOUNTED, "_media_usb_project": USB, "_media_usb_project_captures": USB}, "there"),
        ({**MOUNTED, "_media_usb_project": USB}, "gone"),
        (MOUNTED, "gone"),  # with the whole project
        ({"_": ROOT, "_media": ROOT, "_media_usb": ROOT}, "away"),  # an empty mount point
        ({"_": ROOT, "_media": ROOT}, "away"),  # desktops remove the mount point
        ({"_": ROOT}, "away"),
        ({**MOUNTED, "_media_usb": OTHER}, "away"),  # another disk in its place
        # The same disk with another number, as after a restart:
        ({**MOUNTED, "_media_usb": OTHER, "_media_usb_project": OTHER}, "gone"),
        ({**MOUNTED, "_media_usb_project_captures": OTHER}, "there"),
    ],
)
def test_a_folder_on_a_disk_of_its_own(folders: dict[str, int], expected: str) -> None:
    assert state_of(FOLDER, ON_USB, tree(**folders)) == expected


@pytest.mark.parametrize("disk", [Disk("/", ROOT), Disk("/", OTHER), None])
def test_a_folder_on_the_root_is_gone_if_it_is_not_there(disk: Disk | None) -> None:
    assert state_of(Path("/a/captures"), disk, tree(_=ROOT)) == "gone"
    assert state_of(Path("/a/captures"), disk, tree(_=ROOT, _a_captures=ROOT)) == "there"


def test_what_may_not_be_looked_at_is_not_gone() -> None:
    def refused(path: Path) -> int | None:
        raise PermissionError(13, "Permission denied")

    assert state_of(FOLDER, Disk("/", ROOT), refused) == "away"


def test_the_mount_point_is_the_highest_folder_on_the_same_device() -> None:
    found = {**MOUNTED, "_media_usb_project": USB, "_media_usb_project_captures": USB}
    assert disk_of(FOLDER, tree(**found)) == ON_USB
    assert disk_of(Path("/media"), tree(**found)) == Disk("/", ROOT)
    with pytest.raises(FileNotFoundError):
        disk_of(Path("/nowhere"), tree(**found))


def test_the_disk_of_a_real_folder(tmp_path: Path) -> None:
    disk = own_disk(tmp_path)
    assert os.path.ismount(disk.mount_point)
    assert disk.device == tmp_path.stat().st_dev
    assert tmp_path.is_relative_to(disk.mount_point)


def test_a_file_in_place_of_a_folder_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert device_of(tmp_path / "file") is None
    assert device_of(tmp_path / "file" / "below") is None
    assert state_of(tmp_path / "file", own_disk(tmp_path), device_of) == "gone"
