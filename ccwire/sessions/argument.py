"""Resolves the SESSION argument of commands: an id, a unique prefix, a folder, or `latest`.

Captured sessions are found in every capture folder that a command searches.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ccwire.capture_folders import CaptureFolders, last_written
from ccwire.command_name import command_line
from ccwire.options import UserError
from ccwire.wire.format import is_run_id, short_id
from ccwire.wire.regular_file import open_regular
from correlate.captures.folder import read_exchanges, read_manifest
from correlate.reconcile.unassigned import unassigned_calls
from correlate.transcript.locate import ClaudeDir, has_message, last_used
from correlate.transcript.reader import read_transcript

LATEST = "latest"
_SHOWN = 3
_SHORTEST_PREFIX = 4
_CALL_NUMBER = re.compile(r"[0-9]{1,4}")


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


def find_session(text: str, captures: CaptureFolders, claude_dir: Path) -> FoundSession:
    """Find a session among captured ones first, then among those with only a transcript."""
    found = _find(text, captures, claude_dir)
    if found.folder is not None:
        captures.warn_of_copies([found.session_id])
    return found


def session_and_call(
    session: str | None, number: int | None, captures: CaptureFolders
) -> tuple[str, int | None]:
    """Return the arguments `[SESSION] [N]`; one alone of up to four digits is a call of `latest`.

    Up to three digits are hardly ever the start of the one id that is meant; four are an id's if
    one starts with them. A session that has just this id is meant all the same.
    """
    if session is None:
        return LATEST, number
    if number is not None or not _CALL_NUMBER.fullmatch(session):
        return session, number
    is_prefix = len(session) >= _SHORTEST_PREFIX and any(
        session_id.startswith(session) for session_id in captures.sessions
    )
    if is_prefix or session in captures.sessions:
        return session, None
    return LATEST, int(session)


def _find(text: str, captures: CaptureFolders, claude_dir: Path) -> FoundSession:
    folders = captures.sessions
    if text == LATEST:
        return _latest(folders, captures, claude_dir)
    if text in folders:
        return FoundSession(text, folders[text])
    if _is_folder(text):
        return _of_folder(Path(text), folders, claude_dir)
    known = dict.fromkeys([*folders, *ClaudeDir(claude_dir).session_ids()])
    fitting = [name for name in known if _is_meant(name, text)] if text else []
    if text in fitting:
        fitting = [text]
    if not fitting and Path(text).is_dir():
        return _of_folder(Path(text), folders, claude_dir)
    if not fitting:
        captures.warn_of_away()
        raise UserError(
            f"no session {text!r} in {captures} or {claude_dir}; "
            f"`{command_line('sessions --all')}` lists them, and `latest` is the newest."
        )
    if len(fitting) > 1:
        more = ["…"] if len(fitting) > _SHOWN else []
        shown = ", ".join([*sorted(fitting)[:_SHOWN], *more])
        raise UserError(f"{text!r} matches {len(fitting)} sessions ({shown}); give more of the id.")
    return FoundSession(fitting[0], folders.get(fitting[0]))


def _is_meant(session_id: str, text: str) -> bool:
    return session_id.startswith(text) or (is_run_id(session_id) and short_id(session_id) == text)


def captured_session(text: str, captures: CaptureFolders, claude_dir: Path) -> CapturedSession:
    """Find a session with a capture, or raise UserError.

    Calls of a client that sends no session id are in `unknown/`.
    """
    session = find_session(text, captures, claude_dir)
    if session.folder is not None:
        return CapturedSession(session.session_id, session.folder)
    if (unknown := _unknown_with(session.session_id, captures, claude_dir)) is not None:
        return CapturedSession(session.session_id, unknown)
    reconcile = command_line(f"reconcile {session.session_id}")
    raise UserError(
        f"session {session.session_id} has a transcript but no capture in {captures}: "
        f"`{reconcile}` lists its turns; {_elsewhere()}"
    )


def any_session(text: str, captures: CaptureFolders, claude_dir: Path) -> FoundSession:
    """Find a session with or without a capture; `folder` has its calls, None if there is none.

    Calls of a client that sends no session id are in `unknown/`.
    """
    session = find_session(text, captures, claude_dir)
    if session.folder is not None:
        return session
    check_readable(session, claude_dir)
    if captures.unknown:
        turns = read_transcript(ClaudeDir(claude_dir).session(session.session_id)).turns
        for folder in captures.unknown:
            if unassigned_calls(read_exchanges(folder), turns):
                return FoundSession(session.session_id, folder)
    captures.warn_of_away()
    return session


def check_readable(session: FoundSession, claude_dir: Path) -> None:
    """Raise UserError if there is nothing but a transcript, and it cannot be read."""
    failed = None
    for path in ClaudeDir(claude_dir).session(session.session_id).main:
        try:
            open_regular(path).close()
            return
        except OSError as error:
            failed = f"{path} cannot be read ({error.strerror}); make it readable."
    if failed is not None and session.folder is None:
        raise UserError(failed)


def no_captured_call(session: CapturedSession) -> str:
    """Return the sentence about a session none of whose calls is in `unknown/`."""
    return f"session {session.session_id} has a transcript but no captured call; {_elsewhere()}"


def _elsewhere() -> str:
    """Return what to do about a session without a capture: it may be in a folder not known here."""
    run = command_line("run claude")
    return f"if it was captured, give that folder with --captures; `{run}` captures a session."


def _unknown_with(session_id: str, captures: CaptureFolders, claude_dir: Path) -> Path | None:
    """Return the folder of unassigned calls that has this session's; any if none has."""
    folders = captures.unknown
    if len(folders) == 1 and not captures.away:
        return folders[0]
    turns = read_transcript(ClaudeDir(claude_dir).session(session_id)).turns
    for folder in folders:
        if unassigned_calls(read_exchanges(folder), turns):
            return folder
    captures.warn_of_away()
    return folders[0] if folders else None


