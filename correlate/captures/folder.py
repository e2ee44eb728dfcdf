"""Read a capture folder: its sessions, exchanges and their content.

Tolerates what a killed proxy can leave: a truncated line, a missing manifest.
"""

from pathlib import Path
from typing import Any

from ccwire.wire.format import (
    EXCHANGES,
    MANIFEST,
    UNKNOWN,
    Exchange,
    Manifest,
    is_session_id,
    parse_exchange,
    parse_file_name,
    parse_manifest,
)
from ccwire.wire.json_text import parse_json
from ccwire.wire.pack import PackDamaged
from ccwire.wire.regular_file import read_regular
from ccwire.wire.vocabulary import Direction
from correlate.captures.packed import packed_name, read_packed
from correlate.transcript.locate import ClaudeDir, SessionFiles


def session_folders(captures: Path) -> list[Path]:
    """Return the session folders sorted by name, without `unknown`."""
    if not captures.is_dir():
        return []
    return sorted(
        folder
        for folder in captures.iterdir()
        if is_session_id(folder.name)
        and has_session(folder)
        and folder.is_dir()
        and not folder.is_symlink()
        and ((folder / EXCHANGES).is_file() or (folder / MANIFEST).is_file())
    )


def has_session(folder: Path) -> bool:
    """Whether a folder is one session's; `unknown/` has the calls that name none."""
    return folder.name != UNKNOWN


def session_manifest(folder: Path, session_id: str) -> Manifest:
    """The session's manifest; one with nothing but its id where its calls are in `unknown/`."""
    return read_manifest(folder) if has_session(folder) else Manifest(session_id=session_id)


def transcript_files(claude: ClaudeDir, folder: Path, session_id: str) -> SessionFiles:
    """The transcripts of a captured session, those that its manifest names included."""
    return claude.session(session_id, session_manifest(folder, session_id).transcript_paths)


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest; if it is missing or damaged, one with only the session id."""
    try:
        return parse_manifest(read_regular(folder / MANIFEST, follow=False))
    except (OSError, ValueError):
        return Manifest(session_id=folder.name)


def manifest_flaw(folder: Path) -> str | None:
    """Return why the manifest cannot be used; None if it can, or if there is none."""
    try:
        parse_manifest(read_regular(folder / MANIFEST, follow=False))
    except FileNotFoundError:
        return None
    except OSError as error:
        return error.strerror or "not readable"
    except ValueError as error:
        return str(error)
    return None


def read_exchanges(folder: Path) -> list[Exchange]:
    """Return the finished exchanges in the order in which they started."""
    return sorted(read_exchange_lines(folder)[0], key=lambda e: (e.started, e.sequence))


def read_exchange_lines(folder: Path) -> tuple[list[Exchange], list[int]]:
    """Return the exchanges in file order, and the numbers of malformed lines.

    Line 0 is the whole file, if it is not readable.
    """
    exchanges: list[Exchange] = []
    bad: list[int] = []
    try:
        lines = read_regular(folder / EXCHANGES, follow=False).split(b"\n")
    except FileNotFoundError:
        return [], []
    except OSError:
        return [], [0]
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            exchanges.append(parse_exchange(line))
        except ValueError:
            bad.append(number)
    return exchanges, bad


def request_file(folder: Path, sequence: int) -> Path | None:
    """Return the path of a request file; a packed one does not exist there as a file.

    None if there is none, or if the pack that may contain it is damaged.
    """
    return _file_if_known(folder, sequence, "req")


def response_file(folder: Path, sequence: int) -> Path | None:
    return _file_if_known(folder, sequence, "resp")


def read_request(folder: Path, sequence: int) -> dict[str, Any]:
    """Return a request file, packed or not; raise FileNotFoundError if there is none."""
    return _read(folder, sequence, "req")


def read_response(folder: Path, sequence: int) -> dict[str, Any]:
    return _read(folder, sequence, "resp")


def read_request_bytes(folder: Path, sequence: int) -> bytes:
    """Return a request file as it is stored; raise FileNotFoundError if there is none."""
    return _read_bytes(folder, sequence, "req")


def read_response_bytes(folder: Path, sequence: int) -> bytes:
    return _read_bytes(folder, sequence, "resp")


def _file_if_known(folder: Path, sequence: int, direction: Direction) -> Path | None:
    try:
        return _exchange_file(folder, sequence, direction)
    except (PackDamaged, OSError):
        return None


def _exchange_file(folder: Path, sequence: int, direction: Direction) -> Path | None:
    for path in folder.glob(f"{sequence:04d}_{direction}_*.json"):
        if parse_file_name(path.name) == (sequence, direction):
            return path
    packed = packed_name(folder, (sequence, direction))
    return folder / packed if packed else None


def _read(folder: Path, sequence: int, direction: Direction) -> dict[str, Any]:
    value = parse_json(_read_bytes(folder, sequence, direction))
    if not isinstance(value, dict):
        raise ValueError(f"{direction} file {sequence:04d} is not a capture file")
    return value


def _read_bytes(folder: Path, sequence: int, direction: Direction) -> bytes:
    path = _exchange_file(folder, sequence, direction)
    if path is None:
        raise FileNotFoundError(f"{folder.name} has no {direction} file {sequence:04d}")
    packed = None if path.exists() else read_packed(folder, (sequence, direction))
    return read_regular(path, follow=False) if packed is None else packed
