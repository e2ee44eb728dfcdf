"""Compares finished exchanges with the shipped baseline while the recorder is idle.

Reads the exchanges and the session's transcript back from disk: the client never waits for it, and
under load it is deferred. Each novelty is reported once.

The baselines belong to `correlate`, which `addon` does not import. They are resolved by name at run
time (`BASELINES`), when the first exchange is compared.
"""

import logging
import pkgutil
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ccwire.wire.format import is_run_id
from ccwire.wire.json_text import parse_json
from ccwire.wire.pack.files import PackDamaged
from ccwire.wire.pack.reader import read_exchange_file
from ccwire.wire.regular_file import open_regular

logger = logging.getLogger("ccwire")

NEWS = "new in Claude Code"
BASELINES = "correlate.schema.live:Baseline.load"

_MOST_QUEUED = 2000
_LARGEST_LINE = 1 << 20
_LARGEST_FILE = 16 << 20


class KnownFormats(Protocol):
    """The known formats of a release; each method returns what is not in them."""

    def unknowns_in_request(self, request: Mapping[str, Any]) -> list[str]: ...

    def unknowns_in_response(self, response: Mapping[str, Any]) -> list[str]: ...

    def unknowns_in_record(self, record: dict[str, Any]) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Sighting:
    """A finished exchange to compare: its session, its files, and the session's transcript."""

    session_id: str | None
    version: str | None
    request_file: Path
    response_file: Path
    transcript: Path | None


class DriftWatch:
    """A queue of exchanges to compare; calls `note(session_id, novelties)` with what is new."""

    def __init__(self, note: Callable[[str | None, Iterable[str]], None]) -> None:
        self._note = note
        self._queue: deque[Sighting] = deque(maxlen=_MOST_QUEUED)
        self._baselines: dict[str | None, KnownFormats] = {}
        self._offsets: dict[Path, int] = {}

    def add(self, sighting: Sighting) -> None:
        """Queue an exchange, unless another program than the client made it."""
        if sighting.version is not None or not is_run_id(sighting.session_id):
            self._queue.append(sighting)

    def look(self, seconds: float) -> None:
        """Compare queued exchanges for at most this long."""
        deadline = time.monotonic() + seconds
        while self._queue and time.monotonic() < deadline:
            sighting = self._queue.popleft()
            found = self._novelties(sighting)
            if found:
                self._note(sighting.session_id, found)
                for novelty in found:
                    client = sighting.version or "unknown version"
                    logger.warning(f"ccwire: {NEWS} {client}: {novelty}")

    def _novelties(self, sighting: Sighting) -> list[str]:
        if sighting.version not in self._baselines:
            self._baselines[sighting.version] = pkgutil.resolve_name(BASELINES)(sighting.version)
        baseline = self._baselines[sighting.version]
        found: list[str] = []
        for path, look in (
            (sighting.request_file, baseline.unknowns_in_request),
            (sighting.response_file, baseline.unknowns_in_response),
        ):
            try:
                data = read_exchange_file(path)
                if len(data) <= _LARGEST_FILE:
                    found += look(parse_json(data))
            except (OSError, ValueError, PackDamaged):
                continue  # moved or removed meanwhile
        if sighting.transcript is not None:
            for line in self._new_lines(sighting.transcript):
                try:
                    record = parse_json(line)
                except ValueError:
                    continue
                if isinstance(record, dict):
                    found += baseline.unknowns_in_record(record)
        return found

    def _new_lines(self, path: Path) -> list[bytes]:
        """Return the complete lines written since the last call."""
        start = self._offsets.get(path, 0)
        try:
            with open_regular(path) as file:
                file.seek(start)
                data = file.read(_LARGEST_FILE)
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        if len(data) == _LARGEST_FILE and not whole:
            whole = data  # within a line that is too long to be compared
        self._offsets[path] = start + len(whole)
        return [line for line in whole.split(b"\n") if 0 < len(line) < _LARGEST_LINE]
