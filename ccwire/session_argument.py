"""Resolves the SESSION argument of commands: an id, a unique prefix, a folder, or `latest`."""

from dataclasses import dataclass
from pathlib import Path

from ccwire.command_name import command_line
from ccwire.options import UserError
from ccwire.wire.format import EXCHANGES, MANIFEST, UNKNOWN
from correlate.captures.folder import has_session, read_manifest, session_folders
from correlate.reconcile.result import Reconciliation
from correlate.transcript.locate import ClaudeDir

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class FoundSession:
    """A session id, with the folder of its capture if it has one."""

    session_id: str
    folder: Path | None


@dataclass(frozen=True, slots=True)
class CapturedSession:
    """A session id and the folder of its calls: its own, or `unknown/`."""

    session_id: str
    capture: Path


def find_session(text: str, captures: Path, claude_dir: Path) -> FoundSession:
    """Find a session among captured ones first, then among those with only a transcript."""
    folders = {folder.name: folder for folder in session_folders(captures)}
    if text == "latest":
        return _latest(folders, captures, claude_dir)
    if text in folders:
        return FoundSession(text, folders[text])
    if _is_folder(text):
        return _of_folder(Path(text), folders, claude_dir)
    known = dict.fromkeys([*folders, *ClaudeDir(claude_dir).session_ids()])
    fitting = [session_id for session_id in known if session_id.startswith(text)] if text else []
    if text in fitting:
        fitting = [text]
    if not fitting:
        raise UserError(
            f"no session {text!r} in {captures} or {claude_dir}; "
            f"`{command_line('sessions --all')}` lists them, and `latest` is the newest."
        )
    if len(fitting) > 1:
        shown = ", ".join(sorted(fitting)[:_SHOWN])
        raise UserError(
            f"{text!r} matches {len(fitting)} sessions ({shown}…); give more of the id."
        )
    return FoundSession(fitting[0], folders.get(fitting[0]))


def captured_session(text: str, captures: Path, claude_dir: Path) -> CapturedSession:
    """Find a session with a capture, or raise UserError.

    Calls of a client that sends no session id are in `unknown/`.
    """
    session = find_session(text, captures, claude_dir)
    if session.folder is not None:
        return CapturedSession(session.session_id, session.folder)
    unknown = captures / UNKNOWN
    if (unknown / EXCHANGES).exists():
        return CapturedSession(session.session_id, unknown)
    raise UserError(
        f"session {session.session_id} has a transcript but no capture in {captures}; "
        f"start the client with `{command_line('run claude')}` to capture it."
    )


def check_for_calls(session: CapturedSession, found: Reconciliation) -> None:
    """Raise UserError if no call in `unknown/` belongs to the session."""
    if not found.calls and not has_session(session.capture):
        raise UserError(
            f"no captured call belongs to the transcript of session {session.session_id}; "
            f"start the client with `{command_line('run claude')}` to capture it."
        )


def _latest(folders: dict[str, Path], captures: Path, claude_dir: Path) -> FoundSession:
    if folders:
        newest = max(folders.values(), key=_last_written)
        return FoundSession(newest.name, newest)
    transcripts = ClaudeDir(claude_dir).session_ids()
    if not transcripts:
        raise UserError(
            f"there is no session in {captures} or {claude_dir} yet; "
            f"capture one with `{command_line('run claude')}`, or try `{command_line('demo')}`."
        )
    session_id = max(transcripts, key=lambda name: transcripts[name].stat().st_mtime)
    return FoundSession(session_id, None)


def _of_folder(cwd: Path, folders: dict[str, Path], claude_dir: Path) -> FoundSession:
    """Return the newest session of a working directory, captured ones first."""
    place = str(cwd.expanduser().resolve())
    transcripts = [path.stem for path in ClaudeDir(claude_dir).sessions_of(place)]
    captured = [
        folder
        for name, folder in folders.items()
        if name in transcripts or read_manifest(folder).cwd == place
    ]
    if captured:
        newest = max(captured, key=_last_written)
        return FoundSession(newest.name, newest)
    if transcripts:
        return FoundSession(transcripts[0], None)
    raise UserError(
        f"no session was run in {place}; `{command_line('sessions --all')}` lists all sessions."
    )


def _is_folder(text: str) -> bool:
    return text in (".", "..", "~") or "/" in text or "\\" in text


def _last_written(folder: Path) -> float:
    files = (folder / name for name in (EXCHANGES, MANIFEST))
    return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)
