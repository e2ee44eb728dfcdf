"""The capture folders that reading commands search, and the sessions in them.

These are the folder that the user names, or else the home's captures and every folder that is
registered in the home. The register is only a hint: what cannot be read in it or in a registered
folder is skipped.
"""

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from addon.storage.home import CAPTURES, find_home
from addon.storage.mounts import device_of, real_path, state_of
from addon.storage.registry import forget, registered
from ccwire.wire.format import EXCHANGES, MANIFEST, UNKNOWN
from ccwire.wire.regular_file import is_file
from correlate.captures.folder import session_folders

CAPTURES_VARIABLE = "CCWIRE_CAPTURES"
_HERE = Path("captures")  # where the add-on writes by default
_NAMED = 3  # folders in a message

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class CaptureFolders:
    """The folders to search, and those that are registered but on a disk that is not mounted."""

    folders: tuple[Path, ...]
    away: tuple[Path, ...] = ()
    is_given: bool = False

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Return one folder that the user has named."""
        return cls((folder,), is_given=True)

    def __str__(self) -> str:
        """Return what was searched, for a message."""
        if len(self.folders) == 1:
            return str(self.folders[0])
        return f"the {len(self.folders)} capture folders" if self.folders else "any capture folder"

    @cached_property
    def sessions(self) -> Mapping[str, Path]:
        """The folder of each captured session; if it has several, the one written last."""
        return {name: places[0] for name, places in self._places.items()}

    @property
    def session_folders(self) -> list[Path]:
        """All folders of captured sessions, with those of sessions that have several."""
        return [folder for places in self._places.values() for folder in places]

    @property
    def unknown(self) -> list[Path]:
        """The folders of calls that no evidence ties to a session."""
        found = (folder / UNKNOWN for folder in self.folders)
        return [folder for folder in found if is_file(folder / EXCHANGES)]

    def warn_of_copies(self, sessions: Iterable[str]) -> None:
        """Print which other folders have the same sessions."""
        several = [self._places[name] for name in sessions if len(self._places[name]) > 1]
        for used, *others in several[:_NAMED]:
            also = ", ".join(str(other) for other in others)
            logger.warning("ccwire: %s was written last; the session is also in %s", used, also)
        if (more := len(several) - _NAMED) > 0:
            logger.warning("ccwire: %d more sessions are in several folders", more)

    def warn_of_away(self) -> None:
        """Print which registered folders cannot be searched now."""
        if self.away:
            logger.warning(
                "ccwire: not searched, because it cannot be reached or its disk is not mounted: %s",
                named(self.away),
            )

    @cached_property
    def _places(self) -> dict[str, list[Path]]:
        """The folders of each session, the one written last first."""
        places: dict[str, list[Path]] = {}
        for folder in self.folders:
            for session in self._sessions_in(folder):
                places.setdefault(session.name, []).append(session)
        for several in places.values():
            if len(several) > 1:
                several.sort(key=last_written, reverse=True)
        return places

    def _sessions_in(self, folder: Path) -> list[Path]:
        unreadable: list[Path] = []
        try:
            found = session_folders(folder, unreadable)
        except OSError as error:
            if self.is_given:
                raise
            logger.warning("ccwire: %s was not searched (%s)", folder, error.strerror)
            return []
        if unreadable:
            logger.warning("ccwire: left out, because it may not be read: %s", named(unreadable))
        return found


def find_capture_folders(given: Path | None, environment: Mapping[str, str]) -> CaptureFolders:
    """Return `--captures DIR`, else `CCWIRE_CAPTURES`, else all folders known to the home.

    `./captures` is among these if it has sessions.
    """
    if (chosen := chosen_folder(given, environment)) is not None:
        return CaptureFolders.of(chosen)
    home = find_home(environment)
    there, away = registered_folders(home) if home is not None else ([], [])
    found = [home / CAPTURES, *there] if home is not None else []
    if any(_sessions_here()):
        found.append(_HERE)
    by_place = {real_path(folder): folder for folder in reversed(found)}
    return CaptureFolders(tuple(reversed(by_place.values())), tuple(away))


def chosen_folder(given: Path | None, environment: Mapping[str, str]) -> Path | None:
    """Return `--captures DIR`, else `CCWIRE_CAPTURES`."""
    named_there = environment.get(CAPTURES_VARIABLE)
    return given or (Path(os.path.expanduser(named_there)) if named_there else None)  # noqa: PTH111


def last_written(session: Path) -> float:
    """Return when a session's folder was last written to."""
    return max(_times(session / name for name in (EXCHANGES, MANIFEST)), default=0.0)


def named(folders: Sequence[Path]) -> str:
    """Return the first folders as a list, and how many more there are."""
    shown = ", ".join(str(folder) for folder in folders[:_NAMED])
    more = len(folders) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def registered_folders(home: Path) -> tuple[list[Path], list[Path]]:
    """Return the registered folders that are there, and those on a disk that is not mounted."""
    states = {entry: state_of(entry.path, entry.disk, device_of) for entry in registered(home)}
    if gone := [entry for entry, state in states.items() if state == "gone"]:
        forget(home, gone)
    there = [entry.path for entry, state in states.items() if state == "there"]
    away = [entry.path for entry, state in states.items() if state == "away"]
    locked = [folder for folder in there if not os.access(folder, os.R_OK | os.X_OK)]
    return [folder for folder in there if folder not in locked], [*away, *locked]


def _sessions_here() -> list[Path]:
    try:
        return session_folders(_HERE)
    except OSError:
        return []


def _times(files: Iterable[Path]) -> Iterator[float]:
    for file in files:
        try:
            yield file.stat().st_mtime
        except OSError:
            continue
