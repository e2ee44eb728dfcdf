"""What a script needs of this package: a capture folder, its sessions, and what each contains.

A thin layer over `captures`, `transcript` and `reconcile`: it finds the files and calls their
readers. Nothing is written. `docs/api.md` documents it.
"""

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ccwire.wire import format as capture_format
from ccwire.wire.format import UNKNOWN, Exchange, Manifest
from correlate.captures.content import CaptureFiles
from correlate.captures.folder import read_exchanges, read_manifest, session_folders
from correlate.reconcile.result import Reconciliation
from correlate.reconcile.session import SessionReconciler
from correlate.transcript.conversation import Conversation, read_conversation
from correlate.transcript.locate import ClaudeDir, SessionFiles
from correlate.transcript.reader import Transcript, read_transcript


def open_captures(path: str | Path, claude_dir: str | Path | None = None) -> "Captures":
    """Open a capture folder; raises FileNotFoundError if there is none at `path`.

    `claude_dir` is the client's own folder, where its transcripts are: `CLAUDE_CONFIG_DIR`, else
    `~/.claude`, unless it is given.
    """
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder; give the path of a capture folder")
    return Captures(folder, capture_format.claude_dir(claude_dir, os.environ))


class Captures:
    """A capture folder, and the client's folder that its sessions' transcripts are in."""

    def __init__(self, folder: Path, claude_dir: Path) -> None:
        self.folder = folder
        self._claude = ClaudeDir(claude_dir)

    def __repr__(self) -> str:
        return f"Captures({str(self.folder)!r})"

    def __iter__(self) -> Iterator["Session"]:
        return iter(self.sessions())

    def sessions(self) -> "list[Session]":
        """Every captured session, in the order in which they were first seen."""
        found = [self._session(folder) for folder in session_folders(self.folder)]
        return sorted(found, key=lambda session: (session.manifest.first_seen or 0.0, session.id))

    def session(self, prefix: str) -> "Session":
        """The session whose id is or starts with `prefix`; raises LookupError if not exactly one
        does."""
        folders = session_folders(self.folder)
        found = [folder for folder in folders if folder.name.startswith(prefix)]
        found = [folder for folder in found if folder.name == prefix] or found
        if len(found) != 1:
            count = "no session" if not found else f"{len(found)} sessions"
            raise LookupError(f"{count} in {self.folder} whose id starts with {prefix!r}")
        return self._session(found[0])

    def unassigned(self) -> list[Exchange]:
        """The exchanges that no evidence ties to a session, in the order in which they started."""
        return read_exchanges(self.folder / UNKNOWN)

    def _session(self, folder: Path) -> "Session":
        return Session(folder, self._claude, self._reconciler)

    @cached_property
    def _reconciler(self) -> SessionReconciler:
        """One for all sessions: it remembers which session has which answer."""
        return SessionReconciler(self.folder, self._claude)


class Session:
    """One captured session. Every method reads the files again; `manifest` is read once."""

    def __init__(self, folder: Path, claude: ClaudeDir, reconciler: SessionReconciler) -> None:
        self.folder = folder
        self._claude = claude
        self._reconciler = reconciler

    def __repr__(self) -> str:
        return f"Session({self.id!r})"

    @property
    def id(self) -> str:
        return self.folder.name

    @cached_property
    def manifest(self) -> Manifest:
        """What the session is, what of it was captured, and what is missing."""
        return read_manifest(self.folder)

    def exchanges(self) -> list[Exchange]:
        """The finished exchanges, in the order in which they started; opens one file."""
        return read_exchanges(self.folder)

    def request(self, sequence: int) -> Mapping[str, Any]:
        """An exchange's request file; raises FileNotFoundError if there is none of that number."""
        return self._files.request(sequence)

    def response(self, sequence: int) -> Mapping[str, Any]:
        """An exchange's response file; raises FileNotFoundError if there is none."""
        return self._files.response(sequence)

    def transcript(self) -> Transcript:
        """The transcript as accounting needs it: turns, agents, retries, costs, and no text."""
        return read_transcript(self.transcript_files())

    def conversation(self) -> Conversation:
        """The transcript with its text: every record, tool calls with their results."""
        return read_conversation(self.transcript_files())

    def transcript_files(self) -> SessionFiles:
        """Where the client wrote the session's transcript; it may have none."""
        return self._claude.session(self.id, self.manifest.transcript_paths)

    def reconcile(self) -> Reconciliation:
        """A verdict for each call and each turn: what `ccwire reconcile` shows.

        Waits up to two seconds for a transcript that lags behind the last answers.
        """
        return self._reconciler.reconcile(self.folder)

    @property
    def _files(self) -> CaptureFiles:
        return CaptureFiles(self.folder)
