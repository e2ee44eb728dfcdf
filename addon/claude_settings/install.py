"""Installs our hooks in a settings file and removes them: atomically, with a backup."""

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
    """A planned change of a settings file; None means that the file does not exist."""

    path: Path
    before: str | None
    after: str | None

    @property
    def needs_backup(self) -> bool:
        """Whether to keep a copy: of a file without our hooks, or if comments would be lost."""
        if self.before is None or self.before == self.after:
            return False
        comments = len(parse(self.after).comments) if self.after is not None else 0
        return comments < len(parse(self.before).comments) or not find_hooks(self.before).commands


def plan_install(path: Path, command: str, *, force: bool = False) -> SettingsChange:
    """Plan an install; raise SettingsError, or CommentsAtStake unless `force` is set."""
    before = read_settings(path)
    with errors_of(path):
        return SettingsChange(path, before, installed(before, command, force=force))


def plan_uninstall(path: Path, *, force: bool = False) -> SettingsChange:
    """Plan an uninstall; raise like `plan_install`."""
    before = read_settings(path)
    if before is None:
        return SettingsChange(path, None, None)
    originals = [text for backup in backups(path) if (text := read_settings(backup)) is not None]
    with errors_of(path):
        return SettingsChange(path, before, uninstalled(before, originals, force=force))


def make_change(change: SettingsChange) -> Path | None:
    """Write the change atomically and return the backup, if one was made; raise SettingsError.

    Symbolic links are followed, the file keeps its mode, and a backup that equals the new content
    is removed.
    """
    if change.before == change.after:
        return None
    with errors_of(change.path):
        if read_settings(change.path) != change.before:
            raise SettingsError(f"{change.path} was changed by another program; try again")
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
    """Return the backups of a file, the newest first."""
    found = path.parent.glob(path.name + _BACKUP + "*")
    return sorted(found, key=lambda backup: (len(backup.name), backup.name), reverse=True)


def _free_backup(path: Path) -> Path:
    """Return an unused backup path: an earlier backup is never overwritten."""
    names = (_BACKUP if number == 1 else f"{_BACKUP}-{number}" for number in count(1))
    return next(b for name in names if not (b := path.with_name(path.name + name)).exists())


def _put_in_place(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink()
        return
    path.parent.mkdir(exist_ok=True)
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "The file is read-only")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _write(temporary, text.encode(), path)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _write(path: Path, data: bytes, like: Path) -> None:
    """Write a new file with the mode of `like`, and with its owner if running as root."""
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