def _latest(
    folders: Mapping[str, Path], captures: CaptureFolders, claude_dir: Path
) -> FoundSession:
    if folders:
        newest = max(folders.values(), key=last_written)
        return FoundSession(newest.name, newest)
    session_id = _newest(ClaudeDir(claude_dir).main_files())
    if session_id is None:
        captures.warn_of_away()
        raise UserError(
            f"there is no session in {captures} or {claude_dir} yet; "
            f"capture one with `{command_line('run claude')}`, or try `{command_line('demo')}`."
        )
    return FoundSession(session_id, None)


def _of_folder(cwd: Path, folders: Mapping[str, Path], claude_dir: Path) -> FoundSession:
    """Return the newest session of a working directory, captured ones first."""
    place = str(cwd.expanduser().resolve())
    transcripts: dict[str, tuple[Path, ...]] = {}
    for path in ClaudeDir(claude_dir).sessions_of(place):
        transcripts[path.stem] = (*transcripts.get(path.stem, ()), path)
    captured = [
        folder
        for name, folder in folders.items()
        if name in transcripts or read_manifest(folder).cwd == place
    ]
    if captured:
        newest = max(captured, key=last_written)
        return FoundSession(newest.name, newest)
    session_id = _newest(transcripts)
    if session_id is not None:
        return FoundSession(session_id, None)
    raise UserError(
        f"no session was run in {place}; `{command_line('sessions --all')}` lists all sessions."
    )


def _newest(transcripts: Mapping[str, Sequence[Path]]) -> str | None:
    """Return the session that was written to last; one without a message only if all are so.

    Clients write files that contain nothing but a summary, and a session that was resumed in
    another project has a file in each.
    """

    def written(session_id: str) -> float:
        return max(last_used(path) or 0.0 for path in transcripts[session_id])

    newest_first = sorted(transcripts, key=written, reverse=True)
    spoken = (name for name in newest_first if any(map(has_message, transcripts[name])))
    return next(spoken, next(iter(newest_first), None))


def _is_folder(text: str) -> bool:
    return text in (".", "..", "~") or "/" in text or "\\" in text
