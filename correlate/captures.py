"""Reads a capture folder: which sessions, which exchanges, and, when asked, their content.

Tolerant of what a kill can leave: a line cut short, a manifest not yet written.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from addon.format import (
    EXCHANGES,
    MANIFEST,
    UNKNOWN,
    Exchange,
    Manifest,
    is_session_id,
    parse_file_name,
    parse_json,
)
from correlate.pack_reader import packed_name, read_packed

_NUMBER = (int, float)
_EXCHANGE_TYPES: Mapping[str, Any] = {
    "sequence": int,
    "started": _NUMBER,
    "ended": (*_NUMBER, type(None)),
    "status": (int, type(None)),
    "flow_id": str,
    "method": str,
    "host": str,
    "path": str,
    "kind": str,
    "identified_by": str,
    "agent_id": (str, type(None)),
    "usage": (dict, type(None)),
    "usage_at_start": (dict, type(None)),
}
_MANIFEST_TYPES: Mapping[str, Any] = {
    "session_id": str,
    "first_seen": (*_NUMBER, type(None)),
    "last_seen": (*_NUMBER, type(None)),
    "conflicts": int,
    **dict.fromkeys(("claude_versions", "transcript_paths", "pids", "models", "gaps"), list),
    **dict.fromkeys(("agents", "counts", "evidence", "drift"), dict),
}


def session_folders(captures: Path) -> list[Path]:
    """The folders of sessions, `unknown` aside, by name."""
    if not captures.is_dir():
        return []
    return sorted(
        folder
        for folder in captures.iterdir()
        if is_session_id(folder.name)
        and folder.name != UNKNOWN
        and folder.is_dir()
        and not folder.is_symlink()
        and ((folder / EXCHANGES).is_file() or (folder / MANIFEST).is_file())
    )


def read_manifest(folder: Path) -> Manifest:
    """The manifest; one that says nothing but the session's name where there is none."""
    path = folder / MANIFEST
    try:
        return parse_manifest(path.read_bytes() if path.is_file() else b"")
    except (FileNotFoundError, ValueError):
        return Manifest(session_id=folder.name)


def parse_manifest(data: bytes) -> Manifest:
    """Raises ValueError where it is not one that can be gone on from."""
    try:
        manifest = Manifest.from_json(parse_json(data))
    except (TypeError, AttributeError) as error:
        raise ValueError("not a manifest") from error
    _check(manifest, _MANIFEST_TYPES)
    numbers = [*manifest.counts.values(), *manifest.evidence.values(), *manifest.drift.values()]
    if not all(isinstance(number, int) for number in numbers):
        raise ValueError("a manifest that counts with something else")
    return manifest


def read_exchanges(folder: Path) -> list[Exchange]:
    """The finished exchanges in the order in which they started."""
    return sorted(read_exchange_lines(folder)[0], key=lambda e: (e.started, e.sequence))


def read_exchange_lines(folder: Path) -> tuple[list[Exchange], list[int]]:
    """The exchanges as they stand in the file, and the numbers of lines that are not whole."""
    exchanges: list[Exchange] = []
    bad: list[int] = []
    try:
        path = folder / EXCHANGES
        lines = path.read_bytes().split(b"\n") if path.is_file() else []
    except FileNotFoundError:
        return [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            exchanges.append(parse_exchange(line))
        except ValueError:
            bad.append(number)
    return exchanges, bad


def parse_exchange(line: bytes) -> Exchange:
    """A line of `exchanges.jsonl`; raises ValueError where it is cut short or something else."""
    try:
        exchange = Exchange.from_json(parse_json(line))
    except (TypeError, AttributeError) as error:
        raise ValueError("not an exchange") from error
    _check(exchange, _EXCHANGE_TYPES)
    return exchange


def request_file(folder: Path, sequence: int) -> Path | None:
    """Its place; a packed one is not open there, and `read_request` reads it all the same."""
    return _exchange_file(folder, sequence, "req")


def response_file(folder: Path, sequence: int) -> Path | None:
    return _exchange_file(folder, sequence, "resp")


def read_request(folder: Path, sequence: int) -> dict[str, Any]:
    """A request file; raises FileNotFoundError where there is none."""
    return _read(folder, sequence, "req")


def read_response(folder: Path, sequence: int) -> dict[str, Any]:
    return _read(folder, sequence, "resp")


def _check(record: object, types: Mapping[str, Any]) -> None:
    for name, kind in types.items():
        if not isinstance(getattr(record, name), kind):
            raise ValueError(f"{name} is something else")


def _exchange_file(folder: Path, sequence: int, direction: str) -> Path | None:
    for path in folder.glob(f"{sequence:04d}_{direction}_*.json"):
        if parse_file_name(path.name) == (sequence, direction):
            return path
    packed = packed_name(folder, (sequence, direction))
    return folder / packed if packed else None


def _read(folder: Path, sequence: int, direction: str) -> dict[str, Any]:
    path = _exchange_file(folder, sequence, direction)
    if path is None:
        raise FileNotFoundError(f"{folder.name} has no {direction} file {sequence:04d}")
    packed = None if path.exists() else read_packed(folder, (sequence, direction))
    value = parse_json(path.read_bytes() if packed is None else packed)
    if not isinstance(value, dict):
        raise ValueError(f"{path.name} is not a capture file")
    return value
