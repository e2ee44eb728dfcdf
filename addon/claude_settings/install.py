"""Puts our hooks into a settings file and takes them out: all at once, with a backup."""

import errno
import os
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from addon.claude_settings.files import SettingsError, errors_of, read_settings
from addon.claude_settings.hooks_text import find_hooks, installed, uninstalled
from addon.claude_settings.jsonc import parse

_BACKUP = ".before-ccwire"


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """What is to be done to a settings file; None stands for no file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def needs_backup(self) -> bool:
        """Kept are the file as it was without us, and any comments that would go."""
        if self.before is None or self.before == self.after:
            return False
        comments = len(parse(self.after).comments) if self.after is not None else 0
        return comments < len(parse(self.before).comments) or not find_hooks(self.before).commands


def plan_install(path: Path, command: str, *, force: bool = False) -> SettingsChange:
    """Raises SettingsError, or CommentsAtStake unless `force` is set."""
    before = read_settings(path)
    with errors_of(path):
        return SettingsChange(path, before, installed(before, command, force=force))


def plan_uninstall(path: Path, *, force: bool = False) -> SettingsChange:
    """Raises as `plan_install` does."""
    before = read_settings(path)
    if before is None:
        return SettingsChange(path, None, None)
    originals = [text for backup in backups(path) if (text := read_settings(backup)) is not None]
    with errors_of(path):
        return SettingsChange(path, before, uninstalled(before, originals, force=force))


def make_change(change: SettingsChange) -> Path | None:
    """Writes it, all at once; gives the backup if it made one. Raises SettingsError.

    A link is followed, the file keeps its mode, and a backup that has served is removed.
    """
    if change.before == change.after:
        return None
    with errors_of(change.path):
        if read_settings(change.path) != change.before:
            raise SettingsError(f"{change.path} has just been changed by another: run this again")
        backup = _free_backup(change.path) if change.needs_backup else None
        try:
            if backup:
                _write(backup, (change.before or "").encode(), change.path)
            _put_in_place(change.path.resolve(), change.after)
        except BaseException:
            if backup:
                backup.unlink(missing_ok=True)
            raise
        for kept in backups(change.path):
            if kept != backup and kept.read_bytes() == (change.after or "").encode():
                kept.unlink()
    return backup


def backups(path: Path) -> list[Path]:
    """The files of before, the newest first."""
    found = path.parent.glob(path.name + _BACKUP + "*")
    return sorted(found, key=lambda backup: (len(backup.name), backup.name), reverse=True)


def _free_backup(path: Path) -> Path:
    """A name that is free: an earlier backup is never written over."""
    names = (_BACKUP if number == 1 else f"{_BACKUP}-{number}" for number in count(1))
    return next(b for name in names if not (b := path.with_name(path.name + name)).exists())


def _put_in_place(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink()
        return
    path.parent.mkdir(exist_ok=True)
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "It is read-only")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _write(temporary, text.encode(), path)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _write(path: Path, data: bytes, like: Path) -> None:
    """A new file, with the mode of `like`, and its owner where root does the writing."""
    status = like.stat() if like.exists() else None
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if status else 0o644)
    with os.fdopen(file, "wb") as out:
        if status:
            os.fchmod(file, status.st_mode & 0o7777)
        if status and os.geteuid() == 0:
            os.fchown(file, status.st_uid, status.st_gid)
        out.write(data)
        out.flush()
        os.fsync(file)
