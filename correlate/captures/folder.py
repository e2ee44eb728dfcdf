"""Read a capture folder: its sessions, exchanges and their content.

Tolerates what a killed proxy can leave: a truncated line, a missing manifest.
"""

import stat
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
    parse_manifest,
)
from ccwire.wire.json_text import parse_json
from ccwire.wire.pack.files import FileKey
from ccwire.wire.pack.reader import ExchangeFile, ExchangeFiles
from ccwire.wire.regular_file import read_regular
from correlate.transcript.locate import ClaudeDir, SessionFiles


def session_folders(captures: Path, unreadable: list[Path] | None = None) -> list[Path]:
    """Return the session folders sorted by name, without `unknown`.

    Those that may not be read are added to `unreadable`.
    """
    if not captures.is_dir():
        return []
    found = []
    for folder in sorted(captures.iterdir()):
        try:
            if is_session_id(folder.name) and has_session(folder) and _is_captured(folder):
                found.append(folder)
        except OSError:  # another user's
            if unreadable is not None:
                unreadable.append(folder)
    return found


def _is_captured(folder: Path) -> bool:
    """Whether it is a folder with an index, or with a manifest of ccwire's."""
    if not folder.is_dir() or folder.is_symlink():
        return False
    return stat.S_ISREG(_mode(folder / EXCHANGES)) or (
        stat.S_ISREG(_mode(folder / MANIFEST)) and manifest_flaw(folder) is None
    )


def _mode(path: Path) -> int:
    """Return a file's mode, 0 if there is none; raise OSError if its folder may not be read."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return 0


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
    return _path(folder, (sequence, "req"))


def response_file(folder: Path, sequence: int) -> Path | None:
    return _path(folder, (sequence, "resp"))


def read_request(folder: Path, sequence: int) -> dict[str, Any]:
    """Return a request file, packed or not; raise FileNotFoundError if there is none."""
    return parsed_file(ExchangeFiles(folder).file((sequence, "req")))


def read_response(folder: Path, sequence: int) -> dict[str, Any]:
    return parsed_file(ExchangeFiles(folder).file((sequence, "resp")))


def read_request_bytes(folder: Path, sequence: int) -> bytes:
    """Return a request file as it is stored; raise FileNotFoundError if there is none."""
    return ExchangeFiles(folder).file((sequence, "req")).data


def read_response_bytes(folder: Path, sequence: int) -> bytes:
    return ExchangeFiles(folder).file((sequence, "resp")).data


def parsed_file(file: ExchangeFile) -> dict[str, Any]:
    value = parse_json(file.data)
    if not isinstance(value, dict):
        raise ValueError(f"{file.name} is not a capture file")
    return value


def _path(folder: Path, key: FileKey) -> Path | None:
    name = ExchangeFiles(folder).name(key)
    return folder / name if name else None
