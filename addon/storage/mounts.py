"""Decides whether a folder that cannot be found was removed or is on a disk that is not mounted.

The disk of a folder is recorded with the folder: its mount point and its device number. A mount
point is a folder on another device than its parent. Device numbers are not stable: the same disk
may have another one after a restart. So another device at the mount point is taken for the same
disk only if the place where the folder was is there.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

type FolderState = Literal["there", "gone", "away"]
type DeviceOf = Callable[[Path], int | None]  # None: it does not exist; raises other OSErrors


class Disk(NamedTuple):
    """The disk that a folder is on."""

    mount_point: str
    device: int


def disk_of(folder: Path, device_of: DeviceOf) -> Disk:
    """Return the disk of a folder that exists, given by its absolute path without links."""
    device = device_of(folder)
    if device is None:
        raise FileNotFoundError(str(folder))
    top = folder
    while top.parent != top and device_of(top.parent) == device:
        top = top.parent
    return Disk(str(top), device)


def state_of(folder: Path, disk: Disk | None, device_of: DeviceOf) -> FolderState:
    """Return whether a folder is there, is gone, or is away: its disk is not mounted now.

    What cannot be looked at is away too: nothing proves that it is gone.
    """
    try:
        if device_of(folder) is not None:
            return "there"
        if disk is not None and not _is_mounted(disk, folder, device_of):
            return "away"
    except OSError:
        return "away"
    return "gone"


def device_of(path: Path) -> int | None:
    """Return the device of a folder; None if there is no folder at the path."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev if stat.S_ISDIR(found.st_mode) else None


def own_disk(folder: Path) -> Disk:
    """Return the disk of a folder as it is now; raise OSError if it cannot be found out."""
    return disk_of(real_path(folder), device_of)


def real_path(path: Path) -> Path:
    """Return an absolute path without links, as far as it exists; unlike `resolve`, always."""
    return Path(os.path.realpath(path))


def _is_mounted(disk: Disk, folder: Path, device_of: DeviceOf) -> bool:
    top = Path(disk.mount_point)
    if top.parent == top:
        return True  # the root is always mounted
    device = device_of(top)
    if device is None or device == device_of(top.parent):
        return False
    return device == disk.device or device_of(folder.parent) is not None
