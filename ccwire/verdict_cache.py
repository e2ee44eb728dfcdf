"""The verdicts of `ccwire reconcile`, kept in the user's home for the list of sessions.

A verdict belongs to a state of the session's index and transcripts: one that has changed since has
none. It is a hint: a home that does not exist is not created, and one that cannot be read or
written makes no command fail.
"""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from addon.storage.files import locked, write_whole
from addon.storage.home import find_home
from ccwire.wire.format import EXCHANGES
from ccwire.wire.json_text import as_dict, dump, parse_json, whole
from ccwire.wire.regular_file import read_regular
from correlate.captures.folder import transcript_files
from correlate.reconcile.result import Reconciliation
from correlate.transcript.locate import ClaudeDir, SessionFiles

VERDICTS = "verdicts.json"
_MOST = 20_000  # sessions


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many findings a session had, how many were unexplained, and what was judged."""

    findings: int
    unexplained: int
    state: str


class VerdictCache:
    """The verdicts by session folder: read once, written once with `save`."""

    def __init__(self, claude: ClaudeDir, environment: Mapping[str, str] = os.environ) -> None:
        self._claude = claude
        self._home = find_home(environment)
        self._known: dict[str, Verdict] | None = None
        self._new: dict[str, Verdict] = {}

    def unexplained(self, folder: Path) -> int | None:
        """Return the number of unexplained findings; None without a verdict on this state."""
        if self._known is None:
            self._known = _read(self._home / VERDICTS) if self._home else {}
        found = self._known.get(str(folder.absolute()))
        if found is None or found.state != self.state(folder):
            return None
        return found.unexplained

    def state(self, folder: Path, files: SessionFiles | None = None) -> str:
        """Return what identifies the content that a verdict is about: take it before judging.

        `files` are the session's transcripts, if they are known.
        """
        files = files or transcript_files(self._claude, folder, folder.name)
        paths = [folder / EXCHANGES, *files.main, *(agent.path for agent in files.agents)]
        return " ".join(_stamp(path) for path in paths)

    def note(self, folder: Path, state: str, found: Reconciliation) -> None:
        """Keep the verdict on a whole session until `save`."""
        verdict = Verdict(len(found.findings), found.unexplained, state)
        self._new[str(folder.absolute())] = verdict

    def save(self) -> None:
        """Add the noted verdicts to the file, without those whose folder is gone."""
        if not self._new or self._home is None or not self._home.is_dir():
            return
        with contextlib.suppress(OSError), locked(self._home):
            merged = {**_read(self._home / VERDICTS), **self._new}
            kept = [place for place in merged if Path(place).is_dir()][-_MOST:]
            verdicts = {place: asdict(merged[place]) for place in kept}
            write_whole(self._home / VERDICTS, dump({"version": 1, "verdicts": verdicts}))


def _stamp(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return "-"
    return f"{status.st_size}/{status.st_mtime_ns}"


def _read(path: Path) -> dict[str, Verdict]:
    try:
        document = parse_json(read_regular(path))
    except (OSError, ValueError):
        return {}
    entries = as_dict(as_dict(document).get("verdicts"))
    return {place: found for place, value in entries.items() if (found := _verdict(value))}


def _verdict(value: Any) -> Verdict | None:
    entry = as_dict(value)
    findings, unexplained = whole(entry.get("findings")), whole(entry.get("unexplained"))
    state = entry.get("state")
    if findings is None or unexplained is None or not isinstance(state, str):
        return None
    return Verdict(findings, unexplained, state)
